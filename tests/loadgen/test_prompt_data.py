from __future__ import annotations

from loadgen.prompt_data import prompt_set, words
from loadgen.workload_prompts import PROMPT_KINDS


def test_there_are_hundreds_of_plain_words_and_none_twice() -> None:
    assert len(words()) > 500
    assert len(set(words())) == len(words())
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words())


def test_every_kind_has_ten_prompts_and_no_other_kind_is_there() -> None:
    assert {kind: len(texts) for kind, texts in prompt_set().items()} == dict.fromkeys(PROMPT_KINDS, 10)


def test_the_prompts_of_every_kind_are_of_different_lengths() -> None:
    for texts in prompt_set().values():
        words = sorted(len(text.split()) for text in texts)
        assert words[-1] >= 2 * words[0]
        assert words[0] >= 8


def test_no_prompt_is_there_twice() -> None:
    texts = [text for kind in prompt_set().values() for text in kind]
    assert len(set(texts)) == len(texts)
