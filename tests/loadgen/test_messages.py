from __future__ import annotations

from loadgen import messages


def test_the_words_of_the_two_sides_are_different() -> None:
    words = (*messages.TO_WORKERS, *messages.FROM_WORKERS)
    assert len(set(words)) == len(words)


def test_a_machine_has_one_name() -> None:
    assert messages.machine() == messages.machine() != ""
