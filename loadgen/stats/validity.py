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
from loadgen.stats.intervals import SMALLEST_N
from loadgen.stats.plan import RunPlan, ServerView
from loadgen.stats.quantiles import distribution, sample_quantile
from loadgen.stats.window import Rates, arrivals, planned_arrivals

MAX_LAG_S = 0.010
MAX_LAG_OF_TTFT = 0.05
MAX_RATE_ERROR = 0.02
LAG_P99_FROM_N = 100
"""From here the sample's p99 is not just its maximum; below, one late request may be an accident."""
FEWEST_ANSWERS = SMALLEST_N[50]
"""Complete answers below which not even a median has an interval."""
_CHANCE_SIGMAS = 3.0
"""How far a Poisson timetable's own count may lie from rate * duration by chance: 0.3 % of runs exceed it."""


def invalid_reasons(
    records: Sequence[RequestRecord], *, plan: RunPlan, rates: Rates, server: ServerView | None
) -> list[str]:
    """All reasons why the measured phase's records are not a measurement; empty if it is one."""
    reasons = _missing_answers(records)
    reasons += _lag(records)
    if not plan.closed:
        reasons += _rate(len(arrivals(records, plan)), plan=plan, rates=rates)
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
    if len(ok) < FEWEST_ANSWERS:
        reasons.append(
            f"too few samples: {len(ok)} complete answers; a median with an interval needs {FEWEST_ANSWERS}"
        )
    if all(ttft_s(record) is None for record in ok):
        reasons.append("no answer held an output event, so TTFT and E2E are unknown")
    twice = [index for index, times in Counter(record.index for record in records).items() if times > 1]
    if twice:
        reasons.append(f"{len(twice)} requests are recorded more than once (first: index {min(twice)})")
    return reasons


def late_limit_s(records: Sequence[RequestRecord]) -> tuple[float, str]:
    """How late a request may be sent, and the words for it: 10 ms, or 5 % of the TTFT p50 if less."""
    ttft_p50 = distribution(ttft_s(record) for record in records if record.outcome == "ok").percentiles[50]
    if ttft_p50 is None or MAX_LAG_OF_TTFT * ttft_p50 >= MAX_LAG_S:
        return MAX_LAG_S, f"{MAX_LAG_S * 1e3:.0f} ms: the load generator could not keep its timetable"
    share = f"{MAX_LAG_OF_TTFT:.0%} of the TTFT p50 of {ttft_p50 * 1e3:.1f} ms"
    return MAX_LAG_OF_TTFT * ttft_p50, f"{share}: the load generator is too late for latencies so short"


def tolerated_lag(records: Sequence[RequestRecord]) -> str | None:
    """What a reader should know of a late request that a small run may have; None if there is none."""
    lags, (limit, _) = _lags(records), late_limit_s(records)
    if len(lags) >= LAG_P99_FROM_N or not lags or lags[-1] <= limit or _lag(records):
        return None
    return (
        f"one of {len(lags)} requests was sent {lags[-1] * 1e3:.1f} ms late: one value moves a percentile"
        " by one rank at most, which is inside its interval"
    )


def _lags(records: Sequence[RequestRecord]) -> list[float]:
    return sorted(lag for record in records if (lag := schedule_lag_s(record)) is not None)


def _lag(records: Sequence[RequestRecord]) -> list[str]:
    """The generator's lateness. docs/measurement.md argues the rule."""
    lags, (limit, words) = _lags(records), late_limit_s(records)
    if not lags:
        return []
    n, mean = len(lags), math.fsum(lags) / len(lags)
    if n >= LAG_P99_FROM_N:
        judged, name = sample_quantile(lags, 99), "p99"
    elif n >= FEWEST_ANSWERS:
        judged, name = lags[-2], f"of the second latest of {n} requests"
    else:
        judged, name = lags[-1], "maximum"
    if judged > limit:
        return [f"schedule lag {name} {judged * 1e3:.1f} ms is over {words}"]
    if mean > limit:
        return [f"schedule lag mean {mean * 1e3:.1f} ms is over {words}"]
    return []


def _rate(sent: int, *, plan: RunPlan, rates: Rates) -> list[str]:
    """What was sent against the timetable, and the timetable against the rate asked for, less chance."""
    reasons: list[str] = []
    planned = planned_arrivals(plan)
    if planned is not None and _off(sent, planned) > MAX_RATE_ERROR:
        reasons.append(
            f"{sent} of {planned} intended requests were sent: off by more than {MAX_RATE_ERROR:.0%}"
        )
    elif _off(rates.achieved_per_s, rates.scheduled_per_s) > MAX_RATE_ERROR:
        reasons.append(
            f"{rates.achieved_per_s:.3g} requests/s were sent where the timetable holds"
            f" {rates.scheduled_per_s:.3g}: off by more than {MAX_RATE_ERROR:.0%}"
        )
    n = max(1, planned or sent)
    chance = _chance(n, plan)
    if _off(rates.scheduled_per_s, rates.requested_per_s) > MAX_RATE_ERROR + chance:
        reasons.append(
            f"the timetable holds {rates.scheduled_per_s:.3g} requests/s, not {rates.requested_per_s:.3g};"
            f" {MAX_RATE_ERROR:.0%} and {chance:.1%} for chance are allowed"
        )
    return reasons


def _chance(n: int, plan: RunPlan) -> float:
    """How far n arrivals may be from rate * duration by chance alone, as a ratio.

    The count of a renewal process has variance n * CV^2 of its gaps (Cox, Renewal Theory, 1962, 3.3);
    one request may be gained or lost at the edges.
    """
    cv = plan.gaps_cv if plan.gaps_cv is not None else float(plan.arrival == "poisson")
    return max(_CHANCE_SIGMAS * cv / math.sqrt(n), 1 / n)


def _off(value: float | None, wanted: float | None) -> float:
    """Relative distance; 0 where there is nothing to compare."""
    return abs(value - wanted) / wanted if value is not None and wanted else 0.0
