from __future__ import annotations

from collections.abc import Callable

import pytest

from loadgen.prompts.exact_text import Writer
from loadgen.prompts.vocabulary import Vocabulary
from serving.errors import Failed

WORDS = tuple(f"word{i}" for i in range(200))
TEMPLATE = 11


def by_words(text: str) -> int:
    """A tokenizer of the tests' own: each word costs one token, the template 11."""
    return TEMPLATE + len(text.split())


def writer(count: Callable[[str], int] | None = by_words, *, salt: str = "s") -> Writer:
    return Writer(Vocabulary(WORDS, TEMPLATE), count, 1, salt)


@pytest.mark.parametrize("tokens", [12, 16, 40, 1000])
def test_a_text_costs_exactly_what_was_asked_with_its_template(tokens: int) -> None:
    text, counted = writer().exact(writer().row("3"), tokens)
    assert len(text.split()) == tokens - TEMPLATE
    assert counted == tokens


def test_a_text_is_grown_or_shrunk_where_words_cost_otherwise_in_place() -> None:
    # In this tokenizer every tenth word merges with its neighbour.
    def merging(text: str) -> int:
        return TEMPLATE + len(text.split()) - len(text.split()) // 10

    text, _ = writer(merging).exact(writer().row("0"), 100)
    assert merging(text) == 100


def test_a_length_that_cannot_be_met_is_said() -> None:
    with pytest.raises(Failed, match="no text of exactly 40 tokens"):
        writer(lambda text: TEMPLATE + 2 * len(text.split())).exact(writer().row("0"), 40)


def test_fewer_tokens_than_the_template_costs_is_said_with_the_least() -> None:
    with pytest.raises(Failed, match=r"11 tokens are fewer .* \(12\)"):
        writer().exact(writer().row("0"), 11)


def test_a_head_is_kept_whole_or_the_length_is_refused() -> None:
    row = writer().row("0", head=["a", "b", "c"])
    assert writer().exact(row, TEMPLATE + 4, least=4)[0].startswith("a b c ")
    with pytest.raises(Failed, match=r"\(15\); ask for at least"):
        writer().exact(row, TEMPLATE + 3, least=4)


def test_without_a_tokenizer_the_length_is_about_right_and_not_claimed() -> None:
    text, counted = writer(None).exact(writer().row("0"), 40)
    assert len(text.split()) == 40 - TEMPLATE
    assert counted is None


def test_a_block_is_the_same_in_every_row_of_a_run_and_another_one_in_another_run() -> None:
    assert writer().block("7", 30) == writer().block("7", 60)[:30]
    assert writer().block("7", 30) != writer().block("8", 30)
    assert writer(salt="t").block("7", 30) != writer().block("7", 30)
