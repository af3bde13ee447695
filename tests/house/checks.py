"""The checks of the house: each takes the tree and returns what is wrong, as `file:line: what; what to do`.

Owns: the rules that ruff, mypy and import-linter cannot express. Knows nothing about pytest.
Function length, parameters and the presence of docstrings are ruff's (PLR0915, PLR0913, D1).
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from itertools import pairwise
from pathlib import PurePosixPath

from house.tree import PACKAGES, Tree, dotted

MODULE_LINES = 300
TEST_LINES = 500
EMPTY_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})
SUPPORT = ("tests/e2e/", "tests/fakes/", "tests/golden/", "tests/house/")
"""Parts of tests/ that mirror no module: runs of the whole, and what tests stand on."""


def module_size(tree: Tree) -> Iterator[str]:
    """Rooms stay small enough to be read at one sitting."""
    for file in tree.python(*PACKAGES, "tests"):
        most = TEST_LINES if file.startswith("tests/") else MODULE_LINES
        count = len(tree.lines(file))
        if count > most:
            yield f"{file}:{most}: {count} lines, at most {most}; divide it by what its parts own"


def names(tree: Tree) -> Iterator[str]:
    """A name that says nothing collects everything."""
    for file in tree.python(*PACKAGES, "tests"):
        for part in PurePosixPath(file).with_suffix("").parts:
            if part.removeprefix("test_") in EMPTY_NAMES:
                yield f"{file}:1: '{part}' says nothing; name it after what it owns"


def ownership(tree: Tree) -> Iterator[str]:
    """A module says what it owns and what it knows nothing about."""
    for file in tree.modules():
        if file.endswith("/__init__.py"):
            continue
        words = (ast.get_docstring(tree.module(file)) or "").lower()
        if not re.search(r"\bowns?\b", words) or not re.search(r"\bknows?\s+nothing\b", words):
            yield f"{file}:1: its docstring does not say 'Owns: ... Knows nothing about ...'; say it"


def _does_something(module: ast.Module) -> bool:
    functions = (n for n in ast.walk(module) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return any(not isinstance(s, ast.Expr | ast.Pass) for f in functions for s in f.body)


def _as_test(file: str) -> str:
    """The test file of a module: `serving/wire/sse.py` has `tests/serving/wire/test_sse.py`."""
    path = PurePosixPath(file.removesuffix("/__init__.py").removesuffix(".py"))
    return PurePosixPath("tests", path.parent, f"test_{path.name}.py").as_posix()


def mirror(tree: Tree, untested: Mapping[str, str]) -> Iterator[str]:
    """Tests mirror modules: none of an unknown module, no module that does something without one.

    `test_sse_framing.py` may stand beside `test_sse.py`. `untested` gives the modules that need no
    test file of their own, each with the reason.
    """
    wanted = {_as_test(file): file for file in tree.modules()}
    stems = tuple(test.removesuffix(".py") + "_" for test in wanted)
    tests = [f for f in tree.python("tests") if f.rpartition("/")[2].startswith("test_")]
    for test in tests:
        whole = test.startswith(SUPPORT) or test.startswith("tests/test_house")
        if not whole and test not in wanted and not test.startswith(stems):
            yield f"{test}:1: mirrors no module; move it beside its module's path, or under tests/e2e/"
    for test, file in wanted.items():
        tested = any(t == test or t.startswith(test.removesuffix(".py") + "_") for t in tests)
        if file in untested and tested:
            yield f"{file}:1: has a test file; take it off UNTESTED in tests/test_house.py"
        if file not in untested and not tested and _does_something(tree.module(file)):
            yield f"{file}:1: has no test file; write {test}, or a reason in tests/test_house.py"
    for file in sorted(untested.keys() - set(wanted.values())):
        yield f"tests/test_house.py:1: UNTESTED names {file}, which does not exist; take it off"


def rooms(tree: Tree) -> Iterator[str]:
    """Every module of a pure room is either on the list of pure modules or on the list of those with I/O."""
    ini = ConfigParser()
    ini.read_string(tree.text(".importlinter") or "")
    pure = ini["importlinter:contract:pure"]["source_modules"].split()
    io = ini["house"]["io_modules"].split()
    in_rooms = ini["house"]["rooms"].split()
    modules = {dotted(file): file for file in tree.modules()}
    for name, file in modules.items():
        room = name if file.endswith("/__init__.py") else name.rpartition(".")[0]
        if room in in_rooms and name not in {*pure, *io}:
            yield f"{file}:1: pure or not; put {name} on 'pure' or on 'io_modules' in .importlinter"
    for name in [*pure, *io, *in_rooms]:
        if name not in modules:
            yield f".importlinter:1: names {name}, which does not exist; take it off"
    for name in sorted({*pure} & {*io}):
        yield f".importlinter:1: {name} is on both lists; take it off one"
    tops = {file.split("/")[0] for file in tree.modules()}
    for top in sorted(tops ^ set(ini["importlinter"]["root_packages"].split())):
        yield f".importlinter:1: root_packages and the disk differ on '{top}'; make them equal"


def tree_in_readme(tree: Tree) -> Iterator[str]:
    """The tree in the README (the block fenced as ```text tree) is the tree on the disk."""
    listed = dict(_tree_block(tree.lines("README.md")))
    if not listed:
        yield "README.md:1: has no tree; write one in a block that opens with ```text tree"
        return
    folders = {str(parent) for file in tree.files for parent in PurePosixPath(file).parents}
    for path, line in listed.items():
        if path not in tree.files and path not in folders:
            yield f"README.md:{line}: lists '{path}', which is not there; take it out or add it"
    for top in sorted({file.split("/")[0] for file in tree.files}):
        if not top.startswith(".") and top not in listed:
            yield f"README.md:{min(listed.values())}: the tree lacks '{top}'; add it"


def _tree_block(lines: list[str]) -> Iterator[tuple[str, int]]:
    """Each path of the block with its line. A parent is the nearest entry above that stands further left."""
    inside = False
    above: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith("```"):
            if inside:
                return
            inside = line.removeprefix("```").split() == ["text", "tree"]
        elif inside and (entry := re.match(r"([\s│├└─|`-]*)([^\s#]+)", line)):
            indent, name = len(entry[1]), entry[2].rstrip("/")
            if name in {".", "teapot"}:
                continue
            above = [(i, n) for i, n in above if i < indent]
            above.append((indent, name))
            yield "/".join(n for _, n in above), number


def exact_versions(tree: Tree, file: str) -> Iterator[str]:
    """A constraints file holds `name==version` and nothing else: no addresses, hashes or options."""
    for number, line in enumerate(tree.lines(file), start=1):
        bare = line.partition(" #")[0].strip()
        if bare and not bare.startswith("#") and not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", bare):
            yield f"{file}:{number}: '{bare}' is not name==version; pin it without an address"


def _foreign() -> re.Pattern[str]:
    # The hosts are put together from parts, so that this file does not name what it looks for.
    hosts = "|".join(re.escape(".".join(h)) for h in (
        ("pypi", "org"), ("pythonhosted", "org"), ("registry", "npmjs", "org"), ("deb", "debian", "org"),
    ))  # fmt: skip
    return re.compile(rf"(?<![\w.\-}}])/(?:tmp|root|work)(?![\w-])|(?:{hosts})")


def machine_words(tree: Tree, allowed: Mapping[str, str]) -> Iterator[str]:
    """Nothing in the repository depends on, or tells of, one machine's folders or one registry's address."""
    pattern = _foreign()
    for file in tree.files:
        if file in allowed:
            continue
        for number, line in enumerate(tree.lines(file), start=1):
            if found := pattern.search(line):
                yield f"{file}:{number}: names '{found[0]}'; say it by a setting, or without the machine"


def decisions(tree: Tree) -> Iterator[str]:
    """Decision records are `NNNN-words.md`, each with a number of its own."""
    files = [f for f in tree.files if f.startswith("deploy/decisions/")]
    numbers = Counter(PurePosixPath(f).name[:4] for f in files)
    for file in files:
        name = PurePosixPath(file).name
        if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name):
            yield f"{file}:1: is not named NNNN-words-in-lower-case.md; rename it"
        elif numbers[name[:4]] > 1:
            yield f"{file}:1: number {name[:4]} is taken twice; take the next free one"


def changelog(tree: Tree) -> Iterator[str]:
    """The changelog's newest version is pyproject's, and versions go down from there."""
    project = tomllib.loads(tree.text("pyproject.toml") or "")["project"]["version"]
    heading = re.compile(r"## \[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d|unreleased)")
    versions: list[tuple[tuple[int, ...], int]] = []
    for number, line in enumerate(tree.lines("CHANGELOG.md"), start=1):
        if not line.startswith("## ") or line == "## [Unreleased]":
            continue
        if not (found := heading.fullmatch(line)):
            yield f"CHANGELOG.md:{number}: '{line}' is not '## [x.y.z] - YYYY-MM-DD'; write it so"
            continue
        versions.append((tuple(int(part) for part in found.groups()[:3]), number))
    (top, at), *_ = versions or [((), 1)]
    newest = ".".join(map(str, top)) or None
    if newest != project:
        yield f"CHANGELOG.md:{at}: newest is {newest}, pyproject.toml has {project}; make them equal"
    for (newer, _), (older, number) in pairwise(versions):
        if newer <= older:
            yield f"CHANGELOG.md:{number}: stands below an older version; put the newest first"
