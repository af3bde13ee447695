from __future__ import annotations

from collections.abc import Callable

import pytest

from loadgen.prompts.random_tokens import RandomTokensSource, Vocabulary, learn
from serving.errors import Failed

WORDS = [f"word{i}" for i in range(200)]
TEMPLATE = 11


def by_words(costs: Callable[[str], int] = lambda _: 1) -> Callable[[str], int]:
    """A tokenizer of the tests' own: each word costs what `costs` says, the template 11."""
    return lambda text: TEMPLATE + sum(costs(word) for word in text.split())


def source(count: Callable[[str], int] | None, *, tokens: int = 40, salt: str = "s") -> RandomTokensSource:
    vocabulary = Vocabulary(tuple(WORDS), TEMPLATE)
    return RandomTokensSource(vocabulary, count, tokens, seed=1, salt=salt)


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


@pytest.mark.parametrize("tokens", [12, 16, 40, 1000])
def test_a_prompt_costs_exactly_what_was_asked_with_its_template(tokens: int) -> None:
    prompt = source(by_words(), tokens=tokens).make(3)
    assert len(prompt.text.split()) == tokens - TEMPLATE
    assert prompt.input_tokens == tokens


def test_a_prompt_is_grown_or_shrunk_where_words_cost_otherwise_in_place() -> None:
    # In this tokenizer every tenth word merges with its neighbour.
    def merging(text: str) -> int:
        return TEMPLATE + len(text.split()) - len(text.split()) // 10

    prompt = source(merging, tokens=100).make(0)
    assert merging(prompt.text) == 100


def test_a_length_that_cannot_be_met_is_said() -> None:
    with pytest.raises(Failed, match="no text of exactly 40 tokens"):
        source(lambda text: TEMPLATE + 2 * len(text.split())).make(0)


def test_fewer_tokens_than_the_template_costs_is_said_with_the_least() -> None:
    with pytest.raises(Failed, match=r"11 tokens are fewer .* \(12\)"):
        source(by_words(), tokens=11).make(0)


def test_without_a_tokenizer_the_length_is_about_right_and_not_claimed() -> None:
    prompt = source(None).make(0)
    assert len(prompt.text.split()) == 29
    assert prompt.input_tokens is None


def test_requests_share_no_head_and_a_new_salt_changes_every_head() -> None:
    first = [source(by_words(), salt="one").make(i).text.split() for i in range(50)]
    again = [source(by_words(), salt="two").make(i).text.split() for i in range(50)]
    heads = {tuple(words[:5]) for words in first + again}
    assert len(heads) == 100
    assert [words[5:] for words in first] == [words[5:] for words in again]


def test_the_same_seed_and_salt_give_the_same_prompt_in_any_order() -> None:
    a, b = source(by_words()), source(by_words())
    assert [a.make(i) for i in (0, 1, 2)] == [b.make(i) for i in (2, 1, 0)][::-1]
