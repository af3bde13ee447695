"""What Prometheus answers, as values: samples, series, targets, metadata.

Owns: the shapes of its JSON and what its numbers mean (NaN is no number: None; infinities stay). Knows
nothing about HTTP. Errors of shape are ValueError, KeyError or TypeError; who asked says whose answer it was.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Labels = Mapping[str, str]
_DURATION_PART = re.compile(r"(\d+)(ms|[smhdwy])")
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}


class WrongKind(ValueError):
    """An expression of another kind than was asked for, such as a range vector for an instant query."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one series. `at_s` is Unix time; `value` is None where Prometheus says NaN."""

    labels: Labels
    at_s: float
    value: float | None

    @property
    def finite(self) -> bool:
        """Whether it is a number that can be drawn and compared."""
        return self.value is not None and math.isfinite(self.value)


@dataclass(frozen=True, slots=True)
class Point:
    """One value at one time, within a series."""

    at_s: float
    value: float | None


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one set of labels over a range, oldest first; steps without a sample are absent."""

    labels: Labels
    points: tuple[Point, ...]

    def finite(self) -> tuple[tuple[float, float], ...]:
        """(time, value) of what can be drawn."""
        pairs = ((point.at_s, point.value) for point in self.points)
        return tuple((at, value) for at, value in pairs if value is not None and math.isfinite(value))


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that is scraped. `error` is why the last scrape failed, None where it did not."""

    job: str
    labels: Labels
    url: str
    up: bool
    error: str | None
    scrape_interval_s: float


@dataclass(frozen=True, slots=True)
class Metadata:
    """What an exporter says of a metric family (a counter's name may lack `_total` there)."""

    name: str
    kind: str
    help: str


def number(text: str) -> float | None:
    """A sample's value; None where it is NaN."""
    value = float(text)
    return None if math.isnan(value) else value


def duration_s(text: str) -> float:
    """A duration as Prometheus writes it (`1m30s`, `500ms`) in seconds. Raises: ValueError."""
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(count + unit for count, unit in parts) != text:
        raise ValueError(f"'{text}' is not a duration")
    return sum(int(count) * _UNITS_S[unit] for count, unit in parts)


def read_vector(data: Mapping[str, Any]) -> tuple[Sample, ...]:
    """The answer to an instant query; a scalar becomes one sample without labels."""
    if data["resultType"] == "scalar":
        at_s, text = data["result"]
        return (Sample({}, float(at_s), number(text)),)
    if data["resultType"] != "vector":
        raise WrongKind(f"it gives a {data['resultType']} and not one number a series")
    return tuple(
        Sample(item["metric"], float(item["value"][0]), number(item["value"][1])) for item in data["result"]
    )


def read_matrix(data: Mapping[str, Any]) -> tuple[Series, ...]:
    """The answer to a range query."""
    if data["resultType"] != "matrix":
        raise WrongKind(f"it gives a {data['resultType']} and not numbers over a range")
    return tuple(
        Series(item["metric"], tuple(Point(float(at_s), number(text)) for at_s, text in item["values"]))
        for item in data["result"]
    )


def read_names(data: Sequence[str]) -> tuple[str, ...]:
    """The values of a label, or metrics' names."""
    if not all(isinstance(name, str) for name in data):
        raise ValueError("not all of them are words")
    return tuple(sorted(data))


def read_targets(data: Mapping[str, Any]) -> tuple[Target, ...]:
    """The active targets, by job and address."""
    found = [
        Target(
            job=item["labels"]["job"],
            labels=item["labels"],
            url=item["scrapeUrl"],
            up=item["health"] == "up",
            error=item.get("lastError") or None,
            scrape_interval_s=duration_s(item["scrapeInterval"]),
        )
        for item in data["activeTargets"]
    ]
    return tuple(sorted(found, key=lambda target: (target.job, target.url)))


def read_metadata(data: Mapping[str, Any]) -> Mapping[str, Metadata]:
    """What is known of each metric family; where exporters differ, what the first says."""
    return {name: Metadata(name, rows[0]["type"], rows[0]["help"]) for name, rows in data.items() if rows}
