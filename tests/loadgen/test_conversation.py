from __future__ import annotations

import pytest

from loadgen.conversation import OPEN, body_of_turn

FIRST = {"role": "user", "content": "one"}
SECOND = {"role": "user", "content": "two"}
THIRD = {"role": "user", "content": "three"}


def test_open_answers_are_filled_in_their_order_and_the_rest_stays() -> None:
    body = {"model": "m", "messages": [FIRST, dict(OPEN), SECOND, dict(OPEN), THIRD], "max_tokens": 3}
    assert body_of_turn(body, ["A", ""]) == {
        "model": "m",
        "max_tokens": 3,
        "messages": [
            FIRST,
            {"role": "assistant", "content": "A"},
            SECOND,
            {"role": "assistant", "content": ""},
            THIRD,
        ],
    }


def test_a_body_without_open_answers_is_sent_as_it_is() -> None:
    said = {"role": "assistant", "content": "from the file"}
    assert body_of_turn({"messages": [FIRST, said, SECOND]}, ["A"]) == {"messages": [FIRST, said, SECOND]}
    assert body_of_turn({"prompt": "x"}, []) == {"prompt": "x"}


def test_the_planned_body_is_not_changed() -> None:
    body = {"messages": [FIRST, dict(OPEN), SECOND]}
    body_of_turn(body, ["A"])
    assert body["messages"][1] == OPEN


def test_a_missing_answer_is_an_error() -> None:
    with pytest.raises(ValueError, match="more answers than the 0"):
        body_of_turn({"messages": [FIRST, dict(OPEN), SECOND]}, [])
