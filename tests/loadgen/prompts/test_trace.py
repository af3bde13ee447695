from __future__ import annotations

from loadgen.prompts.exact_text import Writer
from loadgen.prompts.trace import TraceSource
from loadgen.prompts.vocabulary import Vocabulary
from loadgen.traces.row import TraceRow

WORDS = tuple(f"word{i}" for i in range(200))
TEMPLATE = 11
ROWS = (
    TraceRow(1, 0.0, 100, 5, (0, 1)),
    TraceRow(2, 1.0, 140, 6, (0, 1, 2)),
    TraceRow(3, 2.0, 60, 7, (3,)),
    TraceRow(4, 3.0, 60, 7),
    TraceRow(5, 4.0, None, None, kind="own", body={"prompt": "as it is"}),
)


def source() -> TraceSource:
    writer = Writer(Vocabulary(WORDS, TEMPLATE), lambda text: TEMPLATE + len(text.split()), 1, "s")
    return TraceSource(writer, ROWS, 40)


def test_each_row_has_its_lengths() -> None:
    made = [source().make(index) for index in range(4)]
    assert [(p.input_tokens, p.output_tokens) for p in made] == [(100, 5), (140, 6), (60, 7), (60, 7)]
    assert [len(p.text.split()) + TEMPLATE for p in made] == [100, 140, 60, 60]


def test_equal_leading_ids_are_an_equal_beginning_and_no_more() -> None:
    a, b, c = (source().make(index).text.split() for index in range(3))
    # Ids 0 and 1 are 80 words; 11 of row 1's tokens are its template's.
    assert a[:80] == b[:80]
    assert a[80:85] != b[80:85]
    assert a[:5] != c[:5]


def test_the_last_id_names_what_is_left() -> None:
    assert source().make(1).blocks == (("0/0", 40), ("0/1", 40), ("0/2", 40))
    assert source().make(2).blocks == (("0/3", 40),)
    assert source().make(3).blocks == ()


def test_the_rows_from_the_top_again_have_other_texts() -> None:
    assert source().make(5).input_tokens == 100
    assert source().make(5).text.split()[:5] != source().make(0).text.split()[:5]


def test_a_body_goes_as_it_is() -> None:
    prompt = source().make(4)
    assert (prompt.kind, prompt.body, prompt.input_tokens) == ("own", {"prompt": "as it is"}, None)
