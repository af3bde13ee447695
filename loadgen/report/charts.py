"""The charts of the report, drawn by hand as SVG.

Owns: the frame of a plot, the cumulative distribution, the timeline, in-flight and TTFT over time.
Knows nothing about the page around them. The plot itself is an SVG stretched to the width at hand,
and the words are HTML beside it, so that they stay readable on a telephone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from loadgen.records import RequestRecord
from loadgen.report.figures import duration, limit
from loadgen.report.lanes import Lanes, in_flight
from loadgen.report.scales import PLOT, Scale, fitting, linear
from loadgen.stats.definitions import ttft_s

_MOST_POINTS = 600
_NS_PER_S = 1e9


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
        f' preserveAspectRatio="none">{grid}{body}{lines}</svg>'
        f'<div class="y" aria-hidden="true">{y_words}</div>'
        f'<div class="x" aria-hidden="true">{x_words}</div></div>'
        f'<p class="axis below">{escape(frame.x_label)}</p></div>'
    )


def _mark_label(row: int, x: float, label: str, css: str) -> str:
    """A mark's label in a row of its own above the plot, so that close marks do not overprint each other."""
    side = " left" if x > PLOT * 0.6 else ""
    place = f"left:{x / 10:.2f}%;top:{row * 1.25:.2f}em"
    return f'<span class="{css}{side}" style="{place}">{escape(label)}</span>'


def _time_ticks(scale: Scale) -> list[tuple[float, str]]:
    """Ticks of a scale in seconds, in ms where all of it is below a second."""
    factor = 1.0 if scale.high >= 1.0 else 1e3
    return [(scale.at(tick), f"{tick * factor:g}") for tick in _rounded(scale.ticks())]


def _rounded(ticks: Iterable[float]) -> list[float]:
    return [float(f"{tick:.6g}") for tick in ticks]


def _unit(scale: Scale) -> str:
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
            x_label=f"{name}, {_unit(scale)}{', logarithmic' if scale.log else ''}",
            x_ticks=_time_ticks(scale),
            y_ticks=[(PLOT * part / 100, f"{part} %") for part in (0, 25, 50, 75, 100)],
            y_label="share of complete answers",
            marks=marks,
        ),
    )


def timeline(records: Sequence[RequestRecord], *, start_ns: int, end_s: float) -> str:
    """Each request from sent to end, stacked as they overlapped.

    Thin up to the first token, thick from there. Failed and cut requests are outlined and end in a bar.
    """
    lanes = Lanes.of(records)
    scale = linear(end_s)
    tall = PLOT / max(1, lanes.count)

    def place(stamp_ns: int) -> float:
        return scale.at((stamp_ns - start_ns) / _NS_PER_S)

    bars: list[str] = []
    for record, lane in lanes.placed:
        sent, end, top = place(record.t_sent_ns), place(record.t_end_ns), lane * tall
        first = place(record.output_ns[0]) if record.output_ns else end
        css = "" if record.outcome == "ok" else " bad"
        bars.append(_bar("wait" + css, sent, first, top + tall * 0.34, tall * 0.32))
        bars.append(_bar("stream" + css, first, end, top + tall * 0.1, tall * 0.8))
        if record.outcome != "ok":
            bars.append(f'<path class="stop" d="M{end:.1f} {top:.1f}V{top + tall:.1f}"/>')
    bad = sum(record.outcome != "ok" for record in records)
    return framed(
        "".join(bars),
        Frame(
            says=f"Timeline of {len(records)} requests over {duration(end_s)}: at most {lanes.count} at once,"
            f" {bad} failed or cut",
            x_label="seconds since the measured phase began",
            x_ticks=_seconds_ticks(scale),
            y_label="requests, stacked as they overlapped",
            height_px=min(420, max(120, 14 * lanes.count)),
        ),
    )


def _bar(css: str, left: float, right: float, top: float, height: float) -> str:
    if right <= left:
        return ""
    return (
        f'<rect class="{css}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{height:.1f}"/>'
    )


def _seconds_ticks(scale: Scale) -> list[tuple[float, str]]:
    return [(scale.at(tick), f"{tick:g}") for tick in _rounded(scale.ticks())]


def concurrency(records: Sequence[RequestRecord], *, start_ns: int, end_s: float) -> str:
    """How many requests were in flight, over time."""
    steps = in_flight(records)
    x, most = linear(end_s), max((count for _, count in steps), default=0)
    y = linear(float(most))
    moves = "".join(
        f"H{x.at((stamp - start_ns) / _NS_PER_S):.1f}V{PLOT - y.at(count):.1f}" for stamp, count in steps
    )
    line = f"M0 {PLOT:.0f}{moves}"
    return framed(
        f'<path class="area" d="{line}V{PLOT:.0f}Z"/><path class="line" d="{line}"/>',
        Frame(
            says=f"Requests in flight over time, at most {most}",
            x_label="seconds since the measured phase began",
            x_ticks=_seconds_ticks(x),
            y_ticks=[(y.at(tick), f"{tick:g}") for tick in y.ticks() if tick == int(tick)],
            y_label="requests in flight",
            height_px=120,
        ),
    )


def ttft_over_time(
    records: Sequence[RequestRecord], *, start_ns: int, end_s: float, slo_s: float | None
) -> str:
    """TTFT of each complete answer at the moment it was sent, with the objective as a line."""
    points = [(record.t_sent_ns, value) for record in records if (value := ttft_s(record)) is not None]
    if not points:
        return '<p class="empty">No answer has a TTFT.</p>'
    x, y = linear(end_s), fitting(min(v for _, v in points), max(slo_s or 0.0, *(v for _, v in points)))
    dots = "".join(
        f"M{x.at((stamp - start_ns) / _NS_PER_S):.1f} {PLOT - y.at(value):.1f}h0" for stamp, value in points
    )
    line = f'<path class="mark slo" d="M0 {PLOT - y.at(slo_s):.1f}H{PLOT:.0f}"/>' if slo_s is not None else ""
    over = (
        f", {sum(v > slo_s for _, v in points)} above the SLO of {limit(slo_s)}" if slo_s is not None else ""
    )
    return framed(
        f'<path class="dots" d="{dots}"/>{line}',
        Frame(
            says=f"TTFT over time of {len(points)} answers{over}",
            x_label="seconds since the measured phase began",
            x_ticks=_seconds_ticks(x),
            y_ticks=_time_ticks(y),
            y_label=f"TTFT, {_unit(y)}{', logarithmic' if y.log else ''}"
            + (f"; dashed: SLO {limit(slo_s)}" if slo_s is not None else ""),
            height_px=180,
        ),
    )
