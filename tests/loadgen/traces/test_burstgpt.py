from __future__ import annotations

import pytest

from loadgen.traces.burstgpt import FORM, read
from loadgen.traces.row import BadRow, TraceRow

OLD = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type"
NEW = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type"


def test_rows_are_read_by_the_names_of_the_header() -> None:
    assert FORM.recognises(OLD)
    assert FORM.recognises(NEW)
    assert read(2, "5,ChatGPT,472,18,490,Conversation log", OLD.split(",")) == TraceRow(2, 5.0, 472, 18)
    row = "45.0,s-1,7.25,GPT-4,417,276,693,API log"
    assert read(9, row, NEW.split(",")) == TraceRow(9, 45.0, 417, 276)


def test_a_row_with_other_columns_than_its_header_is_told() -> None:
    with pytest.raises(BadRow, match="has 3 columns; expected 6, as the header"):
        read(2, "5,ChatGPT,472", OLD.split(","))
