from __future__ import annotations

from collections import Counter

import pytest

from loadgen.prompts.exact_text import Writer
from loadgen.prompts.shared_prefix import SharedPrefixSource
from loadgen.prompts.vocabulary import Vocabulary

WORDS = tuple(f"word{i}" for i in range(200))
TEMPLATE = 11


def source(*, groups: int = 4, skew: float = 0.0, salt: str = "s") -> SharedPrefixSource:
    writer = Writer(Vocabulary(WORDS, TEMPLATE), lambda text: TEMPLATE + len(text.split()), 1, salt)
    return SharedPrefixSource(writer, groups, 50, skew, lambda _: 30, lambda _: 8)


def test_a_prompt_costs_its_prefix_and_its_suffix_with_the_template() -> None:
    prompt = source().make(0)
    assert len(prompt.text.split()) == 50 + 30 - TEMPLATE
    assert (prompt.input_tokens, prompt.output_tokens) == (80, 8)
    assert prompt.blocks[0][1] == 50


def test_prompts_of_a_group_begin_alike_and_go_on_differently_at_once() -> None:
    by_group: dict[str, list[list[str]]] = {}
    for index in range(40):
        prompt = source().make(index)
        by_group.setdefault(prompt.blocks[0][0], []).append(prompt.text.split())
    assert len(by_group) == 4
    for rows in by_group.values():
        assert len({tuple(words[:50]) for words in rows}) == 1
        assert len({tuple(words[50:55]) for words in rows}) == len(rows)
    assert len({tuple(rows[0][:5]) for rows in by_group.values()}) == 4


def test_another_run_has_other_prefixes() -> None:
    assert source(salt="t", groups=1).make(0).text.split()[:5] != source(groups=1).make(0).text.split()[:5]


@pytest.mark.slow
def test_groups_are_asked_evenly_without_skew_and_by_zipfs_law_with_it() -> None:
    even = Counter(source().make(i).blocks[0][0] for i in range(2000))
    assert list(even.values()) == pytest.approx([500] * 4, abs=80)
    zipf = Counter(source(skew=1.0).make(i).blocks[0][0] for i in range(2000))
    # 1, 1/2, 1/3, 1/4 of a sum of 25/12.
    expected = {f"group {k}": 2000 * 12 / 25 / (k + 1) for k in range(4)}
    assert zipf == pytest.approx(expected, abs=90)


def test_a_word_that_costs_more_at_the_beginning_of_a_text_takes_no_room_from_a_short_suffix() -> None:
    def count(text: str) -> int:
        words = text.split()
        return TEMPLATE + len(words) + (0 if words[0] == WORDS[0] else 2)

    for salt in "abcdef":
        writer = Writer(Vocabulary(WORDS, TEMPLATE), count, 1, salt)
        one = SharedPrefixSource(writer, 1, 50, 0.0, lambda _: TEMPLATE + 2, None)
        assert one.make(0).input_tokens == 50 + TEMPLATE + 2
