from __future__ import annotations

from loadgen.prompts.exact_text import Writer
from loadgen.prompts.random_tokens import RandomTokensSource
from loadgen.prompts.vocabulary import Vocabulary

WORDS = tuple(f"word{i}" for i in range(200))
TEMPLATE = 11


def by_words(text: str) -> int:
    """A tokenizer of the tests' own: each word costs one token, the template 11."""
    return TEMPLATE + len(text.split())


def source(*, salt: str = "s") -> RandomTokensSource:
    writer = Writer(Vocabulary(WORDS, TEMPLATE), by_words, 1, salt)
    return RandomTokensSource(writer, lambda index: 40 + index, lambda index: 5 + index)


def test_each_prompt_has_the_lengths_drawn_for_it() -> None:
    for index in (0, 3, 90):
        prompt = source().make(index)
        assert by_words(prompt.text) == prompt.input_tokens == 40 + index
        assert prompt.output_tokens == 5 + index


def test_without_lengths_for_answers_none_is_claimed() -> None:
    writer = Writer(Vocabulary(WORDS, TEMPLATE), None, 1, "s")
    prompt = RandomTokensSource(writer, lambda _: 40, None).make(0)
    assert (prompt.input_tokens, prompt.output_tokens) == (None, None)


def test_requests_share_no_head_and_a_new_salt_changes_every_head() -> None:
    first = [source(salt="one").make(i).text.split() for i in range(50)]
    again = [source(salt="two").make(i).text.split() for i in range(50)]
    heads = {tuple(words[:5]) for words in first + again}
    assert len(heads) == 100
    assert [words[5:] for words in first] == [words[5:] for words in again]


def test_the_same_seed_and_salt_give_the_same_prompt_in_any_order() -> None:
    a, b = source(), source()
    assert [a.make(i) for i in (0, 1, 2)] == [b.make(i) for i in (2, 1, 0)][::-1]
