"""A file's data with the line of every key, and where each value was said.

Owns: key paths (`modes[1].format`), their spelling, and overrides from the command line. Knows nothing
about YAML, files or what the keys mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from serving.errors import UsageError

KeyPath = tuple[str | int, ...]
_STEP = re.compile(r"(?P<key>[^.\[\]]+)|\[(?P<index>\d+)\]|(?P<dot>\.)")


def spell(path: KeyPath) -> str:
    """Write a path as people do: `("modes", 1, "format")` is `modes[1].format`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def parse_path(text: str) -> KeyPath | None:
    """Read `modes[1].format` as a path; None when it is not one."""
    path: list[str | int] = []
    position, wants_key = 0, True
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            return None
        if step["key"] is not None and wants_key:
            path.append(step["key"])
            wants_key = False
        elif step["index"] is not None and path and not wants_key:
            path.append(int(step["index"]))
        elif step["dot"] is not None and path and not wants_key:
            wants_key = True
        else:
            return None
        position = step.end()
    return None if wants_key else tuple(path)


@dataclass(frozen=True, slots=True)
class Document:
    """The data of one file. `lines` holds the line of every key and list entry, from 1."""

    name: str
    """The file as the user typed it."""
    data: Any
    lines: Mapping[KeyPath, int]
    overridden: frozenset[KeyPath] = frozenset()
    """Paths whose value came from `--set`."""

    def source(self, path: KeyPath) -> str | None:
        """Where the value at a path was said, by `--set` inside it first; None where nobody said it."""
        inside = self._inside(path)
        if inside is not None:
            return self.where(inside)
        return self.where(path) if path in self.lines or self._override(path) is not None else None

    def where(self, path: KeyPath) -> str:
        """Where a value was or should be said: `demo.yaml:8: modes[1].format`, `--set modes[1].format`."""
        key = spell(path)
        if self._override(path) is not None:
            return f"--set {key}"
        if path and path not in self.lines and (inside := self._inside(path)) is not None:
            return f"--set {spell(inside)}"
        known = path
        while known and known not in self.lines:
            known = known[:-1]
        line = self.lines.get(known, 1)
        return f"{self.name}:{line}: {key}" if key else f"{self.name}:{line}"

    def line(self, path: KeyPath) -> int:
        """The line to sort a problem by; what `--set` said comes last."""
        if self._override(path) is not None:
            return max(self.lines.values(), default=0) + 1
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def override(self, key: str, value: Any) -> Document:
        """Put a value at a path, making sections on the way. Raises: UsageError for a path that cannot be."""
        path = parse_path(key)
        if path is None:
            raise UsageError(
                f"'{key}' is not a key",
                where="--set",
                fix="write it like engine.max_model_len or modes[0].format",
            )
        data = _with_value(self.data, path, value, path)
        lines = {known: line for known, line in self.lines.items() if known[: len(path)] != path}
        return Document(self.name, data, lines, self.overridden | {path})

    def _inside(self, path: KeyPath) -> KeyPath | None:
        """The first value of `--set` at or below a path."""
        said = (each for each in sorted(self.overridden, key=spell) if each[: len(path)] == path)
        return next(said, None)

    def _override(self, path: KeyPath) -> KeyPath | None:
        starts = (path[:length] for length in range(len(path), 0, -1))
        return next((start for start in starts if start in self.overridden), None)


def _with_value(data: Any, rest: KeyPath, value: Any, whole: KeyPath) -> Any:
    """Return a copy of `data` in which `rest` leads to `value`; aliased parts of the file stay untouched."""
    if not rest:
        return value
    step, done = rest[0], whole[: len(whole) - len(rest)]
    where = f"--set {spell(whole)}"
    if isinstance(step, int):
        if data is None:
            fix = f"the first goes into the file, or whole into --set '{spell(done)}=[...]'"
            raise UsageError(f"there are no {spell(done)} in the file", where=where, fix=fix)
        if not isinstance(data, list):
            raise UsageError(f"{spell(done)} is not a list", where=where, fix="leave the index out")
        if step >= len(data):
            entries = f"{spell(done)} has {len(data)} entries" if data else f"{spell(done)} is empty"
            raise UsageError(entries, where=where, fix="indices begin at 0; a new entry goes into the file")
        return [*data[:step], _with_value(data[step], rest[1:], value, whole), *data[step + 1 :]]
    if data is None:
        data = {}
    if not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else "a single value"
        fix = "name an entry by its index, as in modes[0]" if isinstance(data, list) else "it has no keys"
        raise UsageError(f"{spell(done) or 'the file'} is {kind}", where=where, fix=fix)
    return {**data, step: _with_value(data.get(step), rest[1:], value, whole)}
