from __future__ import annotations

import pytest

from loadgen.traces.mooncake import FORM, read
from loadgen.traces.row import BadRow, TraceRow


def test_a_row_has_milliseconds_lengths_and_hash_ids() -> None:
    text = '{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}'
    assert FORM.recognises(text)
    assert read(2, text) == TraceRow(2, 27.482, 6955, 52, (46, 47))


def test_a_row_without_its_lengths_is_told() -> None:
    with pytest.raises(BadRow, match="output_length is missing; expected a whole number"):
        read(1, '{"timestamp": 0, "input_length": 5, "hash_ids": []}')
