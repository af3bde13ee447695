"""What two sides are compared by: each metric, which way is better, and what is too small to matter.

Owns: the table of metrics with their floors. Knows nothing about how differences are tested.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from loadgen.records import RequestRecord
from loadgen.stats.definitions import e2e_s, tpot_s, ttft_from_intended_s, ttft_s
from serving.config.units import parse_duration, parse_rate
from serving.errors import UsageError

Kind = Literal["latency", "ratio", "throughput"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of a side.

    A change for the worse counts from the larger of the two floors on, and a pass excludes one by the
    larger of the two limits. Absolute ones are in the metric's own unit: seconds, tokens/s, or a ratio.
    """

    name: str
    label: str
    kind: Kind
    higher_is_better: bool
    floor_ratio: float
    floor_absolute: float
    limit_ratio: float
    limit_absolute: float
    percent: int | None = None
    measure: Callable[[RequestRecord], float | None] | None = None
    """Of a latency."""

    def floor(self, value: float) -> float:
        """The smallest change from `value` that matters."""
        return max(self.floor_ratio * abs(value), self.floor_absolute)

    def limit(self, value: float) -> float:
        """The change from `value` that a pass excludes; never below the floor."""
        return max(self.limit_ratio * abs(value), self.limit_absolute, self.floor(value))


def _latency(
    name: str, label: str, measure: Callable[[RequestRecord], float | None], floors_s: tuple[float, float]
) -> tuple[Metric, Metric]:
    p50, p95 = floors_s
    return (
        Metric(f"{name}.p50", f"{label} p50", "latency", False, 0.05, p50, 0.20, 2 * p50, 50, measure),
        Metric(f"{name}.p95", f"{label} p95", "latency", False, 0.10, p95, 0.30, 2 * p95, 95, measure),
    )


METRICS = (
    *_latency("ttft", "TTFT", ttft_s, (0.005, 0.020)),
    *_latency("ttft_from_intended", "TTFT from intended", ttft_from_intended_s, (0.005, 0.020)),
    *_latency("tpot", "TPOT", tpot_s, (0.001, 0.002)),
    *_latency("e2e", "E2E", e2e_s, (0.020, 0.050)),
    Metric("goodput", "goodput", "ratio", True, 0.0, 0.02, 0.0, 0.10),
    Metric("failed", "failed or cut", "ratio", False, 0.0, 0.01, 0.0, 0.05),
    Metric("output_tokens_per_s", "output tokens/s", "throughput", True, 0.05, 1.0, 0.10, 2.0),
)
"""Every metric there is, in the order of the table, with the default floors (docs/measurement.md)."""
DEFAULT = ("ttft.p50", "ttft.p95", "tpot.p50", "tpot.p95", "e2e.p50", "e2e.p95", "goodput", "failed")
"""Compared where nothing else is asked for; of a closed loop also the throughput, which is a result there."""


def chosen(names: tuple[str, ...], floors: dict[str, tuple[float, float]]) -> tuple[Metric, ...]:
    """The named metrics in the order of the table, with other floors `(ratio, absolute)` where given.

    Raises: UsageError for a name that is none.
    """
    known = {metric.name: metric for metric in METRICS}
    for name in (*names, *floors):
        if name not in known:
            raise UsageError(f"'{name}' is no metric", where="compare", fix=f"choose from {', '.join(known)}")
    picked = (metric for metric in METRICS if metric.name in names)
    return tuple(
        replace(metric, floor_ratio=floors[metric.name][0], floor_absolute=floors[metric.name][1])
        if metric.name in floors
        else metric
        for metric in picked
    )


def parse_floor(text: str) -> tuple[str, tuple[float, float]]:
    """Read `ttft.p50=5%,5ms`: a metric with its floors, in percent and in its own unit.

    The unit of a latency is a duration, of a ratio percent, of a throughput a rate (`10/s`).
    Raises: UsageError.
    """
    name, _, floors = text.partition("=")
    percent, comma, absolute = floors.partition(",")
    (metric,) = chosen((name.strip(),), {})
    try:
        if not comma:
            raise ValueError("one of the two floors is missing")
        return metric.name, (_percent(percent), _ABSOLUTE[metric.kind](absolute.strip()))
    except ValueError as error:
        example = {"latency": "5%,5ms", "ratio": "0%,2%", "throughput": "5%,10/s"}[metric.kind]
        raise UsageError(
            f"'{text}': {error}", where="--floor", fix=f"write it as {metric.name}={example}"
        ) from error


def _percent(text: str) -> float:
    number, sign, rest = text.strip().partition("%")
    if not sign or rest:
        raise ValueError(f"'{text.strip()}' is no percentage")
    return float(number) / 100


_ABSOLUTE: dict[Kind, Callable[[str], float]] = {
    "latency": parse_duration,
    "ratio": _percent,
    "throughput": parse_rate,
}
