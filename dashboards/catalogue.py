"""Which series there are on the wire: by name, with type, labels and the values of those that have few.

Owns: how a captured `/metrics`, the facts and the recording rules become one list. Knows nothing about
expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Literal

from prometheus_client.parser import text_string_to_metric_families

from serving.facts.metrics import Metric

Type = Literal["counter", "gauge"]
"""What a sample is: a histogram's buckets, sum and count only grow, so they are counters here."""
JOBS = frozenset({"gateway", "engine", "load", "prometheus"})
TARGET_LABELS: Mapping[str, frozenset[str]] = {
    "gateway": frozenset({"job", "deployment", "instance"}),
    "engine": frozenset({"job", "deployment", "instance", "revision", "role"}),
    "load": frozenset({"job", "deployment", "instance"}),
}
"""As decision 0010 has them."""
_PARTS = ("_bucket", "_sum", "_count")
OPEN = frozenset({"model_name", "engine", "le", "handler", "method", "generation"})
"""Labels of vLLM's whose captured values are not all there can be."""


@dataclass(frozen=True, slots=True)
class Series:
    """What is exposed under one name."""

    type: Type
    labels: frozenset[str]
    values: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """All values of these labels; another one is never exposed."""
    histogram: str | None = None
    """Its histogram's name, if it is a part of one."""


Catalogue = Mapping[str, Series]


def captured(text: str, job: str) -> dict[str, Series]:
    """The series of an exposition, with the labels that the job's targets add."""
    found: dict[str, Series] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.endswith("_created"):
                continue
            base, suffix = _part(sample.name) if family.type in ("histogram", "summary") else (None, "")
            type_: Type = "counter" if suffix or family.type == "counter" else "gauge"
            before = found.get(sample.name) or Series(type_, TARGET_LABELS[job], {}, base)
            few = {label: frozenset({value}) for label, value in sample.labels.items() if label not in OPEN}
            values = {label: before.values.get(label, frozenset()) | new for label, new in few.items()}
            labels = before.labels | sample.labels.keys()
            found[sample.name] = replace(before, labels=labels, values=values)
    # Facts that engines tell as labels (`..._info`) have a value each, which is no word of a list.
    return {name: replace(s, values={}) if name.endswith("_info") else s for name, s in found.items()}


def declared(rows: Iterable[Metric], job: str) -> dict[str, Series]:
    """The series of rows of the facts."""
    found: dict[str, Series] = {}
    for row in rows:
        labels = TARGET_LABELS[job].union(row.labels)
        values = {label: frozenset(words) for label, words in row.values.items()}
        if row.type == "histogram":
            for part in _PARTS:
                more = {"le"} if part == "_bucket" else set()
                found[row.name + part] = Series("counter", labels | more, values, row.name)
        else:
            found[row.name] = Series("counter" if row.type == "counter" else "gauge", labels, values)
    return found


def of_prometheus() -> dict[str, Series]:
    """What Prometheus itself makes."""
    every = frozenset().union(*TARGET_LABELS.values())
    state = {"alertstate": frozenset({"pending", "firing"})}
    return {
        "up": Series("gauge", every, {"job": JOBS}),
        "ALERTS": Series("gauge", every | {"alertname", "alertstate", "severity", "slo"}, state),
    }


def missing(name: str, catalogue: Catalogue) -> str:
    """What to say of a name that is not exposed."""
    histogram = any(series.histogram == name for series in catalogue.values())
    if histogram:
        return (
            f"{name} is a histogram, which has no sample of this name; ask for {name}_bucket, _sum or _count"
        )
    close = [f"{name}_total"] if f"{name}_total" in catalogue else get_close_matches(name, catalogue, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"{name} is not exposed by anything that is scraped{hint}"


def _part(name: str) -> tuple[str | None, str]:
    for part in _PARTS:
        if name.endswith(part):
            return name.removesuffix(part), part
    return None, ""
