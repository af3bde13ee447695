from __future__ import annotations

from loadgen.expectations import expected, too_long
from loadgen.prompts.prompt import Prompt, Turn


def test_lengths_are_told_as_they_were_planned() -> None:
    told = expected([Prompt("a", "", 10, 4), Prompt("a", "", 30, 8)])
    assert told["requests"] == 2
    assert told["input_tokens"] == {"n": 2, "min": 10, "mean": 20, "max": 30}
    assert told["output_tokens"] == {"n": 2, "min": 4, "mean": 6, "max": 8}
    assert (told["prompt_tokens_total"], told["shared_tokens"], told["shared_ratio"]) == (40, 0, 0)


def test_what_cannot_be_counted_is_unknown_and_not_zero() -> None:
    told = expected([Prompt("a", "", 10), Prompt("a", "", None)])
    assert told["input_tokens"] is told["output_tokens"] is told["prompt_tokens_total"] is None
    assert told["shared_ratio"] is None


def test_what_turns_share_is_unknown_where_their_beginning_is() -> None:
    assert expected([Prompt("a", "", None, 5, turns=(Turn("", 7, 5),))])["shared_tokens"] is None


def test_a_block_is_shared_from_its_second_use_and_only_behind_the_same_beginning() -> None:
    def prompt(*names: str) -> Prompt:
        return Prompt("a", "", 100, 1, blocks=tuple((name, 40) for name in names))

    told = expected([prompt("x", "y"), prompt("x", "z"), prompt("z", "y"), prompt("x", "y")])
    # 0, then x, then nothing (z never began a prompt), then x and y.
    assert told["shared_tokens"] == 40 + 80
    assert told["shared_ratio"] == 120 / 400


def test_of_a_block_that_was_cut_short_before_only_that_much_is_shared() -> None:
    short = Prompt("a", "", 100, 1, blocks=(("x", 40), ("y", 10)))
    long = Prompt("a", "", 100, 1, blocks=(("x", 40), ("y", 40), ("z", 5)))
    assert expected([short, long])["shared_tokens"] == 40 + 10
    assert expected([long, short])["shared_tokens"] == 40 + 10
    assert expected([short, long, long])["shared_tokens"] == 50 + 85


def test_a_later_turn_shares_all_that_was_said_before_it() -> None:
    conversation = Prompt("a", "", 20, 5, turns=(Turn("", 7, 5), Turn("", 3, 5)))
    told = expected([conversation])
    assert (told["requests"], told["conversations"]) == (3, 1)
    # The second turn is sent behind 20 + 5 tokens, the third behind 20 + 5 + 7 + 5.
    assert told["shared_tokens"] == 25 + 37
    assert told["prompt_tokens_total"] == 20 + (25 + 7) + (37 + 3)


def test_requests_longer_than_the_model_are_told_up_to_ten() -> None:
    fits, long = Prompt("a", "", 90, 10), Prompt("a", "", 90, 11)
    assert too_long([fits], 100) == []
    (problem,) = too_long([fits, long], 100)
    assert str(problem).startswith("prompts: request 1 needs 101 tokens, and the model takes 100; ask for")
    assert str(too_long([long] * 13, 100)[-1]) == "prompts: 3 more requests are too long"


def test_a_conversation_is_as_long_as_its_last_answer_makes_it() -> None:
    conversation = Prompt("a", "", 20, 5, turns=(Turn("", 7, 5),))
    assert too_long([conversation], 37) == []
    assert len(too_long([conversation], 36)) == 1


def test_unknown_lengths_and_limits_are_no_problem() -> None:
    assert too_long([Prompt("a", "", None, 10**6)], 10) == []
    assert too_long([Prompt("a", "", 10**6, 1)], None) == []
