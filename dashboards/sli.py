"""What a service level indicator is, and how most of them are put together.

Owns: the type, and the ways from a metric's key in the facts to PromQL. Knows nothing about any one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from dashboards.promql import Scope, mean, or_zero, quantile, ratio, total_rate
from serving.facts.load import engine_metrics, load_metrics, own_metrics, rollout_metrics

Unit = Literal["seconds", "ratio", "tokens/s", "requests/s", "requests", "tokens", "count"]
Better = Literal["lower", "higher", "neither"]
Ask = Callable[[Scope], str]
"""PromQL for a scope. It has no sample where there is nothing to tell."""


class Summary(Protocol):
    """One number of a histogram: a quantile or its mean."""

    def __call__(self, name: str, scope: Scope, **labels: str) -> str:
        """PromQL for the histogram of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sli:
    """One indicator."""

    key: str
    title: str
    unit: Unit
    better: Better
    help: str
    query: Ask


def own(key: str) -> str:
    """The name of a metric of the gateway's, by its key in the facts."""
    return own_metrics()[key].name


def vllm(key: str) -> str:
    """The name of a metric of vLLM's, by its key in the facts."""
    return engine_metrics()[key].name


def rollout(key: str) -> str:
    """The name of a metric of a rollout's, by its key in the facts."""
    return rollout_metrics()[key].name


def load(key: str) -> str:
    """The name of a metric of the load generator's, by its key in the facts."""
    return load_metrics()[key].name


def _quantile(q: float) -> Summary:
    return lambda name, scope, **labels: quantile(q, name, scope, **labels)


SUMMARIES: Mapping[str, Summary] = {
    "p50": _quantile(0.5),
    "p95": _quantile(0.95),
    "p99": _quantile(0.99),
    "mean": mean,
}
"""What is told of each latency. The mean is exact; quantiles are as fine as the buckets."""


def share(name: str, scope: Scope, part: Mapping[str, str], whole: Mapping[str, str]) -> str:
    """A part of a counter's events, of the whole of them; 0 where the whole is there and the part is not."""
    everything = total_rate(name, scope, **whole)
    return ratio(or_zero(total_rate(name, scope, **whole, **part), everything), everything)
