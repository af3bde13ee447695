"""BurstGPT's traces: CSV with Timestamp (s), Model, Request tokens, Response tokens, ...

Owns: this form (github.com/HPMLL/BurstGPT). Knows nothing about files. Requests that failed have no
response tokens in it.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence

from loadgen.traces.row import BadRow, Form, TraceRow, seconds, tokens

COLUMNS = ("Timestamp", "Request tokens", "Response tokens")
WANTED = "a header with Timestamp, Model, Request tokens, Response tokens, and rows like 5,ChatGPT,472,18"


def read(line: int, text: str, header: Sequence[str] = ()) -> TraceRow:
    """A row. Raises: BadRow."""
    cells = next(csv.reader([text]))
    if len(cells) != len(header):
        raise BadRow(f"has {len(cells)} columns; expected {len(header)}, as the header")
    row = dict(zip(header, cells, strict=True))
    return TraceRow(
        line, seconds(row, "Timestamp"), tokens(row, "Request tokens"), tokens(row, "Response tokens")
    )


FORM = Form("burstgpt", WANTED, lambda first: all(name in first for name in COLUMNS), read, has_header=True)
