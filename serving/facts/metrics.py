"""Metrics as data: a name is written once, in metrics.toml, with its type, unit and source.

Owns: the type of a row. Knows nothing about how metrics are exposed, scraped or drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

MetricType = Literal["counter", "gauge", "histogram", "info"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric as it is exposed. A histogram's `name` is without `_bucket`, `_sum` and `_count`."""

    name: str
    type: MetricType
    unit: str
    since: str
    """The first version that is known to expose it as described."""
    source: str
    labels: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """All values of those labels that have only a few."""
    help: str = ""


def parse_metrics(rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Metric]:
    """Give the rows of metrics.toml their type. Raises: TypeError on a wrong or missing column."""
    return {
        key: Metric(
            **{
                **row,
                "labels": tuple(row.get("labels", ())),
                "values": {label: tuple(values) for label, values in row.get("values", {}).items()},
            }
        )
        for key, row in rows.items()
    }
