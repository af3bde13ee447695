"""Plain JSONL: `{"at_s": 0.5, "input_tokens": 120, "output_tokens": 40}`, or a whole `body`.

Owns: this form, which is ours. Knows nothing about files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loadgen.traces.row import BadRow, Form, TraceRow, json_row, keys_of, seconds, tokens
from serving.modes.spelling import suggest

KEYS = ("at_s", "input_tokens", "output_tokens", "body", "kind", "hash_ids")
WANTED = 'lines like {"at_s": 0.5, "input_tokens": 120, "output_tokens": 40} or {"at_s": 0.5, "body": {...}}'


def read(line: int, text: str, _header: Sequence[str] = ()) -> TraceRow:
    """A row. Raises: BadRow."""
    row = json_row(text)
    for key in row:
        if key not in KEYS:
            raise BadRow(f"{key}: unknown key; {suggest(key, KEYS, 'known keys')}")
    body = row.get("body", {})
    if not isinstance(body, Mapping):
        raise BadRow("body is no object; expected the keys of a request body")
    at_s = seconds(row, "at_s")
    if body:
        if "input_tokens" in row:
            raise BadRow("has body and input_tokens; expected one of them")
        output = tokens(row, "output_tokens") if "output_tokens" in row else None
        return TraceRow(line, at_s, output_tokens=output, kind=_kind(row), body=body)
    return TraceRow(
        line,
        at_s,
        tokens(row, "input_tokens"),
        tokens(row, "output_tokens"),
        hash_ids(row),
        kind=_kind(row),
    )


def hash_ids(row: Mapping[str, object]) -> tuple[int, ...]:
    """The names of the prompt's blocks. Raises: BadRow."""
    ids = row.get("hash_ids", [])
    if not isinstance(ids, list) or not all(type(number) is int for number in ids):
        raise BadRow("hash_ids is no list of whole numbers; expected one such as [0, 1, 2]")
    return tuple(ids)


def _kind(row: Mapping[str, object]) -> str:
    kind = row.get("kind", "trace")
    if not isinstance(kind, str) or not kind:
        raise BadRow(f"kind is {kind!r}; expected a word for tables by kind")
    return kind


FORM = Form("plain", WANTED, lambda first: "at_s" in keys_of(first), read)
