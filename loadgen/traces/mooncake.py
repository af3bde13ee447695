"""Mooncake's traces: JSONL with timestamp (ms), input_length, output_length and hash_ids.

Owns: this form (github.com/kvcache-ai/Mooncake, FAST25-release). Knows nothing about files. Each hash id
names a block of 512 tokens together with all before it, so equal leading ids are an equal beginning.
"""

from __future__ import annotations

from collections.abc import Sequence

from loadgen.traces.plain import hash_ids
from loadgen.traces.row import Form, TraceRow, json_row, keys_of, seconds, tokens

WANTED = 'lines like {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}'


def read(line: int, text: str, _header: Sequence[str] = ()) -> TraceRow:
    """A row. Raises: BadRow."""
    row = json_row(text)
    at_s = seconds(row, "timestamp", unit_s=1e-3)
    return TraceRow(line, at_s, tokens(row, "input_length"), tokens(row, "output_length"), hash_ids(row))


FORM = Form("mooncake", WANTED, lambda first: {"timestamp", "input_length"} <= keys_of(first), read)
