"""A deployment with fragments laid over it, each value of which still tells where it was written.

Owns: how two pieces of deployment files become one: sections key by key, an engine's arguments by their flag,
modes by their kind, everything else replaced, null taken away, `without` leaving modes out. Knows nothing
about what the keys mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from serving.config.arguments import same_argument
from serving.config.document import Document, KeyPath

WITHOUT = "without"
ON = "on"
OURS = (WITHOUT, ON)
"""Keys of a fragment that are no deployment's."""
ARGUMENTS: KeyPath = ("engine", "args")
"""Where keys are flags, which have several spellings."""
Origin = tuple[Document, KeyPath]


@dataclass(frozen=True, slots=True)
class Merged(Document):
    """Data of several documents; a place in it is a place in the one where it was written."""

    origins: Mapping[KeyPath, Origin] = field(default_factory=dict)

    def source(self, path: KeyPath) -> str | None:
        """Where the value at a path was said; None where nobody said it."""
        return self.where(path) if path in self.origins else None

    def where(self, path: KeyPath) -> str:
        """Where a value was or should be said, in the file that says the most of its path."""
        document, there = self._origin(path)
        return document.where(there)

    def line(self, path: KeyPath) -> int:
        """The line to sort a problem by."""
        document, there = self._origin(path)
        return document.line(there)

    def _origin(self, path: KeyPath) -> Origin:
        known = path
        while known and known not in self.origins:
            known = known[:-1]
        document, there = self.origins.get(known, (Document(self.name, None, {}), ()))
        return document, there + path[len(known) :]


def begin(document: Document, at: KeyPath = ()) -> Merged:
    """The part of a document that stands at a path, as a document of its own."""
    data = document.data
    for step in at:
        data = data[step]
    return Merged(document.name, data, {}, frozenset(), dict(_origins(document, at, (), data)))


def lay_over(below: Merged, document: Document, at: KeyPath) -> Merged:
    """`below` with the fragment that stands at a path of a document."""
    fragment = document.data
    for step in at:
        fragment = fragment[step]
    origins = dict(below.origins)
    data = below.data
    gone = fragment.get(WITHOUT) or ()
    if gone:
        data = _put(data, origins, ("modes",), _kept(data, origins, gone))
    rest = {key: value for key, value in fragment.items() if key not in OURS}
    data = _merge(data, rest, (), _Pen(origins, document, at))
    return replace(below, data=data, origins=origins)


@dataclass(frozen=True, slots=True)
class _Pen:
    """Writes down where values came from."""

    origins: dict[KeyPath, Origin]
    document: Document
    at: KeyPath

    def wrote(self, path: KeyPath, value: Any, inside: KeyPath) -> None:
        """The value at `path` stands at `at + inside` of the document."""
        _forget(self.origins, path)
        self.origins.update(_origins(self.document, (*self.at, *inside), path, value))


def _merge(below: Any, fragment: Mapping[str, Any], path: KeyPath, pen: _Pen) -> dict[str, Any]:
    merged = dict(below) if isinstance(below, Mapping) else {}
    for key, value in fragment.items():
        here = (*path, key)
        if path == ARGUMENTS:
            _respelled(merged, fragment, key, pen)
        if value is None:
            merged.pop(key, None)
            _forget(pen.origins, here)
        elif here == ("modes",) and isinstance(value, list) and isinstance(merged.get(key), list):
            merged[key] = _modes(merged[key], value, pen)
        elif isinstance(value, Mapping):
            if not isinstance(merged.get(key), Mapping):
                pen.wrote(here, {}, here)
            merged[key] = _merge(merged.get(key), value, here, pen)
        else:
            merged[key] = value
            pen.wrote(here, value, here)
    return merged


def _respelled(merged: dict[str, Any], fragment: Mapping[str, Any], key: str, pen: _Pen) -> None:
    """Take away what is below the same flag in another spelling; two in one fragment are told as wrong."""
    for other in [other for other in merged if other not in fragment and same_argument(other, key)]:
        del merged[other]
        _forget(pen.origins, (*ARGUMENTS, other))


def _modes(below: list[Any], fragment: list[Any], pen: _Pen) -> list[Any]:
    """A mode takes the whole place of that of its kind: else keys of another method would be left in it."""
    merged = list(below)
    for number, mode in enumerate(fragment):
        kinds = [_kind(each) for each in merged]
        kind = _kind(mode)
        at = kinds.index(kind) if kind is not None and kind in kinds else len(merged)
        merged[at : at + 1] = [mode]
        pen.wrote(("modes", at), mode, ("modes", number))
    return merged


def _kept(data: Any, origins: dict[KeyPath, Origin], gone: Any) -> tuple[list[Any], dict[KeyPath, Origin]]:
    """The modes that stay, and where they came from at their new places."""
    kept: list[Any] = []
    places: dict[KeyPath, Origin] = {}
    for number, mode in enumerate(data.get("modes") or ()):
        if _kind(mode) not in gone:
            old = ("modes", number)
            moved = {path: place for path, place in origins.items() if path[:2] == old}
            places |= {("modes", len(kept), *path[2:]): place for path, place in moved.items()}
            kept.append(mode)
    return kept, places


def _put(
    data: Any, origins: dict[KeyPath, Origin], path: KeyPath, kept: tuple[list[Any], dict[KeyPath, Origin]]
) -> dict[str, Any]:
    value, places = kept
    whole = origins.get(path)
    _forget(origins, path)
    origins.update(places)
    if whole is not None:
        origins[path] = whole
    return {**data, "modes": value}


def _kind(mode: Any) -> Any:
    return mode.get("kind") if isinstance(mode, Mapping) else None


def _forget(origins: dict[KeyPath, Origin], path: KeyPath) -> None:
    for known in [known for known in origins if known[: len(path)] == path]:
        del origins[known]


def _origins(document: Document, at: KeyPath, path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, Origin]]:
    yield path, (document, at)
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _origins(document, (*at, key), (*path, key), item)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _origins(document, (*at, number), (*path, number), item)
