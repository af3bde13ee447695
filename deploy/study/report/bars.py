"""Bars with intervals, one a line: the page's charts of one figure of several arms.

Owns: bars, whiskers, stacked parts, ratios as points about 1. Knows nothing about what is drawn. They are
HTML, not SVG: names stay readable at any width, and on paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from deploy.study.report.looks import colour
from deploy.study.results import Tag
from loadgen.report.scales import Scale, linear


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar. `low` and `high` are None without an interval."""

    name: str
    value: float
    words: str
    """Its value, as it stands beside it."""
    tip: str
    low: float | None = None
    high: float | None = None
    tag: Tag = "measured"
    look: int = 1
    """0 is the control's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Bars under one heading; an empty name has none."""

    name: str
    bars: tuple[Bar, ...]


def bars(groups: Sequence[Group], *, says: str, high: float | None = None) -> str:
    """Bars from 0 to the highest end of an interval, or to `high`."""
    most = max(bar.high if bar.high is not None else bar.value for group in groups for bar in group.bars)
    scale = Scale(0.0, high) if high is not None else linear(most)
    return _chart(groups, says, lambda bar: _bar(bar, scale), "bars")


def ratios(groups: Sequence[Group], *, says: str) -> str:
    """Points about a line at 1, on a logarithmic scale: twice and half are equally far from it."""
    all_bars = [bar for group in groups for bar in group.bars]
    ends = [end for bar in all_bars for end in (bar.low, bar.value, bar.high) if end is not None]
    reach = max(1.1, *(max(end, 1 / end) for end in ends if end > 0)) * 1.04
    scale = Scale(1 / reach, reach, log=True)
    return _chart(groups, says, lambda bar: _dot(bar, scale), "bars ratios")


def stacked(rows: Sequence[tuple[str, Sequence[tuple[str, float, str]]]], *, says: str) -> str:
    """For each row its parts (name, share of 1, tip), which sum to 1."""
    drawn = "".join(
        f'<div class="bar"><span class="name">{escape(name)}</span><span class="track">'
        + "".join(
            f'<span class="part look{look + 1}" tabindex="0" role="img" style="width:{share * 100:.2f}%"'
            f' aria-label="{escape(tip)}" data-tip="{escape(tip)}"></span>'
            for look, (_, share, tip) in enumerate(parts)
        )
        + f'</span><span class="value">{_shares([share for _, share, _ in parts])}</span></div>'
        for name, parts in rows
    )
    names = "".join(
        f'<li><b class="look{look + 1}">\u25a0</b>{escape(name)}</li>'
        for look, (name, _, _) in enumerate(rows[0][1])
    )
    legend = f'<ul class="legend">{names}</ul>'
    return f'{legend}<div class="bars" role="group" aria-label="{escape(says)}">{drawn}</div>'


def _shares(parts: Sequence[float]) -> str:
    return " / ".join(f"{share * 100:.0f} %" for share in parts)


def _chart(groups: Sequence[Group], says: str, mark: Callable[[Bar], str], css: str) -> str:
    parts = []
    for group in groups:
        heading = f'<p class="group">{escape(group.name)}</p>' if group.name else ""
        parts.append(heading + "".join(_row(bar, mark(bar)) for bar in group.bars))
    return f'<div class="{css}" role="group" aria-label="{escape(says)}">{"".join(parts)}</div>'


def _row(bar: Bar, mark: str) -> str:
    hollow = "" if bar.tag == "measured" else " hollow"
    return (
        f'<div class="bar look{colour(bar.look)}{hollow}"><span class="name">{escape(bar.name)}</span>'
        f'<span class="track" tabindex="0" role="img" aria-label="{escape(bar.tip)}"'
        f' data-tip="{escape(bar.tip)}">{mark}</span>'
        f'<span class="value">{escape(bar.words)}</span></div>'
    )


def _bar(bar: Bar, scale: Scale) -> str:
    return f'<span class="fill" style="width:{scale.at(bar.value) / 10:.2f}%"></span>' + _whisker(bar, scale)


def _dot(bar: Bar, scale: Scale) -> str:
    middle = '<span class="one" style="left:50%"></span>'
    return middle + _whisker(bar, scale) + f'<b style="left:{scale.at(bar.value) / 10:.2f}%"></b>'


def _whisker(bar: Bar, scale: Scale) -> str:
    if bar.low is None or bar.high is None or bar.low == bar.high:
        return ""  # what was counted has no width
    left, right = scale.at(bar.low) / 10, scale.at(bar.high) / 10
    return f'<span class="whisker" style="left:{left:.2f}%;width:{max(0.0, right - left):.2f}%"></span>'
