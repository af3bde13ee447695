from __future__ import annotations

import pytest

from loadgen.traces.plain import FORM, read
from loadgen.traces.row import BadRow, TraceRow


def test_a_row_has_a_time_and_lengths() -> None:
    assert read(3, '{"at_s": 0.5, "input_tokens": 12, "output_tokens": 4, "kind": "short"}') == TraceRow(
        3, 0.5, 12, 4, kind="short"
    )


def test_a_row_may_have_a_body_in_place_of_lengths() -> None:
    row = read(1, '{"at_s": 0, "body": {"prompt": "x"}, "output_tokens": 3}')
    assert (row.input_tokens, row.output_tokens, row.body) == (None, 3, {"prompt": "x"})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"at": 1, "input_tokens": 1, "output_tokens": 1}', "at: unknown key; did you mean 'at_s'"),
        ('{"at_s": 1, "output_tokens": 1}', "input_tokens is missing"),
        ('{"at_s": 1, "body": [], "output_tokens": 1}', "body is no object"),
        ('{"at_s": 1, "body": {"prompt": "x"}, "input_tokens": 1}', "body and input_tokens"),
        ('{"at_s": 1, "input_tokens": 1, "output_tokens": 1, "kind": 3}', "kind is 3"),
        ('{"at_s": 1, "input_tokens": 1, "output_tokens": 1, "hash_ids": ["a"]}', "hash_ids is no list"),
    ],
)
def test_a_wrong_row_is_told(text: str, told: str) -> None:
    with pytest.raises(BadRow, match=told):
        read(1, text)


def test_it_is_recognised_by_its_time() -> None:
    assert FORM.recognises('{"at_s": 1}')
    assert not FORM.recognises('{"timestamp": 1, "input_length": 2}')
