"""report.html: one file that needs no network and holds everything about one run.

Owns: the order of the page. Knows nothing about files: text in, text out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from loadgen.records import RequestRecord
from loadgen.report import charts, over_time, sections, stages
from loadgen.report.other_tools import other_tools
from loadgen.report.style import STYLE
from loadgen.server_metrics import ServerSample
from loadgen.stats.definitions import tpot_s, ttft_s

MOST_BARS = 1500
"""Requests above which the timeline of bars is left out: it would be a grey wall and megabytes."""
_KEY = (
    '<ul class="key"><li class="thin"><i></i>sent, waiting for the first token</li>'
    '<li><i></i>tokens arriving</li><li class="broken"><i></i>failed or cut</li></ul>'
)


def page(
    summary: Mapping[str, Any],
    records: Sequence[RequestRecord],
    manifest: Mapping[str, Any],
    samples: Sequence[ServerSample] = (),
) -> str:
    """Render the report of a run: its summary.json, all its records, its manifest.json and server.jsonl."""
    measured = [record for record in records if record.phase == "measure"]
    name = str(manifest.get("name") or "load test")
    about = " \u00b7 ".join(
        escape(str(manifest[key])) for key in ("model", "target", "started") if manifest.get(key) is not None
    )
    parts = [
        f'<h1>{escape(name)}</h1><p class="soft">{about}</p>',
        sections.verdict(summary),
        sections.tiles(summary),
        f"<h2>Latencies</h2>{sections.latencies(summary)}",
        f"<h2>Distributions</h2>{_distributions(summary, measured)}",
        f"<h2>Over time</h2>{_over_time(summary, measured, samples)}",
        stages.stage_table(summary),
        f"<h2>By kind of prompt</h2>{sections.kinds(summary)}" if summary["by_kind"] else "",
        sections.errors(summary),
        sections.notes(summary),
        sections.pairs("The server\u2019s own account", summary["server"] or {}),
        sections.terms(),
        other_tools(),
        sections.pairs("How it was run", manifest),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(name)}: load test</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def _distributions(summary: Mapping[str, Any], measured: Sequence[RequestRecord]) -> str:
    ok = [record for record in measured if record.outcome == "ok"]
    figures = []
    for name, measure in (("TTFT", ttft_s), ("TPOT", tpot_s)):
        key = f"{name.lower()}_s"
        values = [value for record in ok if (value := measure(record)) is not None]
        drawn = charts.cdf(name, values, summary[key], slo_s=summary["slo"][key])
        figures.append(f"<figure><h3>{name}</h3>{drawn}</figure>")
    return f'<div class="two">{"".join(figures)}</div>'


def _over_time(
    summary: Mapping[str, Any], measured: Sequence[RequestRecord], samples: Sequence[ServerSample]
) -> str:
    if not measured:
        return '<p class="empty">No request was sent.</p>'
    end_ns = max(record.t_end_ns for record in measured)
    # The window's start is not in the records where the plan set it; its length and end give it back.
    start_ns = end_ns - round((summary["window_s"] or 0.0) * 1e9)
    end_s = max((end_ns - start_ns) / 1e9, 1e-3)
    axis = over_time.TimeAxis(start_ns, end_s, stages.stage_marks(summary))
    ok = [record for record in measured if record.outcome == "ok"]
    bars = f'<p class="empty">Not drawn for more than {MOST_BARS} requests.</p>'
    if len(measured) <= MOST_BARS:
        bars = _KEY + over_time.timeline(measured, axis)
    figures = (
        ("Every request", bars),
        ("In flight", over_time.concurrency(measured, axis)),
        ("TTFT", over_time.ttft_over_time(ok, axis, slo_s=summary["slo"]["ttft_s"])),
        ("In the engines", over_time.server_load(samples, axis)),
        ("KV cache", over_time.kv_usage(samples, axis)),
    )
    told = stages.saturation_line(summary)
    return told + "".join(f"<figure><h3>{title}</h3>{drawn}</figure>" for title, drawn in figures if drawn)
