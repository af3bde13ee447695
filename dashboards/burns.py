"""The alerts on objectives: a budget of misses is spent too fast, for long enough and still now.

Owns: which burn rates matter, and the guard against too few requests. Knows nothing about how misses are
counted.

The factors are those of the SRE workbook ("Alerting on SLOs", multi-window, multi-burn-rate) for a budget of
30 days: 14.4 times too fast spends 2 % of it in an hour, 6 times too fast 5 % in six.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dashboards.alert import Alert, Severity, both
from dashboards.promql import series
from dashboards.rules import burn_name, missed_count_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Burn:
    """A burn rate that matters."""

    factor: float
    long: str
    """The window that says it matters."""
    short: str
    """The window that says it goes on; so the alert ends soon after its cause."""
    least_missed: int
    """So many requests must have missed within the long window: of three requests one failure is a third."""
    severity: Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What is said about an objective."""

    name: str
    spenders: str
    advice: str


HOLD = "1m"
"""For some scrapes `increase` takes the first misses of a fresh gateway for up to twice as many."""
BURNS = (
    Burn(factor=14.4, long="1h", short="5m", least_missed=5, severity="critical"),
    Burn(factor=6, long="6h", short="30m", least_missed=10, severity="warning"),
)
WORDS = {
    "availability": Words(
        name="TeapotAvailabilityBurn",
        spenders="failed requests",
        advice="See which outcome grew, and at which engine.",
    ),
    "ttft": Words(
        name="TeapotTtftBurn",
        spenders="late first tokens",
        advice="See whether requests wait for capacity, or whether prompts grew.",
    ),
    "tpot": Words(
        name="TeapotTpotBurn",
        spenders="slow streams",
        advice="See whether batches, preemptions or prompts grew.",
    ),
    "e2e": Words(
        name="TeapotE2eBurn",
        spenders="late answers",
        advice="See whether answers are longer, or slower, than they were.",
    ),
}
"""By objective, as `teapot_slo_requests_total` names it."""


def burn_alerts() -> Iterator[Alert]:
    """Each objective with each burn rate. Two severities of an objective share its name."""
    for slo, words in WORDS.items():
        for burn in BURNS:
            yield Alert(
                name=words.name,
                expr=both(
                    f"{series(burn_name(burn.long), slo=slo)} > {burn.factor:g}",
                    f"{series(burn_name(burn.short), slo=slo)} > {burn.factor:g}",
                    f"{series(missed_count_name(burn.long), slo=slo)} >= {burn.least_missed}",
                ),
                hold=HOLD,
                severity=burn.severity,
                labels={"long_window": burn.long, "short_window": burn.short},
                summary=f"{{{{ $labels.deployment }}}}: {words.spenders} spend the budget "
                f'{{{{ $value | printf "%.1f" }}}} times too fast (over {burn.long})',
                advice=f"{words.advice} If a rollout runs, take it back first.",
            )
