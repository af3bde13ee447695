"""The parts of a run in the report: its stages, its steady part, and whether the load piled up.

Owns: their table, marks and sentences. Knows nothing about charts.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from loadgen.report.figures import UNKNOWN, duration, rate, share
from loadgen.report.sections import table

_VERDICTS = {"steady": "steady", "growing": "piled up", "unknown": "too short to tell"}


def stage_marks(summary: Mapping[str, Any]) -> tuple[tuple[float, str], ...]:
    """(seconds from the start, words) of each stage."""
    return tuple((stage["from_s"], stage_words(stage)) for stage in summary["by_stage"])


def stage_words(stage: Mapping[str, Any]) -> str:
    """What was asked of a stage: `4/s`, `2/s to 8/s`, `16 users`."""
    if stage["concurrency"] is not None:
        return f"{stage['concurrency']} users"
    begin, end = stage["rate"]["from"], stage["rate"]["to"]
    return f"{begin:g}/s" if begin == end else f"{begin:g}/s to {end:g}/s"


def stage_table(summary: Mapping[str, Any]) -> str:
    """A heading and one row for each stage; empty where there are none."""
    if not summary["by_stage"]:
        return ""
    columns = (
        "stage",
        "from",
        "sent/s",
        "ok",
        "failed",
        "cut",
        "in flight",
        "goodput",
        "TTFT",
        "TPOT",
        "E2E",
        "load",
    )
    rows = []
    for stage in summary["by_stage"]:
        found = stage["saturation"]
        times = [
            f"{duration(stage[key]['p50'])}<small>p95 {duration(stage[key]['p95'])}</small>"
            for key in ("ttft_s", "tpot_s", "e2e_s")
        ]
        rows.append(
            [
                escape(stage_words(stage)),
                f"{stage['from_s']:g} s",
                rate(stage["sent_per_s"]),
                *(str(stage[name]) for name in ("ok", "failed", "cut")),
                rate(stage["in_flight_mean"]),
                share(stage["goodput_ratio"]),
                *times,
                _VERDICTS[found["verdict"]] if found else UNKNOWN,
            ]
        )
    return (
        "<h2>By stage</h2>"
        + table(columns, rows, label="By stage")
        + '<p class="soft">Of the requests meant for the stage, whenever they ended.'
        " TTFT, TPOT and E2E are medians.</p>"
    )


def saturation_line(summary: Mapping[str, Any]) -> str:
    """Whether the load piled up and what was steady, in words; empty where neither is known."""
    found, steady = summary["saturation"], summary["steady"]
    words = []
    if found is not None and found["verdict"] == "growing":
        words.append(
            f"<strong>Past capacity:</strong> {rate(found['arrived_per_s'])} requests/s arrived and"
            f" {rate(found['ended_per_s'])}/s ended, so they piled up and latencies grew for as long"
            " as the run lasted."
        )
    elif found is not None and found["verdict"] == "steady":
        words.append("The number in flight did not grow: the server kept up.")
    if steady is not None:
        words.append(
            f"Steady from {steady['from_s']:.1f} s to {steady['to_s']:.1f} s:"
            f" {rate(steady['requests_per_s'])} requests/s,"
            f" {rate(steady['output_tokens_per_s'])} output tokens/s,"
            f" {rate(steady['in_flight_mean'])} in flight on average."
        )
    css = "verdict invalid" if found is not None and found["verdict"] == "growing" else "verdict plain"
    return f'<div class="{css}">{" ".join(words)}</div>' if words else ""
