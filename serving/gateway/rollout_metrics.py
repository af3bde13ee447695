"""What the gateway was told of a rollout, as metrics.

Owns: which parts of what is told become which series. Knows nothing about rollouts: the controller may be
dead, and then the time at which it last said something shows that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from serving.facts.load import rollout_metrics
from serving.gateway.state import GatewayState

_FIGURES = {
    "step": "step",
    "steps": "steps",
    "weight": "weight_ratio",
    "requests": "requests",
    "min_requests": "min_requests",
    "told": "told_s",
}
"""The document's keys that are numbers, by the row's short name."""


def check_told(document: Mapping[str, Any]) -> None:
    """Refuse what could not be told as metrics. Raises: ValueError."""
    for key in ("revision", "baseline", "strategy", "state"):
        if not isinstance(document.get(key), str):
            raise ValueError(f"{key} is {document.get(key)!r}; give a text")
    for key in _FIGURES.values():
        value = document.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{key} is {value!r}; give a number, or leave it out")
    for key, kind in (("checks", str), ("looks", int)):
        rows = document.get(key, {})
        if not isinstance(rows, dict) or not all(isinstance(value, kind) for value in rows.values()):
            raise ValueError(f"{key} is {rows!r}; give an object of {kind.__name__} by name")


class RolloutMetrics(Collector):
    """The series of the last rollout that the gateway was told of; none of none."""

    def __init__(self, state: GatewayState) -> None:
        self._state = state

    def collect(self) -> Iterable[Metric]:
        """One family a row."""
        told = self._state.rollout
        if told is None:
            return
        revision = told["revision"]
        row = rollout_metrics()["info"]
        labels = {name: told[name] for name in row.labels}
        yield InfoMetricFamily(row.name.removesuffix("_info"), row.help, value=labels)
        states = rollout_metrics()["state"].values["state"]
        yield _gauge("state", (((revision, name), name == told["state"]) for name in states))
        for short, key in _FIGURES.items():
            value = told.get(key)
            if value is not None:
                yield _gauge(short, [((revision,), value)])
        answers = rollout_metrics()["check"].values["answer"]
        checks: Mapping[str, str] = told.get("checks", {})
        yield _gauge(
            "check",
            (
                ((revision, name, answer), answer == said)
                for name, said in checks.items()
                for answer in answers
            ),
        )
        yield from _looks(revision, told.get("looks", {}))


def _looks(revision: str, looks: Mapping[str, int]) -> Iterator[Metric]:
    row = rollout_metrics()["looks"]
    family = CounterMetricFamily(row.name, row.help, labels=row.labels)
    for verdict in row.values["verdict"]:
        family.add_metric((revision, verdict), looks.get(verdict, 0))
    yield family


def _gauge(key: str, samples: Iterable[tuple[tuple[str, ...], float]]) -> GaugeMetricFamily:
    row = rollout_metrics()[key]
    family = GaugeMetricFamily(row.name, row.help, labels=row.labels)
    for labels, value in samples:
        family.add_metric(labels, float(value))
    return family
