"""The charts of speculation, from a study with known figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.study_page import an_arm, design, figure, ngram, planned_start, row, summary

from deploy.study.report.speculation import CHARTS
from deploy.study.report.view import View

DRAW = {chart.id: chart.draw for chart in CHARTS}


@pytest.fixture
def plain():
    """A study in which nothing speculates."""
    return View(
        design=design(arms=(an_arm("plain"),), starts=(planned_start(1, "plain"),)), summary=summary()
    )


@pytest.mark.parametrize("chart", list(DRAW))
def test_a_study_without_speculation_has_none_of_these_charts(chart, plain):
    assert DRAW[chart](plain) is None


def test_throughput_is_shown_for_the_control_and_what_speculates_only(view, said):
    drawn = DRAW["speculation"](view)
    assert {line[0] for line in drawn.rows} == {"plain", "ngram-2", "ngram-4"}
    assert "ngram-4: output tokens/s 36 tok/s [35.3 tok/s, 36.7 tok/s], n = 3, measured" in said(drawn.body)


def test_acceptance_falls_with_k_as_it_was_measured(view, said):
    tips = said(DRAW["acceptance"](view).body)
    assert "ngram, code, k = 2: accepted of the drafted 80 % [78.4 %, 81.6 %], n = 3, measured" in tips
    assert "ngram, code, k = 4: accepted of the drafted 70 % [68.6 %, 71.4 %], n = 3, measured" in tips
    assert len(tips) == 4


def test_the_formula_goes_through_the_smallest_k_and_is_said_to_be_calibrated(view):
    """1 + a + a^2 = 2.6 has a = 0.8602; then 1 + a + a^2 + a^3 + a^4 = 3.784 and 1 + a = 1.860."""
    rows = [line for line in DRAW["tokens-by-k"](view).rows if line[2] == "ngram, code: E(0.86, k)"]
    assert [line[3] for line in rows] == ["1.86 at k = 1", "2.6 at k = 2", "3.24 at k = 3", "3.78 at k = 4"]
    assert {line[6] for line in rows} == {"calibrated"}


def test_tokens_a_pass_stand_beside_the_acceptance_length(view):
    rows = DRAW["tokens-by-k"](view).rows
    assert (
        "ngram-4",
        "code",
        "acceptance length",
        "3.8 tokens",
        "[3.72 tokens, 3.88 tokens]",
        "3",
        "measured",
    ) in rows
    assert (
        "ngram-4",
        "code",
        "tokens a target pass",
        "2.8 tokens",
        "[2.74 tokens, 2.86 tokens]",
        "3",
        "measured",
    ) in rows


def test_throughput_against_k_begins_without_speculation(view, said):
    tips = said(DRAW["throughput-by-k"](view).body)
    assert "ngram, code, k = 0: output tokens/s 18 tok/s [17.6 tok/s, 18.4 tok/s], n = 3, measured" in tips


def test_the_prediction_is_the_speedup_times_the_speed_without(view, said):
    """Predicted 2.5x of 18 tok/s."""
    drawn = DRAW["throughput-by-k"](view)
    assert "k = 4: predicted 2.5 x 18 tok/s, calibrated" in said(drawn.body)
    assert (
        "ngram",
        "code",
        "ngram, code: predicted",
        "45 tok/s at k = 4",
        "",
        "",
        "calibrated",
    ) in drawn.rows


def test_one_k_alone_is_no_curve():
    arms = (an_arm("plain"), an_arm("ngram-2", ngram(2), drafted_tokens=2))
    made = View(design=design(arms=arms), summary=summary())
    assert DRAW["acceptance"](made) is DRAW["tokens-by-k"](made) is DRAW["throughput-by-k"](made) is None
    assert DRAW["acceptance-by-kind"](made) is not None


def test_the_source_of_tokens_is_that_of_the_fastest_k(view, said):
    """ngram-4 is the faster in both kinds: 26 against 24, 36 against 27."""
    drawn = DRAW["token-source"](view)
    assert said(drawn.body) == [
        "ngram k = 4, chat-1: 41.0 % of tokens from the draft",
        "ngram k = 4, chat-1: 59.0 % from the target",
        "ngram k = 4, code: 64.3 % of tokens from the draft",
        "ngram k = 4, code: 35.7 % from the target",
    ]


def test_acceptance_by_kind_of_prompt_has_a_group_for_each_workload(view):
    drawn = DRAW["acceptance-by-kind"](view)
    assert [line[:2] + line[3:4] for line in drawn.rows] == [
        ("ngram-2", "chat-1", "50 %"),
        ("ngram-4", "chat-1", "35 %"),
        ("ngram-2", "code", "80 %"),
        ("ngram-4", "code", "70 %"),
    ]


def test_a_figure_without_an_interval_is_still_drawn(view, said):
    bare = [row("ngram-2", "code", "acceptance_ratio", figure(0.8, "ratio", None, n=1))]
    drawn = DRAW["acceptance-by-kind"](replace(view, summary=summary(rows=tuple(bare))))
    assert said(drawn.body) == ["ngram-2: accepted of the drafted 80 % no interval, n = 1, measured"]
