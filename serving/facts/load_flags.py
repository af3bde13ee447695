"""Reads what each vLLM version accepts, each table once.

Owns: where the tables of flags lie, and which of them answers for a version. Knows nothing about what the
rows mean: that is in `serving.facts.flags`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from serving.facts.flags import EngineFlags, Knowledge, Removed

FOLDER = resources.files(__package__) / "flags"


@cache
def engine_flags() -> Mapping[str, EngineFlags]:
    """All versions whose flags are known, oldest first."""
    from serving.facts.flags import parse_engine_flags

    files = [file for file in FOLDER.iterdir() if file.name.endswith(".json")]
    tables = [parse_engine_flags(json.loads(file.read_text(encoding="utf-8"))) for file in files]
    return {table.version: table for table in sorted(tables, key=lambda table: _numbers(table.version))}


@cache
def removed_names() -> tuple[Removed, ...]:
    """What no longer exists in some or all of these versions."""
    from serving.facts.flags import parse_removed

    text = (FOLDER / "removed.toml").read_text(encoding="utf-8")
    return parse_removed(tomllib.loads(text)["removed"])


@cache
def knowledge(version: str) -> Knowledge | None:
    """What is known to judge the flags of a version by; None where its minor version was never read.

    A patch release that was not read itself is taken for the nearest that was.
    """
    from serving.facts.flags import Knowledge

    tables = engine_flags()
    minor = version.split(".")[:2]
    near = [known for known in tables if known.split(".")[:2] == minor]
    if not near:
        return None
    name = version if version in tables else near[-1]
    others = [table for table in tables.values() if table.version != name]
    return Knowledge(tables[name], others, removed_names())


@cache
def any_version() -> Knowledge:
    """What some version has: for judging a name that none of them knows."""
    from serving.facts.flags import EngineFlags, Knowledge

    tables = tuple(engine_flags().values())
    flags = {spelling: flag for table in tables for spelling, flag in table.flags.items()}
    variables = frozenset[str]().union(*(table.variables for table in tables))
    names = " or ".join(table.version for table in tables)
    return Knowledge(EngineFlags(names, "", "", flags, variables, {}), (), removed_names())


@cache
def first_spellings() -> Mapping[str, str]:
    """Every spelling of a flag in any version, by its first: `-tp` is `--tensor-parallel-size`."""
    return {
        spelling: flag.name for table in engine_flags().values() for spelling, flag in table.flags.items()
    }


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
