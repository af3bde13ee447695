"""Whether what Prometheus tells of a run is what the load generator measured.

Owns: what is compared, over which time, and how far both may be apart. Knows nothing about run folders or
about Prometheus' API.

The gateway's and the engines' histograms are asked by the SLIs' own expressions, over the time of the
measured requests. Of a quantile only the bucket is known, so the client's value (or its 95 % interval) must
lie in the bucket that Prometheus' value is in. Both look from different places: a little is allowed beside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dashboards.promql import Scope, mean, over_time, quantile, ratio, total
from dashboards.slis import SLIS, own, vllm
from serving.facts.load import load_metrics

Where = Literal["gateway", "engines", "load generator"]
Latency = Literal["ttft", "tpot", "e2e"]
ALLOWED_RATIO = 0.05
"""Requests that end before the first scrape within the run's time are in no rate."""
ALLOWED_S: Mapping[Latency, float] = {"ttft": 0.01, "tpot": 0.0005, "e2e": 0.01}
"""The way from the client to the gateway and on, over loopback, on a busy machine."""
READ_LATE_S = 1.0
"""The load generator counts an answer when it has read it, and its exporter ends with the run: what ended
after its last scrape is in no sample."""
PROBES = 2
"""Before a run its generator asks for one token, twice if the first way is refused: on the same path, and so
shortly before that it is counted to the run or not, as the scrapes fall."""
SETTLE_SCRAPES = 2
"""After the last request, until its end is certainly scraped."""
_GATEWAY: Mapping[Latency, str] = {
    "ttft": "gateway_first_byte", "tpot": "gateway_tpot", "e2e": "gateway_duration",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile and its 95 % interval, as far as there were enough requests for one."""

    q: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """What a client measured of one latency, in seconds."""

    mean: float
    percentiles: tuple[Percentile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientView:
    """What a run of the load generator measured. Times are Unix time."""

    run: str
    began_s: float
    """The first request, warm-up included."""
    measured_s: float
    """The first measured request."""
    sent: int
    """Warm-up included."""
    paths: tuple[str, ...]
    """Where they were sent to, such as `/v1/chat/completions`."""
    ends_s: tuple[float, ...]
    """When each measured request ended, however it did."""
    latencies: Mapping[Latency, Distribution]

    @property
    def ended_s(self) -> float:
        """The end of the last answer."""
        return max(self.ends_s)

    def settled_s(self, scrape_s: float) -> float:
        """When Prometheus has seen all of it."""
        return self.ended_s + SETTLE_SCRAPES * scrape_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One number to compare: the client's, and how Prometheus is asked for its own."""

    what: str
    where: Where
    unit: Literal["s", "requests"]
    low: float
    high: float
    """The client's number; for percentiles its interval."""
    allowed: float
    """How much beside it the other may be."""
    expression: str
    buckets: str | None = None
    """Where the number is a quantile: asks for the buckets, one sample an `le`."""
    before_s: float | None = None
    """Where the number grew over the run: what was there at this time is taken off."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both numbers as text, and whether they agree; None where Prometheus has none."""

    what: str
    where: Where
    client: str
    server: str
    agrees: bool | None

    @property
    def word(self) -> str:
        """The verdict in a word."""
        return {True: "agree", False: "DIFFER", None: "nothing to compare"}[self.agrees]


def measures(view: ClientView, deployment: str, scrape_s: float) -> Iterator[Measure]:
    """All that can be compared of a run."""
    window_s = math.ceil(view.settled_s(scrape_s) - view.measured_s)
    whole_s = math.ceil(view.settled_s(scrape_s) - view.began_s + scrape_s)
    scope = Scope((f'deployment="{deployment}"',), window=f"{window_s}s")
    sent = _gateway_requests(scope.over(f"{whole_s}s").only(f'path=~"{"|".join(view.paths)}"'))
    yield _count("gateway", view.sent, view.sent + PROBES, sent, before_s=view.began_s)
    run = Scope((f'run="{view.run}"',), window=f"{whole_s + 10 * math.ceil(scrape_s)}s")
    ended = total(over_time("last", load_metrics()["requests"].name, run), run)
    unseen_from_s = view.ended_s - scrape_s - READ_LATE_S
    seen_surely = sum(end_s <= unseen_from_s for end_s in view.ends_s)
    yield _count("load generator", seen_surely, len(view.ends_s), ended)
    engines = scope.only('role!="prefill"')
    for key, seen in view.latencies.items():
        yield _mean(key, "gateway", seen, SLIS[f"{key}_mean"].query(scope))
        yield _mean(key, "engines", seen, mean(vllm(key), engines))
        yield _mean(key, "load generator", seen, _run_mean(load_metrics()[key].name, run))
        for percentile in seen.percentiles:
            q = percentile.q
            sli = SLIS.get(f"{key}_p{q * 100:g}")
            if sli:
                yield _quantile(key, "gateway", percentile, sli.query(scope), own(_GATEWAY[key]), scope)
            yield _quantile(key, "engines", percentile, quantile(q, vllm(key), engines), vllm(key), engines)
            name = load_metrics()[key].name
            yield _quantile(key, "load generator", percentile, _run_quantile(q, name, run), name, run)


def compare(measure: Measure, value: float | None, bounds: Sequence[float]) -> Comparison:
    """The verdict. `bounds` are the buckets' upper bounds, ascending, where the number is a quantile."""
    client = _shown(measure.low, measure.high, measure.unit)
    if value is None or not math.isfinite(value) or (measure.buckets and not bounds):
        return Comparison(measure.what, measure.where, client, "none", None)
    low = high = value
    if measure.buckets:
        low = max((bound for bound in bounds if bound < value), default=0.0)
        high = min((bound for bound in bounds if bound >= value), default=math.inf)
    agrees = low - measure.allowed <= measure.high and measure.low <= high + measure.allowed
    return Comparison(measure.what, measure.where, client, _shown(low, high, measure.unit), agrees)


def _count(where: Where, low: int, high: int, expression: str, *, before_s: float | None = None) -> Measure:
    return Measure(
        what="requests", where=where, unit="requests", low=low, high=high, allowed=0.5,
        expression=expression, before_s=before_s,
    )  # fmt: skip


def _mean(key: Latency, where: Where, seen: Distribution, expression: str) -> Measure:
    allowed = ALLOWED_S[key] + ALLOWED_RATIO * seen.mean
    return Measure(
        what=f"{key.upper()} mean", where=where, unit="s", low=seen.mean, high=seen.mean, allowed=allowed,
        expression=expression,
    )  # fmt: skip


def _quantile(
    key: Latency, where: Where, percentile: Percentile, expression: str, name: str, scope: Scope
) -> Measure:
    buckets = total(over_time("last", f"{name}_bucket", scope), Scope(by=("le",)), "count")
    return Measure(
        what=f"{key.upper()} p{percentile.q * 100:g}", where=where, unit="s", low=percentile.low,
        high=percentile.high, allowed=ALLOWED_S[key], expression=expression, buckets=buckets,
    )  # fmt: skip


def _gateway_requests(scope: Scope) -> str:
    return total(over_time("last", own("gateway_requests"), scope, traffic="client"), scope)


def _run_mean(name: str, run: Scope) -> str:
    """A run's own series begin with it, so the last sample is the whole of it."""
    above = total(over_time("last", f"{name}_sum", run), run)
    return ratio(above, total(over_time("last", f"{name}_count", run), run))


def _run_quantile(q: float, name: str, run: Scope) -> str:
    return f"histogram_quantile({q:g}, {total(over_time('last', f'{name}_bucket', run), run.split('le'))})"


def _shown(low: float, high: float, unit: str) -> str:
    if low == high:
        return f"{low:.4g} {unit}"
    return f"{low:.4g} .. {high:.4g} {unit}"
