"""The parts of the report that are words and tables: verdict, tiles, tables, definitions.

Owns: their HTML. Knows nothing about charts. Every text from outside passes `html.escape` here.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from loadgen.report.figures import (
    LATENCIES,
    UNKNOWN,
    Unit,
    duration,
    latency,
    limit,
    rate,
    requests_line,
    share,
    unit_of,
)
from loadgen.stats import definitions, goodput, intervals, quantiles, window

_TERMS = (
    ("TTFT", definitions.ttft_s),
    ("TTFT from intended", definitions.ttft_from_intended_s),
    ("TTFO", definitions.ttfo_s),
    ("TPOT", definitions.tpot_s),
    ("ITL", definitions.itl_gaps_s),
    ("inter-chunk", definitions.inter_chunk_gaps_s),
    ("E2E", definitions.e2e_s),
    ("tokens per chunk", definitions.tokens_per_chunk),
    ("schedule lag", definitions.schedule_lag_s),
    ("goodput", goodput.goodput),
    ("window", window.window_s),
    ("percentile", quantiles.sample_quantile),
    ("interval of a percentile", intervals.percentile_ranks),
    ("interval of a ratio", intervals.wilson),
)
"""Each term with the function that defines it: its docstring is the definition, here as in the code."""


def verdict(summary: Mapping[str, Any]) -> str:
    """Whether to believe the numbers, and if not why."""
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in summary["reasons"])
    if summary["valid"]:
        return (
            '<div class="verdict"><strong>\u2713 Valid measurement.</strong> '
            f"{escape(requests_line(summary['requests']))}.</div>"
        )
    return (
        '<div class="verdict invalid"><strong>\u2717 Not a valid measurement.</strong> '
        f"Do not use these numbers: <ul>{reasons}</ul>"
        f'<p class="soft">{escape(requests_line(summary["requests"]))}.</p></div>'
    )


def tiles(summary: Mapping[str, Any]) -> str:
    """The key numbers, each with what bounds it."""
    shown = [
        _latency_tile(name, summary[key])
        for key, name in (("ttft_s", "TTFT"), ("tpot_s", "TPOT"), ("e2e_s", "E2E"))
    ]
    found = summary["goodput"]
    if found["ratio"] is not None:
        low, high = found["ci95"]
        limits = ", ".join(
            f"{name.upper()} \u2264 {limit(slo['limit_s'])}" for name, slo in found["by_slo"].items()
        )
        shown.append(("goodput", share(found["ratio"]), f"{share(low)} to {share(high)}; {limits}"))
    server = summary["server"]
    if server and server["client_minus_server_ttft_s"] is not None:
        client, engine = duration(summary["ttft_s"]["mean"]), duration(server["ttft_mean_s"])
        residue = duration(server["client_minus_server_ttft_s"])
        shown.append(("TTFT outside the engine", residue, f"client mean {client} \u2212 server {engine}"))
    per_chunk = f"{rate(summary['tokens_per_chunk'])} tokens per chunk"
    shown.append(("output tokens/s", rate(summary["output_tokens_per_s"]), per_chunk))
    asked = summary["rate"]["requested"]
    wanted = f"{rate(asked)}/s asked" if asked is not None else "closed loop"
    shown.append(
        (
            "requests/s",
            rate(summary["requests_per_s"]),
            f"{wanted}, {rate(summary['rate']['achieved'])}/s sent",
        )
    )
    return (
        '<dl class="tiles">'
        + "".join(
            f'<div class="tile"><dt>{escape(name)}</dt><dd><span class="big">{escape(big)}</span>'
            f'<div class="soft">{escape(small)}</div></dd></div>'
            for name, big, small in shown
        )
        + "</dl>"
    )


def _latency_tile(name: str, sample: Mapping[str, Any]) -> tuple[str, str, str]:
    if sample["p50"] is None:
        return f"{name} mean", duration(sample["mean"]), f"n {sample['n']}: too small for p50"
    tail = (
        f"p95 {duration(sample['p95'])}"
        if sample["p95"] is not None
        else f"p95 needs n \u2265 {intervals.SMALLEST_N[95]}"
    )
    return f"{name} p50", duration(sample["p50"]), tail


def latencies(summary: Mapping[str, Any]) -> str:
    """Every distribution with its intervals."""
    columns = ("", "n", "mean", "p50", "p90", "p95", "p99", "max")
    rows = [_latency_row(name, summary[key]) for key, name in LATENCIES if summary[key]["n"]]
    needs = ", ".join(f"p{percent} {n}" for percent, n in intervals.SMALLEST_N.items())
    return (
        table(columns, rows, label="Latencies")
        + f'<p class="soft">Small: 95 % interval. {UNKNOWN}: n is too small for one; needed are {needs}.</p>'
    )


def _latency_row(name: str, sample: Mapping[str, Any]) -> list[str]:
    unit = unit_of(sample)
    cells = [f"{escape(name)}, {unit}", str(sample["n"]), latency(sample["mean"], unit)]
    cells += [_with_interval(sample, f"p{percent}", unit) for percent in quantiles.PERCENTS]
    return [*cells, latency(sample["max"], unit)]


def _with_interval(sample: Mapping[str, Any], key: str, unit: Unit) -> str:
    interval = sample["ci95"][key]
    if interval is None:
        return UNKNOWN
    low, high = interval
    return f"{latency(sample[key], unit)}<small>{latency(low, unit)} \u2013 {latency(high, unit)}</small>"


def kinds(summary: Mapping[str, Any]) -> str:
    """One row for each kind of prompt: the median of each latency, its mean below."""
    counted = ("sent", "ok", "failed", "cut")
    columns = ("kind", *counted, "goodput", "prompt tokens", "output tokens", "TTFT", "TPOT", "E2E")
    rows = []
    for kind, of in summary["by_kind"].items():
        counts = [*(str(of[name]) for name in counted), share(of["goodput_ratio"])]
        tokens = [rate(of[name]) for name in ("prompt_tokens", "output_tokens")]
        times = [
            f"{duration(of[key]['p50'])}<small>mean {duration(of[key]['mean'])}</small>"
            for key in ("ttft_s", "tpot_s", "e2e_s")
        ]
        rows.append([escape(kind), *counts, *tokens, *times])
    return (
        table(columns, rows, label="By kind of prompt")
        + '<p class="soft">Tokens are means. TTFT, TPOT and E2E are medians.</p>'
    )


def errors(summary: Mapping[str, Any]) -> str:
    """The commonest error texts; empty where there was none."""
    if not summary["errors"]:
        return ""
    rows = [[str(error["count"]), f"<code>{escape(error['text'])}</code>"] for error in summary["errors"]]
    return "<h2>Errors</h2>" + table(("count", "text"), rows, label="Errors", text={1})


def notes(summary: Mapping[str, Any]) -> str:
    """What a reader must know about these numbers; empty where there is nothing."""
    items = "".join(f"<li>{escape(note)}</li>" for note in summary["notes"])
    return f'<h2>Notes</h2><ul class="notes">{items}</ul>' if items else ""


def pairs(title: str, values: Mapping[str, Any]) -> str:
    """A heading and a table of names and values, nested names joined by dots, unknown ones left out."""
    rows = [[escape(name), f"<code>{escape(value)}</code>"] for name, value in _flat(values)]
    return f"<h2>{escape(title)}</h2>" + table((), rows, label=title, text={1}, css="pairs") if rows else ""


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", _value(value)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value)) or UNKNOWN
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def terms() -> str:
    """What each number means, from the code that computes it."""
    items = "".join(
        f"<dt>{escape(name)}</dt><dd>{_definition(function.__doc__)}</dd>" for name, function in _TERMS
    )
    return f'<h2>What the numbers mean</h2><dl class="terms">{items}</dl>'


def _definition(docstring: str | None) -> str:
    first = " ".join((docstring or "").split("\n\n")[0].split())
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(first))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    label: str,
    text: Container[int] = (),
    css: str = "",
) -> str:
    """A table that scrolls sideways where it is too wide. Cells are HTML; columns and label are text.

    Cells of the columns in `text` are words, which wrap, and not numbers.
    """

    def css_of(index: int) -> str:
        return ' class="text"' if index in text else ""

    head = "".join(f'<th scope="col"{css_of(i)}>{escape(column)}</th>' for i, column in enumerate(columns))
    body = []
    for first, *rest in rows:
        cells = "".join(f"<td{css_of(i)}>{cell}</td>" for i, cell in enumerate(rest, start=1))
        body.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(label)}"><table class="{css}">'
        f"{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{''.join(body)}</tbody></table></div>"
    )
