"""A run folder as the dashboards can compare it: what the client saw, and when by the wall clock.

Owns: which of the summary's numbers are compared. Knows nothing about Prometheus. It stands in deploy, as
the dashboards do not know the load generator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dashboards.agreement import ClientView, Distribution, Latency, Percentile
from loadgen.run_folder import RunFolder
from serving.errors import Failed

LATENCIES: tuple[Latency, ...] = ("ttft", "tpot", "e2e")


def client_view(path: Path) -> ClientView:
    """What the run in this folder measured. Raises: UsageError, and Failed where it sent nothing."""
    folder = RunFolder(path)
    manifest, records = folder.manifest(), folder.records()
    measured = [record for record in records if record.phase == "measure"]
    if not measured:
        raise Failed(
            "no measured request was sent", where=str(path), fix="give a run that measured something"
        )
    origin_ns = manifest.clock["unix_ns"]
    return ClientView(
        run=path.resolve().name,
        began_s=(origin_ns + min(record.t_sent_ns for record in records)) / 1e9,
        measured_s=(origin_ns + min(record.t_sent_ns for record in measured)) / 1e9,
        sent=len(records),
        paths=tuple(sorted({planned.path for planned in folder.timetable()})),
        ends_s=tuple((origin_ns + record.t_end_ns) / 1e9 for record in measured),
        latencies=folder.of_summary(_latencies),
    )


def _latencies(summary: Mapping[str, Any]) -> dict[Latency, Distribution]:
    return {key: seen for key in LATENCIES for seen in _distribution(summary[f"{key}_s"])}


def _distribution(row: Mapping[str, Any]) -> Iterator[Distribution]:
    """None of what nobody measured: TPOT of answers of one token."""
    if row["mean"] is not None:
        yield Distribution(row["mean"], tuple(_percentiles(row)))


def _percentiles(row: Mapping[str, Any]) -> Iterator[Percentile]:
    """Those that the summary has: it leaves out what so few requests cannot tell."""
    for q in (0.5, 0.95, 0.99):
        value, interval = row[f"p{q * 100:g}"], row["ci95"][f"p{q * 100:g}"]
        if value is not None:
            low, high = interval or (value, value)
            yield Percentile(q, value, low, high)
