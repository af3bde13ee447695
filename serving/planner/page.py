"""A plan as one HTML page without anything from elsewhere: the bar, the chart, the figures, the advice.

Owns: the page. Knows nothing about files: text comes out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from serving.facts.overheads import Overheads
from serving.planner.advise import Advice
from serving.planner.figures import figures
from serving.planner.picture import capacity_points, memory_parts
from serving.planner.plan import Plan
from serving.planner.text import verdict

COLOURS = {"weights": "#3b5b92", "overhead": "#b08a3e", "KV cache": "#4f8f6b", "free": "#dddddd"}
WIDTH, HEIGHT, MARGIN = 720, 260, 60
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;width:100%}
td,th{border-bottom:1px solid #ddd;padding:.25rem .5rem;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}small{color:#666}svg{max-width:100%}"""


def plan_page(plan: Plan, overheads: Overheads, advice: Sequence[Advice]) -> str:
    """The whole page."""
    named = figures(plan, overheads)
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td class=n>{_number(figure.value)}</td><td>{escape(figure.unit)}</td>"
        f"<td>{figure.kind}</td><td><small>{escape(figure.source)}</small></td></tr>"
        for name, figure in named.items()
    )
    changes = "".join(
        f"<tr><td>{escape(each.title)}</td><td><code>{escape(each.flags)}</code></td>"
        f"<td class=n>{each.users_before:,} &rarr; {each.users:,}</td><td>{escape(each.risk)}</td></tr>"
        for each in advice
    )
    name = escape(plan.ask.shape.name)
    limits = "".join(f"<li>{escape(limit.what)}</li>" for limit in plan.limits)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Plan of {name}</title>'
        f"<style>{STYLE}</style><h1>{name}</h1><p><b>{escape(verdict(plan))}</b></p>"
        f"<ul>{limits}</ul><h2>Memory of a device</h2>{memory_svg(plan)}<h2>Users against context</h2>"
        f"{capacity_svg(plan)}<h2>What would change it</h2>"
        f"<table><tr><th>change<th>flags<th>users<th>quality risk</tr>{changes}</table>"
        f"<h2>Figures</h2><table><tr><th>name<th>value<th>unit<th>kind<th>source</tr>{rows}</table>"
        "</html>\n"
    )


def memory_svg(plan: Plan) -> str:
    """The stacked bar."""
    total = max(plan.budget.total_bytes, sum(size for _, size in memory_parts(plan)), 1)
    left, parts = 0.0, []
    for number, (name, size) in enumerate(memory_parts(plan)):
        wide = size / total * WIDTH
        parts.append(f'<rect x="{left:.1f}" y="0" width="{wide:.1f}" height="36" fill="{COLOURS[name]}"/>')
        parts.append(
            f'<rect x="{number * 180}" y="48" width="12" height="12" fill="{COLOURS[name]}"/>'
            f'<text x="{number * 180 + 18}" y="59" font-size="13">{name} {size / 1024**3:.2f} GiB</text>'
        )
        left += wide
    return f'<svg viewBox="0 0 {WIDTH} 66" role="img" aria-label="memory of a device">{"".join(parts)}</svg>'


def capacity_svg(plan: Plan) -> str:
    """Users against context, both on scales of powers of two. A context at which nobody fits is left out."""
    points = [(tokens, users) for tokens, users in capacity_points(plan) if users]
    if not points:
        return "<p>Nobody fits.</p>"
    first, last = math.log2(points[0][0]), math.log2(max(points[-1][0], points[0][0] + 1))
    top = math.log2(max(users for _, users in points)) or 1.0
    drawn, marks = [], []
    for tokens, users in points:
        x = MARGIN + (math.log2(tokens) - first) / max(last - first, 1e-9) * (WIDTH - 2 * MARGIN)
        y = HEIGHT - 40 - math.log2(users) / top * (HEIGHT - 70)
        drawn.append(f"{x:.1f},{y:.1f}")
        marks.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#3b5b92"/>'
            f'<text x="{x:.1f}" y="{y - 8:.1f}" font-size="12" text-anchor="middle">{users:,}</text>'
            f'<text x="{x:.1f}" y="{HEIGHT - 18}" font-size="12" text-anchor="middle">{_short(tokens)}</text>'
        )
    line = f'<polyline points="{" ".join(drawn)}" fill="none" stroke="#3b5b92" stroke-width="2"/>'
    drawing = line + "".join(marks)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="users against context">{drawing}</svg>'
    )


def _short(tokens: int) -> str:
    return f"{tokens // 1024}k" if tokens >= 1024 else str(tokens)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
