"""How a number is written: units, digits, and a dash for what is not known.

Owns: the text form of latencies, rates, shares and counts. Knows nothing about tables or pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Unit = Literal["ms", "s"]
UNKNOWN = "-"

LATENCIES = (
    ("ttft_s", "TTFT"),
    ("ttft_from_intended_s", "TTFT from intended"),
    ("ttfo_s", "TTFO"),
    ("tpot_s", "TPOT"),
    ("itl_s", "ITL"),
    ("inter_chunk_s", "inter-chunk"),
    ("e2e_s", "E2E"),
    ("schedule_lag_s", "schedule lag"),
)
"""Every distribution of summary.json with the name people use, in the order they read."""


def unit_of(distribution: Mapping[str, Any]) -> Unit:
    """One unit for a whole row, so that its numbers compare at a glance: seconds from a mean of 1 s."""
    return "s" if (distribution["mean"] or 0.0) >= 1.0 else "ms"


def latency(seconds: float | None, unit: Unit) -> str:
    """A latency without its unit: `12.34` (ms) or `1.234` (s); the number of decimals never changes."""
    if seconds is None:
        return UNKNOWN
    return f"{seconds:.3f}" if unit == "s" else f"{seconds * 1e3:.2f}"


def duration(seconds: float | None) -> str:
    """A latency with a unit of its own: `12.34 ms`, `1.234 s`."""
    if seconds is None:
        return UNKNOWN
    unit: Unit = "s" if abs(seconds) >= 1.0 else "ms"
    return f"{latency(seconds, unit)} {unit}"


def limit(seconds: float) -> str:
    """An objective as its author wrote it: `500 ms`, `1.5 s`."""
    return f"{seconds:g} s" if seconds >= 1.0 else f"{seconds * 1e3:g} ms"


def rate(per_s: float | None) -> str:
    """A rate without its unit: three digits or all before the point."""
    if per_s is None:
        return UNKNOWN
    return f"{per_s:,.0f}" if abs(per_s) >= 100 else f"{per_s:.1f}" if abs(per_s) >= 10 else f"{per_s:.2f}"


def share(ratio: float | None) -> str:
    """A ratio in percent: `91.2 %`; only a full one is written 100 %, and only an empty one 0 %."""
    if ratio is None:
        return UNKNOWN
    if ratio in (0.0, 1.0):
        return f"{ratio:.0%}".replace("%", " %")
    return f"{min(99.9, max(0.1, ratio * 100)):.1f} %"


def requests_line(requests: Mapping[str, int]) -> str:
    """Who was asked and who answered, in one line; zeros that say nothing are left out."""
    parts = [f"{requests['intended']} intended", f"{requests['sent']} sent", f"{requests['ok']} ok"]
    parts += [f"{requests['failed']} failed", f"{requests['cut']} cut"]
    if requests["undefined_tpot"]:
        parts.append(f"{requests['undefined_tpot']} without a TPOT")
    if requests["warmup"]:
        parts.append(f"{requests['warmup']} warm-up before")
    return ", ".join(parts)
