"""The charts of levers beside each other."""

from __future__ import annotations

from dataclasses import replace

from fakes.study_page import OTHER, figure, prediction, ratio, summary

from deploy.study.report.levers import CHARTS, GLANCE_CHART

DRAW = {chart.id: chart.draw for chart in (GLANCE_CHART, *CHARTS)}


def test_every_ratio_to_the_control_is_told_with_its_verdict(view):
    drawn = DRAW["glance"](view)
    assert drawn.rows[0] == ("fp8-kv", "plain", "", "KV capacity", "2x", "[2x, 2x]", "3", "measured")
    for words in ("2x (better)", "0.83x (worse)", "1.04x</span>"):
        assert words in drawn.body
    assert "output, chat-16, right is better" in drawn.body
    assert "weights, left is better" in drawn.body


def test_ratios_to_a_control_of_another_model_are_said_to_be_that(view):
    told = summary(ratios=(ratio("other", "output_tokens_per_s", "code", 4.0),))
    assert DRAW["glance"](replace(view, summary=told).only(OTHER)).caption.startswith(
        "The control has another model"
    )
    assert DRAW["glance"](view).caption == ""


def test_a_study_of_one_arm_has_nothing_to_compare(view):
    bare = replace(view, summary=summary(ratios=(), predictions=()))
    assert DRAW["glance"](bare) is DRAW["predictions"](bare) is None


def test_a_wrong_prediction_is_shown_as_wrong(view, said):
    drawn = DRAW["predictions"](view)
    assert drawn.rows[1] == (
        *("ngram-4", "plain", "code", "output", "2.5x", "calibrated"),
        *("2x", "[1.94x, 2.06x]", "-20.0 %", "no"),
    )
    # Errors of 0 and 20 %: their median is 10 %.
    assert drawn.caption.startswith(
        "Of 2 predictions 1 lie in the measured interval, 1 do not; the median error is 10 %."
    )
    assert "predicted 2.5x, calibrated: E t / (k t_d + t_v)" in said(drawn.body)


def test_a_prediction_without_an_interval_is_neither_right_nor_wrong(view):
    bare = prediction("ngram-4", "output_tokens_per_s", "code", 2.5, figure(2.0, "x", None, n=1))
    drawn = DRAW["predictions"](replace(view, summary=summary(predictions=(replace(bare, held=None),))))
    assert drawn.rows[0][-1] == "no interval"
    assert "0 do not, 1 cannot be told without an interval;" in drawn.caption


def test_weight_formats_stand_beside_the_control_in_speed_and_bytes(view):
    drawn = DRAW["weight-formats"](view)
    assert {line[0] for line in drawn.rows} == {"plain", "stacked"}
    assert (
        "stacked",
        "",
        "weights in memory",
        "150 MiB",
        "[150 MiB, 150 MiB]",
        "3",
        "measured",
    ) in drawn.rows


def test_the_stack_leads_from_an_arm_to_the_one_that_stands_on_it(view, said):
    drawn = DRAW["stack"](view)
    assert drawn.body.count('class="arrow"') == 4  # fp8-kv to stacked, at each of four workloads
    tip = "stacked: 25 tok/s [24.5 tok/s, 25.5 tok/s], 155 MiB [152 MiB, 158 MiB], n = 3"
    assert tip in said(drawn.body)
