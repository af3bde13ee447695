"""Differences of quality, with intervals, beside the control's own noise."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from deploy.study.quality_compare import (
    Tolerance,
    clustered_interval,
    compare,
    in_words,
    judge,
    matched_prefix,
    mcnemar_fewer,
)
from deploy.study.quality_record import Answer, DocumentScore, QualityRecord
from serving.errors import InvalidMeasurement

WORDS = ("t1", "t2", "t3", "t4")


def record(*nll: tuple[float, ...], answers: tuple[tuple[str, ...], ...] = (), **changes) -> QualityRecord:
    """One document for each tuple; answer i is the one prompt of document i."""
    made = QualityRecord(
        model="m",
        plan_sha256="p",
        window_chars=2000,
        answer_tokens=4,
        documents=tuple(DocumentScore(f"d{at}", 1, f"hash{at}", row) for at, row in enumerate(nll)),
        answers=tuple(Answer(f"d{at}:1/2", tokens) for at, tokens in enumerate(answers)),
    )
    return replace(made, **changes)


SIX = ((1.0, 3.0), (2.0, 2.0), (1.0, 1.0), (3.0, 3.0), (0.0, 4.0), (2.0, 4.0))
CONTROL = record(*SIX, answers=(WORDS,) * 6)


def shifted(by: float, control: QualityRecord = CONTROL) -> QualityRecord:
    rows = tuple(replace(row, nll=tuple(value + by for value in row.nll)) for row in control.documents)
    return replace(control, documents=rows)


@pytest.mark.slow
def test_the_same_record_differs_in_nothing():
    verdict = compare(CONTROL, CONTROL, CONTROL)
    for against in (verdict.arm, verdict.itself):
        ratio = against.perplexity_ratio
        assert (ratio.value, ratio.low, ratio.high, ratio.n, ratio.of) == (1.0, 1.0, 1.0, 6, "documents")
        assert (against.nll_difference.value, against.nll_distance.value) == (0.0, 0.0)
        assert against.exact_match.value == against.matched_prefix.value == 1.0
    assert verdict.fewer_matches_p == 1.0
    assert verdict.control_perplexity.value == pytest.approx(math.exp(26 / 12))


def test_a_tenth_of_a_nat_more_on_every_token_is_a_ratio_of_e_to_the_tenth_without_spread():
    ratio = compare(shifted(0.1), CONTROL, CONTROL).arm.perplexity_ratio
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.105171,) * 3, rel=1e-6)


def test_differences_that_cancel_leave_a_distance():
    rows = tuple((row[0] + 0.2, row[1] - 0.2) for row in SIX)
    arm = compare(record(*rows, answers=(WORDS,) * 6), CONTROL, CONTROL).arm
    assert arm.nll_difference.value == pytest.approx(0.0)
    assert arm.nll_distance.value == pytest.approx(0.2)


def test_tokens_and_not_documents_have_equal_weight():
    control = record((1.0,), (1.0, 1.0, 1.0), (1.0,), (1.0,), (1.0,))
    arm = record((2.0,), (1.0, 1.0, 1.0), (1.0,), (1.0,), (1.0,))
    assert compare(arm, control, control).arm.nll_difference.value == pytest.approx(1 / 7)


@pytest.mark.slow
def test_exact_matches_have_wilsons_interval():
    """Wilson's interval of 10 of 12 is [0.5520, 0.9530] (Newcombe's tables and R's prop.test agree)."""
    control = record(*(SIX * 2), answers=(WORDS,) * 12)
    other = ("t1", "t2", "x", "y")
    arm = replace(control, answers=(*control.answers[:10], *(Answer(f"d{at}:1/2", other) for at in (10, 11))))
    match = compare(arm, control, control).arm.exact_match
    assert (match.value, match.low, match.high, match.n) == pytest.approx(
        (10 / 12, 0.5520, 0.9530, 12), abs=1e-4
    )


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [
        ((), (), 1.0),
        (WORDS, WORDS, 1.0),
        (WORDS, ("x", "t2", "t3", "t4"), 0.0),
        (WORDS, ("t1", "t2", "x", "t4"), 0.5),
        (WORDS, ("t1", "t2"), 0.5),
        (("t1",), WORDS, 0.25),
        ((), WORDS, 0.0),
    ],
)
def test_the_matched_prefix_is_a_share_of_the_longer_answer(a, b, share):
    assert matched_prefix(Answer("p", a), Answer("p", b)) == share


@pytest.mark.slow
def test_the_matched_prefixes_of_one_document_are_drawn_together():
    """Two prompts a document, all alike within it: the interval is that of six documents, not of twelve."""
    rows = [Answer(f"d{at}:{cut}/3", WORDS) for at in range(6) for cut in (1, 2)]
    lost = [Answer(row.prompt, ("x",) * 4 if row.prompt.startswith(("d0", "d1")) else WORDS) for row in rows]
    twice = replace(CONTROL, answers=tuple(rows))
    half = replace(CONTROL, answers=tuple(rows[::2]))
    once = compare(replace(CONTROL, answers=tuple(lost[::2])), half, half).arm.matched_prefix
    both = compare(replace(CONTROL, answers=tuple(lost)), twice, twice).arm.matched_prefix
    assert (both.value, both.n) == (pytest.approx(4 / 6), 12)
    assert (both.low, both.high) == (once.low, once.high)


@pytest.mark.slow
def test_the_self_control_shows_what_the_control_does_to_itself():
    other = ("t1", "x", "x", "x")
    again = replace(CONTROL, answers=(*CONTROL.answers[:5], Answer("d5:1/2", other)))
    verdict = compare(CONTROL, CONTROL, again)
    assert verdict.itself.exact_match.value == pytest.approx(5 / 6)
    assert verdict.itself.matched_prefix.value == pytest.approx(5.25 / 6)
    assert verdict.arm.exact_match.value == 1.0


@pytest.mark.parametrize(
    ("lost", "won", "p"),
    [(0, 0, 1.0), (1, 0, 0.5), (5, 0, 1 / 32), (4, 1, 6 / 32), (0, 3, 1.0), (8, 2, 56 / 1024)],
)
def test_fewer_matches_are_tested_after_mcnemar(lost, won, p):
    matched = [False] * lost + [True] * won + [True, False]
    again = [True] * lost + [False] * won + [True, False]
    assert mcnemar_fewer(matched, again) == pytest.approx(p)


@pytest.mark.slow
def test_a_text_without_prompts_has_no_matches_rather_than_none_matched():
    control = record(*SIX)
    verdict = compare(control, control, control)
    assert verdict.arm.exact_match is verdict.arm.matched_prefix is None
    assert verdict.fewer_matches_p is None


def test_too_few_documents_have_no_interval():
    control = record(*SIX[:4], answers=(WORDS,) * 4)
    ratio = compare(control, control, control).arm.perplexity_ratio
    assert (ratio.value, ratio.low, ratio.high, ratio.n) == (1.0, None, None, 4)
    assert in_words(ratio) == "1 without an interval (4 documents)"
    assert judge(compare(control, control, control)).outcome == "inconclusive"


@pytest.mark.parametrize(
    "other", [{"plan_sha256": "q"}, {"documents": CONTROL.documents[:5]}, {"answers": CONTROL.answers[:5]}]
)
def test_records_of_different_texts_or_of_a_part_are_not_compared(other):
    with pytest.raises(InvalidMeasurement, match="different texts"):
        compare(replace(CONTROL, **other), CONTROL, CONTROL)


def test_records_of_different_tokenizers_are_not_compared():
    other = replace(
        CONTROL, documents=(replace(CONTROL.documents[0], tokens_sha256="z"), *CONTROL.documents[1:])
    )
    with pytest.raises(InvalidMeasurement, match="document 'd0' was split into different tokens"):
        compare(CONTROL, CONTROL, other)


@pytest.mark.slow
def test_a_verdict_is_a_json_document_with_the_self_control_in_it():
    document = compare(shifted(0.1), CONTROL, CONTROL).to_json()
    assert document["arm"]["perplexity_ratio"]["value"] == pytest.approx(1.105171)
    assert document["itself"]["perplexity_ratio"]["value"] == 1.0
    assert document["arm"]["exact_match"]["n"] == 6


def noisy(by: float, spread: float, seed: int) -> QualityRecord:
    rng = random.Random(seed)
    rows = tuple(
        replace(row, nll=tuple(value + by + rng.gauss(0, spread) for value in row.nll))
        for row in CONTROL.documents
    )
    return replace(CONTROL, documents=rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arm", "outcome"),
    [
        (CONTROL, "pass"),
        (shifted(-0.1), "pass"),
        (shifted(0.01), "pass"),
        (shifted(0.05), "fail"),
        (noisy(0.02, 0.1, seed=3), "inconclusive"),
    ],
)
def test_a_gate_judges_by_where_the_whole_interval_lies(arm, outcome):
    assert judge(compare(arm, CONTROL, CONTROL)).outcome == outcome


@pytest.mark.slow
def test_wrong_answers_fail_although_the_text_is_scored_as_before():
    wrong = replace(CONTROL, answers=tuple(Answer(row.prompt, ("x",) * 4) for row in CONTROL.answers))
    judged = judge(compare(wrong, CONTROL, CONTROL))
    assert judged.outcome == "fail"
    assert judged.reasons == ("matched prefix 0 [0, 0] (6 prompts), wanted 0.25",)


def test_a_control_that_does_not_resemble_itself_decides_nothing():
    judged = judge(compare(shifted(0.05), CONTROL, shifted(0.05)))
    assert judged.outcome == "inconclusive"
    assert judged.reasons[0].startswith("the control against itself: perplexity ratio 1.051")


def test_what_is_tolerated_can_be_said():
    assert judge(compare(shifted(0.05), CONTROL, CONTROL), Tolerance(perplexity_ratio=1.1)).outcome == "pass"


@pytest.mark.slow
def test_the_interval_over_twelve_documents_covers_the_truth_about_as_often_as_it_says():
    """1,000 texts of 12 documents with their own levels; 2,000 draws each would take long, 400 do.

    Three standard errors of a share of 0.95 among 1,000 are 0.02.
    """
    rng = random.Random(8)
    covered = 0
    for trial in range(1000):
        sums = []
        for _ in range(12):
            tokens = rng.randint(150, 350)
            level = rng.gauss(0.02, 0.03)
            sums.append((rng.gauss(level * tokens, math.sqrt(tokens) * 0.2), tokens))
        interval = clustered_interval(sums, seed=trial, resamples=400)
        assert interval is not None
        covered += interval[0] <= 0.02 <= interval[1]
    assert 0.93 <= covered / 1000 <= 0.97
