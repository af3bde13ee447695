"""What is asked of an engine, and what is kept of it."""

from __future__ import annotations

import json
import math

import pytest

from deploy.study.quality_record import (
    Answer,
    Document,
    DocumentScore,
    QualityPlan,
    QualityRecord,
    tokens_sha256,
    windows,
)
from serving.errors import UsageError

RECORD = QualityRecord(
    model="m",
    plan_sha256="p",
    window_chars=100,
    answer_tokens=2,
    documents=(DocumentScore("a", 1, "x", (1.0, 2.0, 3.0)), DocumentScore("b", 1, "y", (4.0,))),
    answers=(Answer("a:1/2", ("token_id:1", "token_id:2")),),
)


def test_perplexity_is_the_exponential_of_the_mean_over_all_tokens():
    assert RECORD.tokens == 4
    assert RECORD.mean_nll == 2.5
    assert RECORD.perplexity == pytest.approx(math.e**2.5)


def test_an_engine_that_picks_among_ten_has_a_perplexity_of_ten():
    row = DocumentScore("a", 1, "x", (math.log(10),) * 7)
    record = QualityRecord(
        model="m", plan_sha256="p", window_chars=1, answer_tokens=1, documents=(row,), answers=()
    )
    assert record.perplexity == pytest.approx(10)


def test_a_record_comes_back_from_its_json():
    document = json.loads(json.dumps(RECORD.to_json()))
    assert QualityRecord.from_json(document) == RECORD
    assert document["perplexity"] == pytest.approx(12.182494)


@pytest.mark.parametrize(
    "spoilt", [{}, {"schema": 2, "kind": "quality"}, {"schema": 1, "kind": "quality", "model": "m"}]
)
def test_what_is_not_a_record_is_refused_with_its_place(spoilt):
    with pytest.raises(UsageError, match=r"^cells/001/quality\.json: .*quality record"):
        QualityRecord.from_json(spoilt, "cells/001/quality.json")


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        ({"documents": []}, "documents: not all have scored tokens"),
        ({"documents": [{"document": "a", "windows": 1, "tokens_sha256": "x", "nll": []}]}, "scored tokens"),
        ({"documents": [{"document": "a", "windows": 1, "tokens_sha256": "x"}]}, r"documents\.0\.nll: "),
        ({"answers": [{"prompt": "a", "tokens": [1]}]}, r"answers\.0\.tokens\.0: "),
    ],
)
def test_a_record_that_was_cut_or_spoilt_is_refused_with_the_key(spoilt, said):
    with pytest.raises(UsageError, match=f"a quality record that is not whole .*{said}.*; measure quality"):
        QualityRecord.from_json({**json.loads(json.dumps(RECORD.to_json())), **spoilt})


@pytest.mark.parametrize(
    ("text", "chars", "pieces"),
    [
        ("aaaaaa\n\nb\nc dddd", 12, ("aaaaaa", "\n\nb\nc dddd")),
        ("aaaaaa\nb c dddd", 11, ("aaaaaa", "\nb c dddd")),
        ("aaa bbb ccc", 8, ("aaa bbb", " ccc")),
        ("aaaaaaaaaaaa", 5, ("aaaaa", "aaaaa", "aa")),
        ("a bbbbbbbbbbb", 10, ("a bbbbbbbb", "bbb")),
    ],
)
def test_a_text_is_cut_at_an_empty_line_then_a_line_then_a_space_but_not_near_its_start(text, chars, pieces):
    assert windows(text, chars) == pieces


@pytest.mark.parametrize("chars", [1, 2, 3, 7, 20, 100])
def test_no_character_is_lost_and_no_piece_is_too_long(chars):
    text = "One line.\n\nAnother one, longer than that.\nAnd a third, withaverylongwordinit.\n"
    pieces = windows(text, chars)
    assert "".join(pieces) == text
    assert all(len(piece) <= chars for piece in pieces)


def test_prompts_end_after_a_whole_word_without_a_space():
    plan = QualityPlan(documents=(Document("d", "alpha beta gamma delta"),), cuts=3)
    # Cut at 5, 11 and 16 of 22 characters.
    assert list(plan.prompts()) == [
        ("d:1/4", "alpha"),
        ("d:2/4", "alpha"),
        ("d:3/4", "alpha beta"),
    ]


def test_any_change_of_what_is_asked_is_another_plan():
    plan = QualityPlan(documents=(Document("d", "text"),))
    others = (
        QualityPlan(documents=(Document("d", "text."),)),
        QualityPlan(documents=(Document("e", "text"),)),
        QualityPlan(documents=(Document("d", "text"),), window_chars=1999),
        QualityPlan(documents=(Document("d", "text"),), cuts=2),
        QualityPlan(documents=(Document("d", "text"),), answer_tokens=16),
    )
    assert len({plan.sha256, *(other.sha256 for other in others)}) == 6


@pytest.mark.parametrize(
    "wrong",
    [
        {"documents": ()},
        {"documents": (Document("d", " \n"),)},
        {"documents": (Document("d", "a"), Document("d", "b"))},
        {"documents": (Document("d", "a"),), "window_chars": 0},
        {"documents": (Document("d", "a"),), "cuts": -1},
        {"documents": (Document("d", "a"),), "answer_tokens": 0},
    ],
)
def test_a_plan_that_asks_nothing_is_refused(wrong):
    with pytest.raises(UsageError):
        QualityPlan(**wrong)


def test_tokens_have_one_hash_in_one_order():
    assert tokens_sha256(["a", "b"]) == tokens_sha256(["a", "b"])
    assert len({tokens_sha256(tokens) for tokens in (["a", "b"], ["b", "a"], ["ab"], ["a"])}) == 4
