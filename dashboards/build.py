"""Writes what is generated into the tree, and tells what there is stale.

Owns: which files there are (`FILES`) and where they lie. Knows nothing about what is in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from dashboards.alerts import alerts_text
from dashboards.boards import BOARDS
from dashboards.provisioned import datasource_text, provider_text
from dashboards.render import board_text
from dashboards.rules import rules_text

HERE = Path(__file__).parent
MADE = ("generated", "provisioning")
"""Folders with nothing else in them."""
FILES: Mapping[str, Callable[[], str]] = {
    **{f"generated/boards/{board.uid}.json": partial(board_text, board, BOARDS) for board in BOARDS},
    "generated/rules.yaml": rules_text,
    "generated/alerts.yaml": alerts_text,
    "provisioning/datasources/teapot.yaml": datasource_text,
    "provisioning/dashboards/teapot.yaml": provider_text,
}
"""Paths under `dashboards/`, and what makes each."""


def write(folder: Path = HERE) -> tuple[str, ...]:
    """Write every file whose text differs; returns the paths of those, and of files removed."""
    changed = stale(folder)
    for path in changed:
        if path in FILES:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(FILES[path](), encoding="utf-8")
        else:
            (folder / path).unlink()
    return changed


def stale(folder: Path = HERE) -> tuple[str, ...]:
    """The paths of files that are missing, differ, or that nothing makes any more."""
    differ = [path for path, make in FILES.items() if _text(folder / path) != make()]
    return tuple(differ + [path for path in _present(folder) if path not in FILES])


def _present(folder: Path) -> Iterable[str]:
    both = (path for made in MADE for path in sorted((folder / made).rglob("*")))
    found = (path for path in both if path.is_file())
    return (path.relative_to(folder).as_posix() for path in found)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
