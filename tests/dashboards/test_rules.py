"""Recording rules: names as they are meant to be, and values by hand from made-up samples."""

from __future__ import annotations

import re

import pytest
import yaml
from fakes.promtool import RULES, check_rules, needs_promtool, queries_give

from dashboards.rules import RECORDINGS, WINDOWS, burn_name, missed_count_name, rule_file, rules_text

JUDGED = 'teapot_slo_requests_total{deployment="demo", slo="ttft", met="%s", backend="%s"}'
TARGET = 'teapot_slo_target_ratio{deployment="demo", slo="ttft", instance="%s"}'
LABELS = '{deployment="demo", slo="ttft"}'


def test_a_name_says_level_metric_and_operations() -> None:
    for rule in RECORDINGS:
        level, metric, operations = rule.record.split(":")
        assert level == "deployment_slo"
        assert metric.startswith("teapot_slo_")
        assert re.fullmatch(r"max|(missed_ratio_rate|missed_increase|burn_rate)(5m|30m|1h|6h)", operations)


def test_a_rule_uses_only_rules_above_it() -> None:
    known: set[str] = set()
    for rule in RECORDINGS:
        assert set(re.findall(r"deployment_slo:[\w:]+", rule.expr)) <= known
        known.add(rule.record)


def test_text_of_several_lines_stays_readable() -> None:
    text = rule_file({"g": [{"alert": "A", "expr": "up\n== 0"}]}, source="here")
    assert "expr: |-\n      up\n      == 0\n" in text
    assert yaml.safe_load(text) == {"groups": [{"name": "g", "rules": [{"alert": "A", "expr": "up\n== 0"}]}]}
    assert text.startswith("# Made by `teapot dashboards build` from here;")


def test_the_file_holds_every_rule_in_order() -> None:
    (group,) = yaml.safe_load(rules_text())["groups"]
    assert [rule["record"] for rule in group["rules"]] == [rule.record for rule in RECORDINGS]


@needs_promtool
def test_prometheus_takes_the_committed_file() -> None:
    check_rules(RULES)


@pytest.mark.slow
@needs_promtool
def test_a_burn_rate_is_the_share_of_misses_by_the_share_allowed() -> None:
    samples = {
        JUDGED % ("true", "a"): "0+6x60",
        JUDGED % ("false", "a"): "0+1x60",
        JUDGED % ("true", "b"): "0+2x60",
        JUDGED % ("false", "b"): "0+1x60",
        TARGET % "gateway": "0.9x60",
    }
    # 2 of 10 missed where 1 of 10 may: twice too fast.
    expected = {f"round({burn_name(window)}, 0.001)": [(LABELS, 2)] for window in WINDOWS}
    queries_give(samples, "60m", expected)


@pytest.mark.slow
@needs_promtool
def test_a_short_window_forgets_what_a_long_one_still_holds() -> None:
    samples = {
        JUDGED % ("true", "a"): "0+5x40 210+10x19",
        JUDGED % ("false", "a"): "0+5x40 200x20",
        TARGET % "gateway": "0.9x60",
    }
    # Of the last hour 200 of 600 missed; of the last 30 minutes 50 of 300, all in the first ten.
    expected = {
        f"round({burn_name('5m')}, 0.001)": [(LABELS, 0)],
        f"round({burn_name('30m')}, 0.001)": [(LABELS, 1.667)],
        f"round({burn_name('1h')}, 0.001)": [(LABELS, 3.333)],
        f"{missed_count_name('1h')}": [(f"{missed_count_name('1h')}{LABELS}", 200)],
    }
    queries_give(samples, "60m", expected)


@pytest.mark.slow
@needs_promtool
def test_the_strictest_of_several_gateways_objectives_holds() -> None:
    samples = {
        JUDGED % ("true", "a"): "0+8x60",
        JUDGED % ("false", "a"): "0+2x60",
        TARGET % "old": "0.5x60",
        TARGET % "new": "0.9x60",
    }
    queries_give(samples, "60m", {f"round({burn_name('1h')}, 0.001)": [(LABELS, 2)]})


@pytest.mark.slow
@needs_promtool
def test_no_miss_is_a_burn_rate_of_0_although_the_counter_is_not_born() -> None:
    samples = {JUDGED % ("true", "a"): "0+8x60", TARGET % "gateway": "0.9x60"}
    queries_give(samples, "60m", {burn_name("1h"): [(f"{burn_name('1h')}{LABELS}", 0)]})


@pytest.mark.slow
@needs_promtool
@pytest.mark.parametrize(
    "samples",
    [
        {},
        {TARGET % "gateway": "0.9x60"},
        {JUDGED % ("true", "a"): "8x60", JUDGED % ("false", "a"): "2x60", TARGET % "gateway": "0.9x60"},
        {JUDGED % ("true", "a"): "0+8x60", JUDGED % ("false", "a"): "0+2x60"},
    ],
    ids=["nothing", "no counter", "no request", "no objective"],
)
def test_nothing_to_tell_is_no_sample(samples: dict[str, str]) -> None:
    queries_give(samples, "60m", {burn_name("1h"): []})
