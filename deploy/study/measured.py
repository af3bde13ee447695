"""What a cell's load run came to, as far as cell.json tells it.

Owns: which counters and gauges are taken out of the run's own files. Knows nothing about arms or intervals.
"""

from __future__ import annotations

from dataclasses import replace

from deploy.study.folder import StudyFolder
from deploy.study.rows import CellRow
from loadgen.server_metrics import increases
from serving.errors import TeapotError

GAUGES = ("kv_cache_usage_max_ratio", "running_max", "waiting_max")


def cell_measured(row: CellRow, folder: StudyFolder) -> CellRow:
    """The row with what its load run says; as it is where there is none, or none that can be read."""
    try:
        summary = folder.load_summary(row)
        if summary is None:
            return row
        counters = increases(folder.load(row).server_samples())
    except TeapotError as error:
        return replace(row, state="failed", error=row.error or str(error))
    server = summary.get("server") or {}
    return replace(
        row,
        valid=summary["valid"],
        reasons=tuple(summary["reasons"]),
        counters=counters,
        gauges={name: float(server[name]) for name in GAUGES if server.get(name) is not None},
        window_s=summary["window_s"],
    )
