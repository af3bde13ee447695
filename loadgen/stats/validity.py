"""Whether a run may be believed, and if not, why.

Owns: the limits and the sentences of `valid` and `reasons`. Knows nothing about how a summary looks.
Failed requests alone do not make a run invalid: they are a result. Reasons are about the measuring.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from loadgen.records import RequestRecord
from loadgen.stats.definitions import schedule_lag_s, ttft_s
from loadgen.stats.plan import RunPlan, ServerView
from loadgen.stats.quantiles import distribution, sample_quantile
from loadgen.stats.window import Rates

MAX_LAG_S = 0.010
MAX_LAG_OF_TTFT = 0.05
MAX_RATE_ERROR = 0.02
LAG_P99_FROM_N = 100
"""From here the sample's p99 is not just its maximum; below, the maximum is judged."""
_CHANCE_SIGMAS = 3.0
"""How far a Poisson timetable's own count may lie from rate * duration by chance: 0.3 % of runs exceed it."""


def invalid_reasons(
    records: Sequence[RequestRecord], *, plan: RunPlan, rates: Rates, server: ServerView | None
) -> list[str]:
    """All reasons why the measured phase's records are not a measurement; empty if it is one."""
    reasons = _missing_answers(records)
    reasons += _lag(records)
    if plan.arrival != "closed":
        reasons += _rate(len(records), plan=plan, rates=rates)
    if server is not None and server.restarted:
        reasons.append("the engine restarted during the run: its caches and compiled code are not one state")
    return reasons


def _missing_answers(records: Sequence[RequestRecord]) -> list[str]:
    ok = [record for record in records if record.outcome == "ok"]
    if not ok:
        return ["no request was answered completely, so nothing was measured"]
    reasons: list[str] = []
    uncounted = sum(record.output_tokens is None for record in ok)
    if uncounted:
        reasons.append(
            f"{uncounted} of {len(ok)} answers came without a token count: TPOT and tokens/s are unknown"
            " (does the server honour stream_options.include_usage?)"
        )
    if all(ttft_s(record) is None for record in ok):
        reasons.append("no answer held an output event, so TTFT and E2E are unknown")
    twice = [index for index, times in Counter(record.index for record in records).items() if times > 1]
    if twice:
        reasons.append(f"{len(twice)} requests are recorded more than once (first: index {min(twice)})")
    return reasons


def _lag(records: Sequence[RequestRecord]) -> list[str]:
    lags = sorted(lag for record in records if (lag := schedule_lag_s(record)) is not None)
    if not lags:
        return []
    name, lag = ("p99", sample_quantile(lags, 99)) if len(lags) >= LAG_P99_FROM_N else ("maximum", lags[-1])
    ttft_p50 = distribution(ttft_s(record) for record in records if record.outcome == "ok").percentiles[50]
    late = f"schedule lag {name} {lag * 1e3:.1f} ms"
    if lag > MAX_LAG_S:
        return [f"{late} is over {MAX_LAG_S * 1e3:.0f} ms: the load generator could not keep its timetable"]
    if ttft_p50 is not None and lag > MAX_LAG_OF_TTFT * ttft_p50:
        share = f"{MAX_LAG_OF_TTFT:.0%} of the TTFT p50 of {ttft_p50 * 1e3:.1f} ms"
        return [f"{late} is over {share}: the load generator is too late for latencies so short"]
    return []


def _rate(sent: int, *, plan: RunPlan, rates: Rates) -> list[str]:
    """What was sent against the timetable, and the timetable against the rate asked for, less chance."""
    reasons: list[str] = []
    if plan.intended is not None and _off(sent, plan.intended) > MAX_RATE_ERROR:
        reasons.append(
            f"{sent} of {plan.intended} intended requests were sent: off by more than {MAX_RATE_ERROR:.0%}"
        )
    elif _off(rates.achieved_per_s, rates.scheduled_per_s) > MAX_RATE_ERROR:
        reasons.append(
            f"{rates.achieved_per_s:.3g} requests/s were sent where the timetable holds"
            f" {rates.scheduled_per_s:.3g}: off by more than {MAX_RATE_ERROR:.0%}"
        )
    # A constant timetable may gain or lose one request at its edges; a Poisson count has variance n.
    n = max(1, plan.intended or sent)
    chance = _CHANCE_SIGMAS / math.sqrt(n) if plan.arrival == "poisson" else 1 / n
    if _off(rates.scheduled_per_s, rates.requested_per_s) > MAX_RATE_ERROR + chance:
        reasons.append(
            f"the timetable holds {rates.scheduled_per_s:.3g} requests/s, not {rates.requested_per_s:.3g};"
            f" {MAX_RATE_ERROR:.0%} and {chance:.1%} for chance are allowed"
        )
    return reasons


def _off(value: float | None, wanted: float | None) -> float:
    """Relative distance; 0 where there is nothing to compare."""
    return abs(value - wanted) / wanted if value is not None and wanted else 0.0
