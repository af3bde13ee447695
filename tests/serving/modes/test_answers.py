"""Where greedy answers part."""

from __future__ import annotations

from serving.modes.answers import first_difference


def test_equal_answers_do_not_differ() -> None:
    assert first_difference(["a b", "c"], ["a b", "c"]) is None
    assert first_difference([], []) is None


def test_the_first_difference_is_told_by_answer_character_and_word() -> None:
    # Counted by hand: "the sea and " is 12 characters and three words.
    parted = first_difference(["same", "the sea and sky"], ["same", "the sea and sun"])
    assert (parted.answer, parted.character, parted.word) == (1, 13, 3)
    assert (parted.got, parted.wanted) == ("ky", "un")
    assert str(parted) == (
        "answer 2 parts from the reference at word 4 (character 14): 'ky' where it had 'un'"
    )


def test_an_answer_that_ends_early_differs_at_its_end() -> None:
    parted = first_difference(["one"], ["one two"])
    assert (parted.character, parted.word, parted.got, parted.wanted) == (3, 1, "", " two")


def test_a_missing_answer_is_an_empty_one() -> None:
    assert first_difference([], ["x"]).wanted == "x"


def test_excerpts_are_short() -> None:
    parted = first_difference(["a" * 500], ["b" * 500])
    assert len(parted.got) == len(parted.wanted) == 40
