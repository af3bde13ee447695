"""Tells one kind of file from another by the keys that only it has.

Owns: those keys and what each kind is for. Knows nothing about what the keys mean or who reads them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from serving.errors import Problem


class Kind(NamedTuple):
    """A kind of file: keys of its first level that no other kind has, and the command that takes it."""

    name: str
    keys: frozenset[str]
    command: str


KINDS = (
    Kind("deployment", frozenset({"engine", "modes", "gateway", "replicas"}), "teapot serve"),
    Kind("workload", frozenset({"arrival", "prompts", "sampling"}), "teapot load run --target URL"),
    Kind("study", frozenset({"arms", "factors", "workloads"}), "teapot study run"),
)


def other_kind(name: str, keys: Iterable[object], known: Iterable[str]) -> Problem | None:
    """What to say of a file with keys that belong to another kind than the one that was asked for.

    `keys` are the file's, `known` those that were asked for; None where it may be the right kind.
    """
    strange = set(keys) - set(known)
    for kind in KINDS:
        if kind.keys & strange and not kind.keys & set(known):
            return Problem(f"this looks like a {kind.name} file", name, f"it is for `{kind.command} {name}`")
    return None
