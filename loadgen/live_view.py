"""A run under way as figures: what the terminal's line, live.json and the web tab show.

Owns: which figures, over which time, and the line. Knows nothing about where they appear. Percentiles
are withheld while n is too small for them, as in the summary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadgen.live import LATENCIES, Live, Tally
from loadgen.stats.histogram import Histogram

View = Mapping[str, Any]
NONE = "-"
ENOUGH = {50: 6, 95: 93, 99: 473}
"""From which n a percentile has a 95 % interval of order statistics (docs/measurement.md). The summary
computes the intervals; this looks each second, in a process that must not be kept."""


def view(live: Live, *, before: Live, over_s: float, elapsed_s: float) -> View:
    """The figures of now; rates are the increase since `before`, `over_s` seconds ago."""
    total, earlier = live.total(), before.total()
    return {
        "elapsed_s": elapsed_s,
        "sent": live.sent,
        "in_flight": live.in_flight,
        "unread": live.unread,
        "warmup": live.warmup,
        "sent_per_s": (live.sent - before.sent) / over_s,
        "ended_per_s": (total.ended - earlier.ended) / over_s,
        "output_tokens_per_s": (total.output_tokens - earlier.output_tokens) / over_s,
        **_figures(total),
        "by_kind": {kind: _figures(tally) for kind, tally in live.by_kind().items()},
    }


def _figures(tally: Tally) -> dict[str, Any]:
    counts = {name: getattr(tally, name) for name in ("ok", "failed", "cut")}
    counts["good"] = tally.good if tally.judged else None
    latencies = {f"{name}_s": _latency(getattr(tally, name)) for name in LATENCIES}
    return counts | {"goodput_ratio": tally.goodput_ratio} | latencies


def _latency(histogram: Histogram) -> dict[str, Any]:
    percentiles = {
        f"p{percent}": histogram.quantile_s(percent) if histogram.n >= enough else None
        for percent, enough in ENOUGH.items()
    }
    return {"n": histogram.n, "mean": histogram.mean_s, "max": histogram.max_s, **percentiles}


def line(shown: View) -> str:
    """One line for a terminal."""
    failed = f", {shown['failed']} failed" if shown["failed"] else ""
    ratio = shown["goodput_ratio"]
    good = "" if ratio is None else f" | good {_percent(ratio)}"
    return (
        f"{shown['elapsed_s']:.0f} s: {shown['sent_per_s']:.1f}/s sent, {shown['in_flight']} in flight,"
        f" {shown['ok']} ok{failed}"
        f" | TTFT {_ms(shown, 'ttft_s', 'p50')} p95 {_ms(shown, 'ttft_s', 'p95')}"
        f" | TPOT {_ms(shown, 'tpot_s', 'p50')}"
        f" | {shown['output_tokens_per_s']:.0f} tok/s"
        f" | lag {_ms(shown, 'lag_s', 'max')}{good}"
    )


def _ms(shown: View, name: str, part: str) -> str:
    value = shown[name][part]
    return NONE if value is None else f"{value * 1e3:.1f} ms"


def _percent(ratio: float | None) -> str:
    return NONE if ratio is None else f"{ratio:.0%}"


COLUMNS = (
    ("name", "Kind"),
    ("ok", "OK"),
    ("failed", "Failed"),
    ("ttft_p50", "TTFT p50 (ms)"),
    ("ttft_p95", "TTFT p95 (ms)"),
    ("tpot_p50", "TPOT p50 (ms)"),
    ("tpot_p95", "TPOT p95 (ms)"),
    ("itl_p50", "ITL p50 (ms)"),
    ("itl_p99", "ITL p99 (ms)"),
    ("e2e_p95", "E2E p95 (ms)"),
    ("lag_max", "Lag max (ms)"),
    ("goodput", "Goodput"),
)
"""The columns of the table by kind: key and title."""


def rows(shown: View) -> list[dict[str, Any]]:
    """The table by kind, all kinds together last, with values as texts under the keys of `COLUMNS`."""
    kinds: Mapping[str, View] = shown["by_kind"]
    named = [*kinds.items(), ("all", shown)]
    return [{"name": name, **_row(figures)} for name, figures in named]


def _row(figures: View) -> dict[str, Any]:
    row: dict[str, Any] = {"ok": figures["ok"], "failed": figures["failed"]}
    for key, _ in COLUMNS:
        name, _, part = key.rpartition("_")
        if name:
            value = figures[f"{name}_s"][part]
            row[key] = NONE if value is None else f"{value * 1e3:.3f}"
    return row | {"goodput": _percent(figures["goodput_ratio"])}
