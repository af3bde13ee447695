"""Bars, rows and points made of a study's figures."""

from __future__ import annotations

from fakes.study_page import figure

from deploy.study.report.chart import bar, by_workload, point, row


def test_a_row_has_all_there_is_to_say_of_a_figure():
    told = figure(0.5, "ratio", tag="calibrated")
    assert row("a", None, "m", told) == ("a", "", "m", "50 %", "[49 %, 51 %]", "3", "calibrated")


def test_a_bar_keeps_the_arms_look_and_the_figures_tag(view):
    made = bar(view, view.design.arm("fp8-kv"), figure(2, "tokens", tag="projected"), "what")
    assert (made.name, made.look, made.tag, made.value) == ("fp8-kv", 1, "projected", 2)


def test_bars_by_workload_leave_out_what_was_not_measured(view):
    groups, rows = by_workload(view, "acceptance_ratio", "accepted")
    assert [group.name for group in groups] == ["chat-1", "code"]
    assert len(rows) == 4


def test_bars_can_be_of_some_arms_only(view):
    groups, _ = by_workload(view, "output_tokens_per_s", "speed", [view.design.arm("plain")])
    assert [[one.name for one in group.bars] for group in groups] == [["plain"]] * 4


def test_a_point_has_the_intervals_of_both_figures():
    made = point(3, figure(100, "tokens/s"), "tip", x_figure=figure(3, "tokens", 0.1))
    assert (made.y_low, made.y_high, made.x_low, made.x_high) == (98.0, 102.0, 2.7, 3.3000000000000003)
