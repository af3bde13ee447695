"""Azure's LLM inference traces: CSV with TIMESTAMP, ContextTokens, GeneratedTokens.

Owns: this form (github.com/Azure/AzurePublicDataset, 2023 and 2024). Knows nothing about files.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from loadgen.traces.row import BadRow, Form, TraceRow, tokens

COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
WANTED = "a header TIMESTAMP,ContextTokens,GeneratedTokens, and rows like 2023-11-16 18:15:46.6805900,374,44"
_STAMP = re.compile(r"(?P<whole>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?P<part>\.\d+)?(?P<zone>Z|[+-]\d\d:\d\d)?")


def read(line: int, text: str, header: Sequence[str] = ()) -> TraceRow:
    """A row; its time is in seconds since 1970. Raises: BadRow."""
    cells = next(csv.reader([text]))
    if len(cells) != len(header):
        raise BadRow(f"has {len(cells)} columns; expected {len(header)}, as the header")
    row = dict(zip(header, cells, strict=True))
    return TraceRow(
        line, _time(row["TIMESTAMP"]), tokens(row, "ContextTokens"), tokens(row, "GeneratedTokens")
    )


def _time(text: str) -> float:
    """Seven digits after the point are more than `datetime` keeps: the part is added as a number."""
    match = _STAMP.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError
        whole = datetime.fromisoformat(match["whole"] + (match["zone"] or "+00:00").replace("Z", "+00:00"))
    except ValueError:
        raise BadRow(f"TIMESTAMP is {text!r}; expected one like 2023-11-16 18:15:46.6805900") from None
    return whole.astimezone(UTC).timestamp() + float(match["part"] or 0)


FORM = Form("azure", WANTED, lambda first: all(name in first for name in COLUMNS), read, has_header=True)
