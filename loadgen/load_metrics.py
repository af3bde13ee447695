"""The load generator's own metrics for Prometheus: each name once, as data.

Owns: names, kinds, help texts, buckets and labels. Knows nothing about HTTP or the run. Dashboards read
their names here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from loadgen.live import Live, Tally
from loadgen.stats.histogram import Histogram

LABELS = ("run", "stage", "workload")
"""On every metric: the run folder's name, the stage (from 0; `all` without stages), the workload's name."""
NO_STAGE = "all"

_FAST_S = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0)
_SLOW_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0)
_LAG_S = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Latency:
    """A histogram in seconds. Its buckets are within 1 %: they are made of the generator's own."""

    name: str
    help: str
    of: Callable[[Tally], Histogram]
    bounds_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """A counter or gauge of each stage."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    of: Callable[[Tally], float | None]
    outcome: str | None = None
    """A label of its own, where one name has several."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A counter or gauge of the run as a whole; its stage is `all`."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    of: Callable[[Live], float]


LATENCIES = (
    Latency("teapot_load_ttft_seconds", "Time to first token, from t_sent.", lambda t: t.ttft, _SLOW_S),
    Latency("teapot_load_tpot_seconds", "Time per output token after the first.", lambda t: t.tpot, _FAST_S),
    Latency("teapot_load_itl_seconds", "Inter-token latency, each token once.", lambda t: t.itl, _FAST_S),
    Latency("teapot_load_e2e_seconds", "From t_sent to the last output.", lambda t: t.e2e, _SLOW_S),
    Latency(
        "teapot_load_lag_seconds",
        "How late the generator sent, against its timetable.",
        lambda t: t.lag,
        _LAG_S,
    ),
)
_ENDED = "Measured requests that ended, by outcome."
COUNTS = (
    Count("teapot_load_requests", "counter", _ENDED, lambda t: t.ok, "ok"),
    Count("teapot_load_requests", "counter", _ENDED, lambda t: t.failed, "failed"),
    Count("teapot_load_requests", "counter", _ENDED, lambda t: t.cut, "cut"),
    Count(
        "teapot_load_good_requests",
        "counter",
        "Those that met every objective; absent without objectives.",
        lambda t: t.good if t.judged else None,
    ),
    Count("teapot_load_output_tokens", "counter", "Tokens of complete answers.", lambda t: t.output_tokens),
    Count(
        "teapot_load_goodput_ratio",
        "gauge",
        "Good requests / ended ones so far, 0 to 1; absent before the first, and without objectives.",
        lambda t: t.goodput_ratio,
    ),
)
WHOLES = (
    Whole("teapot_load_requests_sent", "counter", "Requests sent, warm-up too.", lambda live: live.sent),
    Whole(
        "teapot_load_in_flight", "gauge", "Requests sent and not yet answered.", lambda live: live.in_flight
    ),
    Whole(
        "teapot_load_unread", "gauge", "Answers that ended and are not read yet.", lambda live: live.unread
    ),
)
