"""The charts of the report, drawn by hand as SVG.

Owns: the frame of a plot and the cumulative distribution; what goes over time is in `over_time.py`.
Knows nothing about the page around them. The plot itself is an SVG stretched to the width at hand,
and the words are HTML beside it, so that they stay readable on a telephone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from loadgen.report.figures import duration, limit
from loadgen.report.scales import PLOT, Scale, fitting

_MOST_POINTS = 600


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds a plot. `says` is its text alternative; tick labels are taken as they are."""

    says: str
    x_label: str
    x_ticks: Sequence[tuple[float, str]]
    y_label: str
    y_ticks: Sequence[tuple[float, str]] = ()
    marks: Sequence[tuple[float, str, str]] = ()
    """Vertical lines: place, label, CSS class."""
    height_px: int = 220
    over: str = ""
    """HTML that lies over the plot, such as points that must not be stretched with it."""


def framed(body: str, frame: Frame) -> str:
    """Put axes, marks and the text alternative around the inside of a plot."""
    grid = "".join(f'<path class="grid" d="M0 {PLOT - y:.1f}H{PLOT:.0f}"/>' for y, _ in frame.y_ticks)
    lines = "".join(f'<path class="mark {css}" d="M{x:.1f} 0V{PLOT:.0f}"/>' for x, _, css in frame.marks)
    rows = "".join(_mark_label(row, *mark) for row, mark in enumerate(frame.marks))
    y_words = "".join(
        f'<span style="bottom:{y / 10:.2f}%">{escape(text)}</span>' for y, text in frame.y_ticks
    )
    x_words = "".join(f'<span style="left:{x / 10:.2f}%">{escape(text)}</span>' for x, text in frame.x_ticks)
    marks = f'<div class="marks" style="height:{len(frame.marks) * 1.25:.2f}em">{rows}</div>' if rows else ""
    return (
        f'<div class="chart"><p class="axis">{escape(frame.y_label)}</p>{marks}'
        f'<div class="plot" style="height:{frame.height_px}px">'
        f'<svg role="img" aria-label="{escape(frame.says)}" viewBox="0 0 {PLOT:.0f} {PLOT:.0f}"'
        f' preserveAspectRatio="none">{grid}{body}{lines}</svg>{frame.over}'
        f'<div class="y" aria-hidden="true">{y_words}</div>'
        f'<div class="x" aria-hidden="true">{x_words}</div></div>'
        f'<p class="axis below">{escape(frame.x_label)}</p></div>'
    )


def _mark_label(row: int, x: float, label: str, css: str) -> str:
    """A mark's label in a row of its own above the plot, so that close marks do not overprint each other."""
    side = " left" if x > PLOT * 0.6 else ""
    place = f"left:{x / 10:.2f}%;top:{row * 1.25:.2f}em"
    return f'<span class="{css}{side}" style="{place}">{escape(label)}</span>'


def latency_ticks(scale: Scale) -> list[tuple[float, str]]:
    """Ticks of a scale in seconds, in ms where all of it is below a second."""
    factor = 1.0 if scale.high >= 1.0 else 1e3
    return [(scale.at(tick), f"{tick * factor:g}") for tick in rounded(scale.ticks())]


def rounded(ticks: Iterable[float]) -> list[float]:
    """Ticks without the dust of floating point."""
    return [float(f"{tick:.6g}") for tick in ticks]


def unit_of_scale(scale: Scale) -> str:
    """`s` or `ms`, as its ticks are."""
    return "s" if scale.high >= 1.0 else "ms"


def cdf(name: str, values: Sequence[float], sample: Mapping[str, Any], *, slo_s: float | None) -> str:
    """The share of answers with at most that latency, with the percentiles that n allows and the objective.

    `values` are seconds; `sample` is the same distribution in summary.json.
    """
    if not values:
        return f'<p class="empty">No answer has a {escape(name)}.</p>'
    ordered = sorted(values)
    scale = fitting(ordered[0], max(ordered[-1], slo_s or 0.0))
    n = len(ordered)
    picked = sorted({round(i * (n - 1) / (_MOST_POINTS - 1)) for i in range(_MOST_POINTS)}) if n > 1 else [0]
    steps = "".join(f"H{scale.at(ordered[i]):.1f}V{PLOT - PLOT * (i + 1) / n:.1f}" for i in picked)
    path = f"M0 {PLOT:.0f}{steps}H{PLOT:.0f}"
    known = [(f"p{percent}", sample[f"p{percent}"]) for percent in (50, 95, 99)]
    marks = [(scale.at(value), f"{key} {duration(value)}", key) for key, value in known if value is not None]
    if slo_s is not None:
        marks.append((scale.at(slo_s), f"SLO {limit(slo_s)}", "slo"))
    told = ", ".join(f"{key} {duration(value)}" for key, value in known if value is not None)
    return framed(
        f'<path class="line" d="{path}"/>',
        Frame(
            says=f"Cumulative distribution of {name} of {n} answers: {told or 'too few for percentiles'}, "
            f"maximum {duration(ordered[-1])}",
            x_label=f"{name}, {unit_of_scale(scale)}{', logarithmic' if scale.log else ''}",
            x_ticks=latency_ticks(scale),
            y_ticks=[(PLOT * part / 100, f"{part} %") for part in (0, 25, 50, 75, 100)],
            y_label="share of complete answers",
            marks=marks,
        ),
    )
