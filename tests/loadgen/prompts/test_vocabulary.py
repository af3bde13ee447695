from __future__ import annotations

from collections.abc import Callable

import pytest

from loadgen.prompts.vocabulary import learn
from serving.errors import Failed

WORDS = [f"word{i}" for i in range(200)]
TEMPLATE = 11


def by_words(costs: Callable[[str], int] = lambda _: 1) -> Callable[[str], int]:
    """A tokenizer of the tests' own: each word costs what `costs` says, the template 11."""
    return lambda text: TEMPLATE + sum(costs(word) for word in text.split())


def test_only_words_of_one_token_are_learnt() -> None:
    expensive = {"word7", "word100", "word199"}
    learnt = learn(WORDS, by_words(lambda word: 3 if word in expensive else 1))
    assert set(learnt.words) == set(WORDS[1:]) - expensive
    assert learnt.overhead_tokens == TEMPLATE


def test_learning_asks_far_less_often_than_once_a_word() -> None:
    asked: list[str] = []
    count = by_words(lambda word: 2 if word == "word50" else 1)
    learn(WORDS, lambda text: asked.append(text) or count(text))  # type: ignore[func-returns-value]
    assert len(asked) < 25


def test_the_overhead_is_right_although_the_anchor_costs_more_at_the_head() -> None:
    assert learn(WORDS, by_words(lambda word: 4 if word == WORDS[0] else 1)).overhead_tokens == TEMPLATE


def test_a_tokenizer_without_words_of_one_token_is_refused() -> None:
    with pytest.raises(Failed, match="only 0 of 199 words cost one token"):
        learn(WORDS, by_words(len))
