"""Bars and dots are as long and as far as their values."""

from __future__ import annotations

import re

from deploy.study.report.bars import Bar, Group, bars, ratios, stacked


def bar(value: float, **changes) -> Bar:
    return Bar(**{"name": "arm", "value": value, "words": f"{value}", "tip": f"tip {value}", **changes})


def test_a_bar_is_as_long_as_its_value_of_the_longest():
    body = bars([Group(name="", bars=(bar(52.0), bar(104.0 / 1.04)))], says="s", high=104.0)
    assert re.findall(r'class="fill" style="width:([\d.]+)%"', body) == ["50.00", "96.15"]


def test_without_a_limit_the_longest_end_of_an_interval_sets_the_scale():
    body = bars([Group(name="", bars=(bar(50.0, low=40.0, high=100.0),))], says="s")
    assert re.findall(r'class="fill" style="width:([\d.]+)%"', body) == ["48.08"]  # 50 / 104
    assert re.findall(r'class="whisker" style="left:([\d.]+)%;width:([\d.]+)%"', body) == [("38.46", "57.69")]


def test_what_has_no_interval_or_was_counted_has_no_whisker():
    counted = bar(5.0, low=5.0, high=5.0)
    assert "whisker" not in bars([Group(name="", bars=(bar(5.0), counted))], says="s")


def test_ratios_of_two_and_a_half_are_equally_far_from_one():
    body = ratios([Group(name="", bars=(bar(2.0), bar(0.5), bar(1.0)))], says="s")
    twice, half, same = (float(left) for left in re.findall(r'<b style="left:([\d.]+)%"', body))
    assert same == 50.0
    assert round(twice - same, 2) == round(same - half, 2) > 40


def test_what_is_not_measured_is_hollow():
    body = ratios([Group(name="", bars=(bar(2.0), bar(2.0, tag="projected")))], says="s")
    assert re.findall(r'class="(bar look1[^"]*)"', body) == ["bar look1", "bar look1 hollow"]


def test_parts_are_shares_of_the_whole_with_their_names(said):
    body = stacked([("k = 4", [("draft", 0.25, "a quarter"), ("target", 0.75, "the rest")])], says="s")
    assert re.findall(r"width:([\d.]+)%", body) == ["25.00", "75.00"]
    assert said(body) == ["a quarter", "the rest"]
    assert "25 % / 75 %" in body


def test_names_are_escaped_and_groups_have_headings():
    body = bars([Group(name="a < b", bars=(bar(1.0, name="x & y"),))], says='"s"')
    assert '<p class="group">a &lt; b</p>' in body
    assert "x &amp; y" in body
    assert 'aria-label="&quot;s&quot;"' in body
