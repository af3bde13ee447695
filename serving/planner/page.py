"""A plan as one HTML page without anything from elsewhere: the bar, the chart, the figures, the advice.

Owns: the page. Knows nothing about files: text comes out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from serving.facts.overheads import Overheads
from serving.planner.advise import NO_CHANGE, Advice
from serving.planner.figure import Figure
from serving.planner.figures import figures
from serving.planner.picture import capacity_points, memory_parts
from serving.planner.plan import Plan
from serving.planner.text import question, users_changed, verdict, worded

COLOURS = {"weights": "#3b5b92", "overhead": "#b08a3e", "KV cache": "#4f8f6b", "free": "#dddddd"}
WIDTH, HEIGHT, MARGIN = 720, 260, 60
APART = 40
"""Points that are nearer have one label."""
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;width:100%}
td,th{border-bottom:1px solid #ddd;padding:.25rem .5rem;text-align:left}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}small{color:#666}svg{max-width:100%}"""


def plan_page(
    plan: Plan,
    overheads: Overheads,
    advice: Sequence[Advice],
    measured: Mapping[str, Figure] | None = None,
    *,
    by_keys: bool = False,
) -> str:
    """The whole page; advice as flags of vLLM or, `by_keys`, as keys of a deployment file."""
    named = {**figures(plan, overheads), **(measured or {})}
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td class=n>{_number(figure)}</td><td>{escape(_unit(figure))}</td>"
        f"<td>{figure.kind}</td><td><small>{escape(figure.source)}</small></td></tr>"
        for name, figure in named.items()
    )
    name = escape(plan.ask.shape.name)
    asked = "<br>".join(escape(line) for line in question(plan.ask))
    limits = "".join(f"<li>{escape(limit.what)}</li>" for limit in plan.limits)
    notes = "".join(f"<li>{escape(note)}</li>" for note in plan.ask.shape.notes)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>Plan of {name}</title>'
        f"<style>{STYLE}</style><h1>{name}</h1><p><b>{escape(verdict(plan))}</b></p><p>{asked}</p>"
        f"<ul>{limits}</ul><h2>Memory of a device</h2>{memory_svg(plan)}"
        f"<h2>Users that the KV cache holds, by tokens of each</h2>{capacity_svg(plan)}"
        f"<h2>What would change it, best first (predicted)</h2>{_changes(plan, advice, by_keys=by_keys)}"
        f"{_speculation(plan)}"
        f"<h2>Figures</h2><table><tr><th>name<th class=n>value<th>unit<th>kind<th>source</tr>{rows}</table>"
        + (f"<h2>Notes</h2><ul>{notes}</ul>" if notes else "")
        + "</html>\n"
    )


def _speculation(plan: Plan) -> str:
    if not plan.gains:
        return ""
    rows = "".join(
        f"<tr><td class=n>{gain.batch:,}</td><td class=n>{gain.speedup:.2f}x</td></tr>" for gain in plan.gains
    )
    loss = f"a loss from batch {plan.loss_batch:,}" if plan.loss_batch else "no loss up to batch 1,024"
    return (
        f"<h2>Speculation, by floors</h2><p>{plan.gains[0].tokens_per_step:.2f} tokens a step; {loss}</p>"
        f"<table><tr><th class=n>batch<th class=n>speed-up</tr>{rows}</table>"
    )


def _changes(plan: Plan, advice: Sequence[Advice], *, by_keys: bool) -> str:
    if not advice:
        return f"<p>{'Nothing that is tried.' if plan.fits else NO_CHANGE}</p>"
    rows = "".join(
        f"<tr><td>{escape(each.title)}</td>"
        f"<td><code>{escape(each.keys if by_keys else each.flags)}</code></td>"
        f"<td class=n>{escape(users_changed(each))}</td>"
        f"<td class=n>{_floors(each)}</td><td>{escape(each.risk)}</td></tr>"
        for each in advice
    )
    words = "keys" if by_keys else "flags"
    head = f"<tr><th>change<th>{words}<th class=n>users<th class=n>TPOT floor<th>risk</tr>"
    return f"<table>{head}{rows}</table>"


def _floors(advice: Advice) -> str:
    before, after = advice.decode_floor_before_s, advice.decode_floor_s
    if not before or not after:
        return "-"
    if abs(after / before - 1) < 0.001:
        return "same"
    return f"{before * 1e3:.2f} -&gt; {after * 1e3:.2f} ms"


def memory_svg(plan: Plan) -> str:
    """The stacked bar."""
    total = max(plan.budget.total_bytes, sum(size for _, size in memory_parts(plan)), 1)
    left, parts = 0.0, []
    there = [(name, size) for name, size in memory_parts(plan) if size]
    for number, (name, size) in enumerate(there):
        wide = max(size / total * WIDTH, 2.0)
        parts.append(f'<rect x="{left:.1f}" y="0" width="{wide:.1f}" height="36" fill="{COLOURS[name]}"/>')
        parts.append(
            f'<rect x="{number * 180}" y="48" width="12" height="12" fill="{COLOURS[name]}"/>'
            f'<text x="{number * 180 + 18}" y="59" font-size="13">{name} {size / 1024**3:.2f} GiB</text>'
        )
        left += wide
    tall = 66
    if plan.budget.missing_bytes:
        tall, end = 88, plan.budget.total_bytes / total * WIDTH
        parts.append(
            f'<line x1="{end:.1f}" y1="-2" x2="{end:.1f}" y2="40" stroke="#b00020" stroke-width="3"/>'
            f'<text x="0" y="82" font-size="13" fill="#b00020">the device ends at '
            f"{plan.budget.total_bytes / 1024**3:.2f} GiB, the red line</text>"
        )
    drawn = "".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {tall}" role="img" aria-label="memory of a device">{drawn}</svg>'


def capacity_svg(plan: Plan) -> str:
    """Users against context, both on scales of powers of two. A context at which nobody fits is left out."""
    points = [(tokens, users) for tokens, users in capacity_points(plan) if users]
    if not points:
        return "<p>Nobody fits.</p>"
    first, last = math.log2(points[0][0]), math.log2(max(points[-1][0], points[0][0] + 1))
    top = math.log2(max(users for _, users in points)) or 1.0
    drawn, marks, named = [], [], -WIDTH
    for tokens, users in points:
        x = MARGIN + (math.log2(tokens) - first) / max(last - first, 1e-9) * (WIDTH - 2 * MARGIN)
        y = HEIGHT - 40 - math.log2(users) / top * (HEIGHT - 70)
        drawn.append(f"{x:.1f},{y:.1f}")
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#3b5b92"/>')
        if x - named < APART:
            continue
        named = round(x)
        marks.append(
            f'<text x="{x:.1f}" y="{y - 8:.1f}" font-size="12" text-anchor="middle">{users:,}</text>'
            f'<text x="{x:.1f}" y="{HEIGHT - 18}" font-size="12" text-anchor="middle">{_short(tokens)}</text>'
        )
    line = f'<polyline points="{" ".join(drawn)}" fill="none" stroke="#3b5b92" stroke-width="2"/>'
    axes = (
        f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - 2}" font-size="12" text-anchor="end">tokens of each</text>'
        '<text x="0" y="14" font-size="12">users</text>'
    )
    drawing = line + "".join(marks) + axes
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="users against context">{drawing}</svg>'
    )


def _short(tokens: int) -> str:
    if tokens < 1024:
        return str(tokens)
    return f"{tokens // 1024}k" if tokens % 1024 == 0 else f"{tokens / 1024:.1f}k"


def _number(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    band = ""
    if figure.low is not None and figure.high is not None and figure.low != figure.high:
        band = f"<br><small>{worded(figure.low, figure.unit)} to {worded(figure.high, figure.unit)}</small>"
    return worded(figure.value, figure.unit) + band


def _unit(figure: Figure) -> str:
    """The unit, and for bytes, which are shown in GiB, the exact number of them."""
    if figure.unit == "bytes" and figure.value is not None and worded(figure.value, "bytes").endswith("GiB"):
        return f"{figure.value:,} bytes"
    return "" if figure.unit in ("s", "bytes") else figure.unit
