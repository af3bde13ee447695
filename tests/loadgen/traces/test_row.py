from __future__ import annotations

from typing import Any

import pytest

from loadgen.traces.row import BadRow, json_row, keys_of, seconds, tokens


def test_numbers_are_read_from_json_and_from_csv() -> None:
    assert seconds({"t": 1500}, "t", unit_s=1e-3) == 1.5
    assert seconds({"t": "2.5"}, "t") == 2.5
    assert (tokens({"n": 7}, "n"), tokens({"n": "7"}, "n"), tokens({"n": 0}, "n")) == (7, 7, 0)


@pytest.mark.parametrize("value", ["x", "nan", "inf", True, [1], {}])
def test_what_is_no_number_is_told_with_what_was_expected(value: Any) -> None:
    with pytest.raises(BadRow, match="expected a whole number of tokens"):
        tokens({"n": value}, "n")


def test_missing_negative_and_broken_numbers_are_told() -> None:
    with pytest.raises(BadRow, match="t is missing"):
        seconds({}, "t")
    with pytest.raises(BadRow, match="before the begin; expected a time of 0 or more"):
        seconds({"t": -0.5}, "t")
    with pytest.raises(BadRow, match=r"n is 2\.5"):
        tokens({"n": 2.5}, "n")
    with pytest.raises(BadRow, match="n is -3"):
        tokens({"n": -3}, "n")


def test_a_line_must_be_a_json_object() -> None:
    assert json_row('{"a": 1}') == {"a": 1}
    with pytest.raises(BadRow, match="is not JSON"):
        json_row("a,b")
    with pytest.raises(BadRow, match="is not an object"):
        json_row("[1]")
    assert keys_of('{"a": 1, "b": 2}') == {"a", "b"}
    assert keys_of("a,b") == frozenset()
