"""Other names for the model: put right in a request's body, listed among the models.

Owns: finding the top-level `model` of a JSON body without building the document, so that all other bytes
stay as they came. Knows nothing about requests or engines. What is no JSON is left to the engine to refuse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

MAX_MARKS = 100_000
"""Strings and brackets that are looked at before a body is given up; reading so many takes under 0.2 s."""
# A string without its end is taken to the body's end, or each quote in it would be tried anew.
_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\]]', re.DOTALL)
_COLON = re.compile(rb"\s*:\s*")


class TooIntricate(Exception):
    """A body with more strings and brackets than are looked at."""


def rename_model(body: bytes, aliases: Mapping[str, str]) -> bytes:
    """The body with the model's own name for its alias; the same bytes if it asks for no alias.

    Raises: TooIntricate.
    """
    parts: list[bytes] = []
    done = 0
    for start, end in _model_values(body):
        meant = aliases.get(_text(body[start:end]) or "")
        if meant is not None:
            parts += [body[done:start], json.dumps(meant).encode()]
            done = end
    return b"".join([*parts, body[done:]]) if parts else body


def list_aliases(listing: bytes, aliases: Mapping[str, str]) -> bytes:
    """An answer to `GET /v1/models` with an entry for each alias whose model is in it.

    Raises: ValueError if this is no list of models.
    """
    document = json.loads(listing)
    if not isinstance(document, dict) or not isinstance(document.get("data"), list):
        raise ValueError("no list of models")
    entries: list[Any] = document["data"]
    by_id = {entry.get("id"): entry for entry in entries if isinstance(entry, dict)}
    added = [
        {**by_id[name], "id": alias}
        for alias, name in aliases.items()
        if name in by_id and alias not in by_id
    ]
    return json.dumps({**document, "data": [*entries, *added]}, ensure_ascii=False).encode()


def _model_values(body: bytes) -> list[tuple[int, int]]:
    """Where the top level's values of `model` are; JSON takes the last of several, so all are returned."""
    found: list[tuple[int, int]] = []
    depth, key_end = 0, None
    for count, mark in enumerate(_MARK.finditer(body)):
        if count >= MAX_MARKS:
            raise TooIntricate
        first = body[mark.start()]
        if first in b"{[":
            depth, key_end = depth + 1, None
        elif first in b"}]":
            depth, key_end = depth - 1, None
        elif depth == 1:
            if key_end is not None and mark.start() == key_end:
                found.append(mark.span())
                key_end = None
                continue
            colon = _COLON.match(body, mark.end())
            is_model = colon is not None and _text(mark[0]) == "model"
            key_end = colon.end() if colon and is_model else None
    return found


def _text(literal: bytes) -> str | None:
    # A name is short; what is long need not be decoded to know that it is none.
    if len(literal) > 1000:
        return None
    try:
        if b"\\" not in literal:
            return literal[1:-1].decode()
        text = json.loads(literal)
    except ValueError:
        return None
    return text if isinstance(text, str) else None
