"""`teapot render TARGET FILE`: the same deployment for another way to run it.

Owns: the command's arguments, writing the files, and telling whether they are up to date. Knows nothing about
what a target's files say.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from deploy.render.target import Rendered, Request
from deploy.render.targets import TARGETS
from serving.config.load import load_deployment
from serving.console import Console
from serving.errors import EXIT_OK, Failed
from serving.facts.load import model_configs
from serving.modes.model_facts import model_facts

HELP = "a deployment file as docker-compose and others; says what it could not carry over"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    listing = "; ".join(f"{target.name}: {target.help}" for target in TARGETS.values())
    parser.add_argument("target", choices=tuple(TARGETS), help=listing)
    parser.add_argument("file", metavar="FILE", help="a deployment file")
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="DIR", help="where to write (default: here)"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file would change")
    parser.add_argument(
        "--set", dest="overrides", metavar="KEY=VALUE", action="append", default=[],
        help="a value in place of the file's; may be repeated",
    )  # fmt: skip


def run(args: argparse.Namespace, console: Console) -> int:
    """Render, and write or compare."""
    rendered = render(args.target, args.file, args.overrides)
    stale = [path for path, text in rendered.files.items() if _read(args.out / path) != text]
    if args.check and stale:
        raise Failed(
            f"{', '.join(stale)} is not what {args.file} renders to",
            where=str(args.out),
            fix=f"run `teapot render {args.target} {args.file}` and commit what it writes",
        )
    for path in stale:
        _write(args.out / path, rendered.files[path])
    for note in rendered.notes:
        console.say(f"not carried over: {note}")
    console.document({"files": sorted(rendered.files), "written": stale, "not_carried_over": rendered.notes})
    console.result(
        "\n".join(f"{'wrote' if path in stale else 'as it was'} {args.out / path}" for path in rendered.files)
    )
    return EXIT_OK


def render(target: str, file: str, overrides: Sequence[str] = ()) -> Rendered:
    """The files of a target. Raises: UsageError."""
    deployment, document = load_deployment(file, overrides)
    config = model_configs().get(deployment.model)
    model = model_facts(deployment.model, config) if config is not None else None
    return TARGETS[target].render(Request(deployment, document, Path(file).as_posix(), model))


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failed(
            f"cannot be written: {error.strerror}", where=str(path), fix="give another --out, or make room"
        ) from error
