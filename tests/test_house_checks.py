"""Each rule of the house can fail: a small good tree, and one thing broken in it at a time."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
from house import checks
from house.tree import Tree

SSE = '"""Reads SSE. Owns: the framing. Knows\nnothing about sockets."""\n\n\ndef decode():\n    return 1\n'
IMPORT_RULES = """
[importlinter]
root_packages = serving
[house]
rooms = serving
    serving.wire
io_modules = serving.console
[importlinter:contract:pure]
source_modules = serving
    serving.wire
    serving.wire.sse
"""
GOOD = {
    "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - unreleased\n\n## [0.1.0] - 2026-01-31\n",
    "README.md": "# x\n\n```text tree\n.\n├── CHANGELOG.md\n├── deploy/   # top\n│   └── decisions/\n├── "
    "README.md\n├── pyproject.toml\n├── serving/\n│   └── wire/\n│       └── sse.py\n└── tests/\n```\n",
    ".importlinter": IMPORT_RULES,
    "pyproject.toml": '[project]\nversion = "0.2.0"\n',
    "deploy/constraints.txt": "# tested\naiohttp==3.14.5  # why\ntorch==2.13.0+cpu\n",
    "deploy/decisions/0001-first.md": "# 1\n",
    "serving/__init__.py": '"""The bottom."""\n',
    "serving/console.py": '"""Talks. Owns the streams. Knows nothing about words."""\n',
    "serving/wire/__init__.py": '"""The wire."""\n',
    "serving/wire/sse.py": SSE,
    "serving/wire/scripts/outside.py": "def run():\n    return 1\n",
    "tests/serving/wire/test_sse.py": "def test_one_event():\n    pass\n",
    "tests/serving/wire/test_sse_framing.py": "",
    "tests/e2e/test_demo.py": "",
}
OUT_OF_ORDER = "## [0.2.0] - unreleased\n## [0.10.0] - 2026-01-31\n"
BOTH_SIDES = IMPORT_RULES + "    serving.console\n"
Rule = Callable[[Tree], Iterable[str]]


def mirror(tree: Tree) -> Iterable[str]:
    return checks.mirror(tree, {})


def exact_versions(tree: Tree) -> Iterable[str]:
    return checks.exact_versions(tree, "deploy/constraints.txt")


def machine_words(tree: Tree) -> Iterable[str]:
    return checks.machine_words(tree, {})


RULES: list[Rule] = [
    checks.module_size, checks.names, checks.ownership, mirror, checks.rooms, checks.tree_in_readme,
    exact_versions, machine_words, checks.decisions, checks.changelog,
]  # fmt: skip


def plant(root: Path, changes: Mapping[str, str | None]) -> Tree:
    for file, text in {**GOOD, **changes}.items():
        if text is not None:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text, encoding="utf-8")
    return Tree.of_folder(root)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_good_tree_breaks_no_rule(rule: Rule, tmp_path: Path) -> None:
    assert list(rule(plant(tmp_path, {}))) == []


BROKEN = [
    (checks.module_size, {"serving/wire/sse.py": SSE + "\n" * 295}, "serving/wire/sse.py:300: 301 lines"),
    (checks.module_size, {"tests/e2e/test_demo.py": "\n" * 501}, "tests/e2e/test_demo.py:500: 501 lines"),
    (checks.names, {"serving/wire/utils.py": ""}, "serving/wire/utils.py:1: 'utils'"),
    (checks.names, {"serving/common/x.py": ""}, "serving/common/x.py:1: 'common'"),
    (checks.names, {"tests/serving/test_helpers.py": ""}, "tests/serving/test_helpers.py:1: 'test_helpers'"),
    (checks.ownership, {"serving/wire/sse.py": '"""Owns SSE."""\n'}, "serving/wire/sse.py:1: its docstring"),
    (checks.ownership, {"serving/wire/sse.py": ""}, "serving/wire/sse.py:1: its docstring"),
    (mirror, {"tests/serving/test_sse.py": ""}, "tests/serving/test_sse.py:1: mirrors no module"),
    (mirror, {"serving/wire/chunks.py": SSE}, "serving/wire/chunks.py:1: has no test file"),
    (mirror, {"serving/wire/__init__.py": SSE}, "serving/wire/__init__.py:1: has no test file"),
    (checks.rooms, {"serving/wire/chunks.py": SSE}, "serving/wire/chunks.py:1: pure or not; "),
    (checks.rooms, {"serving/wire/sse.py": None}, ".importlinter:1: names serving.wire.sse,"),
    (checks.rooms, {".importlinter": BOTH_SIDES}, ".importlinter:1: serving.console is"),
    (checks.rooms, {"loadgen/__init__.py": ""}, ".importlinter:1: root_packages and the disk differ on"),
    (checks.tree_in_readme, {"README.md": "```text\nserving/\n```\n"}, "README.md:1: has no tree"),
    (checks.tree_in_readme, {"Makefile": ""}, "README.md:5: the tree lacks 'Makefile'"),
    (checks.tree_in_readme, {"serving/wire/sse.py": None}, "README.md:12: lists 'serving/wire/sse.py'"),
    (exact_versions, {"deploy/constraints.txt": "a==1\nb>=2\n"}, "deploy/constraints.txt:2: 'b>=2'"),
    (exact_versions, {"deploy/constraints.txt": "a @ https://h/a.whl\n"}, "deploy/constraints.txt:1: 'a @"),
    (machine_words, {"docs/x.md": "one\nsee /" + "tmp/x\n"}, "docs/x.md:2: names '/" + "tmp'"),
    (machine_words, {"docs/x.md": "in `/" + "root`\n"}, "docs/x.md:1: names '/" + "root'"),
    (machine_words, {"docs/x.md": "https://py" + "pi.org/simple\n"}, "docs/x.md:1: names 'py" + "pi.org'"),
    (checks.decisions, {"deploy/decisions/0001-again.md": ""}, "deploy/decisions/0001-again.md:1: number"),
    (checks.decisions, {"deploy/decisions/2-Second.md": ""}, "deploy/decisions/2-Second.md:1: is not named"),
    (checks.changelog, {"pyproject.toml": '[project]\nversion = "0.3.0"\n'}, "CHANGELOG.md:5: newest is"),
    (checks.changelog, {"CHANGELOG.md": "## 0.2.0\n"}, "CHANGELOG.md:1: '## 0.2.0' is not"),
    (checks.changelog, {"CHANGELOG.md": OUT_OF_ORDER}, "CHANGELOG.md:2: stands"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "changes", "says"), BROKEN, ids=lambda v: getattr(v, "__name__", ""))
def test_a_broken_rule_is_told_with_its_place(
    rule: Rule, changes: Mapping[str, str | None], says: str, tmp_path: Path
) -> None:
    problems = list(rule(plant(tmp_path, changes)))
    assert any(problem.startswith(says) for problem in problems), problems
    assert [problem for problem in problems if "; " not in problem] == [], "each says what to do"


def test_a_reason_excuses_a_missing_test_and_only_while_it_is_needed(tmp_path: Path) -> None:
    tree = plant(tmp_path, {"serving/wire/chunks.py": SSE})
    assert list(checks.mirror(tree, {"serving/wire/chunks.py": "a reason"})) == []
    (stale,) = checks.mirror(plant(tmp_path, {}), {"serving/wire/chunks.py": "a", "serving/wire/sse.py": "b"})
    assert stale == "serving/wire/sse.py:1: has a test file; take it off UNTESTED in tests/test_house.py"
    (gone,) = checks.mirror(tree, {"serving/wire/chunks.py": "a", "serving/gone.py": "b"})
    assert gone.startswith("tests/test_house.py:1: UNTESTED names serving/gone.py")


def test_a_workload_folder_or_a_temporary_variable_is_no_machine_word(tmp_path: Path) -> None:
    tree = plant(tmp_path, {"docs/x.md": "load/work, $scratch/tmp, /workload.yaml, {tmp_path}/tmp_file\n"})
    assert list(machine_words(tree)) == []


def test_git_tells_the_files_and_leaves_out_what_is_ignored_or_gone(tmp_path: Path) -> None:
    plant(tmp_path, {".gitignore": "runs/\n", "runs/x": "", "docs/new.md": ""})
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "serving", "README.md"], cwd=tmp_path, check=True)
    (tmp_path / "README.md").unlink()
    files = Tree.of_git(tmp_path).files
    assert "serving/wire/sse.py" in files
    assert "docs/new.md" in files
    assert "runs/x" not in files
    assert "README.md" not in files
