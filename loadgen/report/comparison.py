"""A comparison made readable, as markdown that reads well in a terminal too.

Owns: its layout. Knows nothing about how verdicts come about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loadgen.report.figures import UNKNOWN, Unit, latency, rate, share
from loadgen.stats.metrics import METRICS, Metric

_BY_NAME = {metric.name: metric for metric in METRICS}
_COLUMNS = ("metric", "A", "B", "change", "90 % interval", "counts from", "verdict")
_MARKS = {"worse": "**worse**", "inconclusive": "?", "not judged": UNKNOWN}


def markdown(comparison: Mapping[str, Any]) -> str:
    """Lay out the JSON form of a comparison: the verdict first, then the table, then what to know."""
    lines = [f"## {comparison['verdict'].capitalize()}", ""]
    for side, folders in comparison["sides"].items():
        lines.append(f"{side.upper()}: {', '.join(folders)}  ")
    if comparison["metrics"]:
        lines += ["", *_table(comparison["metrics"])]
    lines += _list("Why", [*comparison["reasons"], *_undecided(comparison["metrics"])])
    lines += _list("Notes", comparison["notes"])
    return "\n".join(lines)


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    cells = [_COLUMNS, *(_cells(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_COLUMNS))]

    def line(row: Sequence[str]) -> str:
        first, *rest = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        return "| " + " | ".join([first, *rest]) + " |"

    yield line(cells[0])
    yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    yield from map(line, cells[1:])


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    metric = _BY_NAME[row["metric"]]
    unit: Unit = "s" if (row["a"] or 0.0) >= 1.0 else "ms"
    change = row["change_ratio"]
    interval = row["interval90"]
    return (
        f"{metric.label}{_unit(metric, unit)}",
        _number(metric, row["a"], unit),
        _number(metric, row["b"], unit),
        UNKNOWN if row["change"] is None else f"{change:+.1%}" if _by_ratio(metric, change) else _points(row),
        UNKNOWN if interval is None else " to ".join(_signed(metric, end, unit) for end in interval),
        UNKNOWN if row["floor"] is None else _number(metric, row["floor"], unit),
        _MARKS.get(row["verdict"], row["verdict"]),
    )


def _by_ratio(metric: Metric, change: float | None) -> bool:
    return metric.kind != "ratio" and change is not None


def _points(row: Mapping[str, Any]) -> str:
    return f"{row['change'] * 100:+.1f} points"


def _unit(metric: Metric, unit: Unit) -> str:
    return f", {unit}" if metric.kind == "latency" else ""


def _number(metric: Metric, value: float | None, unit: Unit) -> str:
    if metric.kind == "latency":
        return latency(value, unit)
    return share(value) if metric.kind == "ratio" else rate(value)


def _signed(metric: Metric, value: float, unit: Unit) -> str:
    if metric.kind == "ratio":
        return f"{value * 100:+.1f} points"
    return ("+" if value > 0 else "") + _number(metric, value, unit)


def _undecided(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        if row["verdict"] in ("inconclusive", "not judged"):
            yield f"{_BY_NAME[row['metric']].label}: {row['why']}"


def _list(title: str, items: Sequence[str]) -> list[str]:
    return ["", f"{title}:", *(f"- {item}" for item in items)] if items else []
