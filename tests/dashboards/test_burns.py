"""Alerts on objectives fire, stay silent, and say nothing of nothing; shares by hand, judged by promtool."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from fakes.promtool import Fired, alerts_fire, needs_promtool

from dashboards.burns import burn_alerts

pytestmark = needs_promtool
NAMES = {
    "availability": "TeapotAvailabilityBurn",
    "ttft": "TeapotTtftBurn",
    "tpot": "TeapotTpotBurn",
    "e2e": "TeapotE2eBurn",
}
SPENDERS = {
    "availability": "failed requests",
    "ttft": "late first tokens",
    "tpot": "slow streams",
    "e2e": "late answers",
}
WINDOWS = {"critical": ("1h", "5m"), "warning": ("6h", "30m")}


@dataclass(frozen=True)
class Traffic:
    """What the gateway of a deployment counted, minute by minute, and what it aims at."""

    met: str
    missed: str
    target: float = 0.99
    slo: str = "ttft"
    deployment: str = "demo"

    def samples(self) -> dict[str, str]:
        of = f'deployment="{self.deployment}", slo="{self.slo}"'
        judged = f'teapot_slo_requests_total{{{of}, revision="main", backend="http://127.0.0.1:9", met="%s"}}'
        return {
            judged % "true": self.met,
            judged % "false": self.missed,
            f"teapot_slo_target_ratio{{{of}}}": f"{self.target}x400",
        }


def fired(severity: str, factor: str, slo: str = "ttft", deployment: str = "demo") -> Fired:
    """The alert with the words that it is to have; what to do is read from it."""
    (alert,) = (a for a in burn_alerts() if a.name == NAMES[slo] and a.severity == severity)
    long, short = WINDOWS[severity]
    labels = {"deployment": deployment, "slo": slo, "severity": severity}
    labels |= {"long_window": long, "short_window": short}
    summary = f"{deployment}: {SPENDERS[slo]} spend the budget {factor} times too fast (over {long})"
    runbook = f"docs/alerts.md#{NAMES[slo].lower()}"
    return Fired(labels, {"summary": summary, "description": alert.advice, "runbook_url": runbook})


@pytest.mark.slow
@pytest.mark.parametrize("slo", sorted(NAMES))
def test_each_objective_fires_when_a_fifth_misses_it(slo: str) -> None:
    traffic = Traffic(met="0+8x60", missed="0+2x60", slo=slo)
    expected = [fired("critical", "20.0", slo), fired("warning", "20.0", slo)]
    alerts_fire(NAMES[slo], traffic.samples(), "30m", expected)


@pytest.mark.slow
@pytest.mark.parametrize("slo", sorted(NAMES))
def test_each_objective_is_silent_while_it_is_held(slo: str) -> None:
    traffic = Traffic(met="0+199x60", missed="0+1x60", slo=slo)
    alerts_fire(NAMES[slo], traffic.samples(), "60m", [])


@pytest.mark.slow
@pytest.mark.parametrize("slo", sorted(NAMES))
def test_each_objective_is_silent_without_data(slo: str) -> None:
    alerts_fire(NAMES[slo], {}, "60m", [])


@pytest.mark.slow
def test_the_objective_of_the_deployment_decides_and_not_a_number_in_the_rule() -> None:
    # 4 % missed: of a budget of 0.2 % twenty times too fast, of one of 5 % not even once.
    strict = Traffic(met="0+24x60", missed="0+1x60", target=0.998, slo="availability")
    alerts_fire(
        NAMES["availability"],
        strict.samples(),
        "60m",
        [fired("critical", "20.0", "availability"), fired("warning", "20.0", "availability")],
    )
    lenient = Traffic(met="0+24x60", missed="0+1x60", target=0.95, slo="availability")
    alerts_fire(NAMES["availability"], lenient.samples(), "60m", [])


@pytest.mark.slow
def test_a_slow_burn_is_a_warning_only() -> None:
    # 8 % of a budget of 1 %: above 6 and below 14.4.
    traffic = Traffic(met="0+23x60", missed="0+2x60")
    alerts_fire("TeapotTtftBurn", traffic.samples(), "60m", [fired("warning", "8.0")])


@pytest.mark.slow
def test_just_below_the_slow_factor_nothing_fires() -> None:
    traffic = Traffic(met="0+189x60", missed="0+11x60")
    alerts_fire("TeapotTtftBurn", traffic.samples(), "60m", [])


@pytest.mark.slow
def test_between_the_factors_of_both_windows_the_fast_one_is_silent() -> None:
    # 14 % of a budget of 1 %.
    traffic = Traffic(met="0+86x60", missed="0+14x60")
    alerts_fire("TeapotTtftBurn", traffic.samples(), "60m", [fired("warning", "14.0")])


@pytest.mark.slow
def test_it_ends_soon_after_its_cause() -> None:
    # Half of all missed for twenty minutes; then nothing did. The hour still holds 100 of 600.
    traffic = Traffic(met="0+5x20 110+10x39", missed="0+5x20 100x39")
    expected = [fired("critical", "50.0"), fired("warning", "50.0")]
    alerts_fire("TeapotTtftBurn", traffic.samples(), "20m", expected)
    alerts_fire("TeapotTtftBurn", traffic.samples(), "60m", [])


@pytest.mark.slow
def test_a_short_peak_in_a_busy_hour_wakes_nobody() -> None:
    # Five bad minutes after 55 good ones: 50 of 6000 missed.
    traffic = Traffic(met="0+100x55 5590+90x4", missed="0x55 10+10x4")
    alerts_fire("TeapotTtftBurn", traffic.samples(), "60m", [])


@pytest.mark.slow
@pytest.mark.parametrize(("missed", "fires"), [(1, False), (4, False), (5, True)])
def test_with_little_traffic_a_few_failures_wake_nobody(missed: int, fires: bool) -> None:
    # Ten requests within an hour, one every six minutes, the last ones missed.
    met = " ".join(f"{min(n, 10 - missed)}x5" for n in range(11))
    late = " ".join(f"{max(0, n - 10 + missed)}x5" for n in range(11))
    traffic = Traffic(met=met, missed=late)
    alerts_fire("TeapotTtftBurn", traffic.samples(), "61m", [fired("critical", "50.0")] if fires else [])


def test_an_outage_of_a_fresh_gateway_is_seen() -> None:
    traffic = Traffic(met="0x60", missed="0x3 7+7x57")
    expected = [fired("critical", "100.0"), fired("warning", "100.0")]
    alerts_fire("TeapotTtftBurn", traffic.samples(), "6m", expected)


@pytest.mark.slow
def test_four_misses_of_a_fresh_gateway_are_not_taken_for_five() -> None:
    # Four seconds after the scrape that saw them `increase` says 7.2: it takes them for a trend.
    traffic = Traffic(met="0x60", missed="_ _ 0 4x60")
    alerts_fire("TeapotTtftBurn", traffic.samples(), "19s", [], apart="5s", evaluated="19s")
    alerts_fire("TeapotTtftBurn", traffic.samples(), "114s", [], apart="5s", evaluated="19s")


@pytest.mark.slow
def test_a_gateway_that_starts_again_goes_on_burning() -> None:
    traffic = Traffic(met="0+8x30 0+8x30", missed="0+2x30 0+2x30")
    alerts_fire(
        "TeapotTtftBurn", traffic.samples(), "33m", [fired("critical", "20.0"), fired("warning", "20.0")]
    )


@pytest.mark.slow
def test_only_the_deployment_that_burns_is_named() -> None:
    bad = Traffic(met="0+8x60", missed="0+2x60", deployment="bad")
    good = Traffic(met="0+10x60", missed="0x60", deployment="good")
    expected = [fired("critical", "20.0", deployment="bad"), fired("warning", "20.0", deployment="bad")]
    alerts_fire("TeapotTtftBurn", {**bad.samples(), **good.samples()}, "30m", expected)


@pytest.mark.slow
def test_without_an_objective_nothing_is_missed() -> None:
    samples = Traffic(met="0+8x60", missed="0+2x60").samples()
    del samples['teapot_slo_target_ratio{deployment="demo", slo="ttft"}']
    alerts_fire("TeapotTtftBurn", samples, "60m", [])


@pytest.mark.slow
def test_without_requests_nothing_is_missed() -> None:
    alerts_fire("TeapotTtftBurn", Traffic(met="90x60", missed="40x60").samples(), "60m", [])
