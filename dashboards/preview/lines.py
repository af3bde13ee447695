"""What is drawn of a panel's answers: named, coloured, in the order of its queries.

Owns: names by the legend, and colours. Knows nothing about pixels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from dashboards.judging import Answer
from dashboards.panels import Color, Panel, Style
from dashboards.samples import Labels

COLORS: Mapping[Color, str] = {
    "green": "#3d9a40",
    "amber": "#e08400",
    "red": "#d62f43",
    "blue": "#3274d9",
    "light_blue": "#7fb2f5",
    "dark_blue": "#1b3a8c",
    "purple": "#9354b8",
    "grey": "#8e8e8e",
    "teal": "#2b9187",
}
"""As in Grafana, a little darker: the page is light."""
PALETTE = (
    "#3274d9", "#e08400", "#9354b8", "#2b9187", "#8f6b00", "#c2569a",
    "#5b7f2a", "#4a5fc1", "#8d6e63", "#607d8b", "#7a8f00", "#00749e",
)  # fmt: skip
"""For series of which nobody said a colour: by their names. No red or green, which would mean something."""
TEXT = "#24292e"
_IN_LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Line:
    """One series: its points are finite, oldest first."""

    name: str
    color: str
    style: Style
    points: tuple[tuple[float, float], ...]
    labels: Labels

    @property
    def last(self) -> float:
        """The newest value."""
        return self.points[-1][1]


def lines(panel: Panel, answers: Sequence[Answer]) -> tuple[Line, ...]:
    """The series that have something to draw. A series without a colour of its own takes one by its name."""
    own = dict(panel.colors)
    taken: list[str] = []
    found = []
    for answer in answers:
        named = ((legend_name(answer.query.legend, one.labels), one) for one in answer.series)
        for name, series in sorted(named, key=lambda pair: pair[0]):
            points = series.finite()
            if points:
                said = own.get(name) or answer.query.color
                color = COLORS[said] if said else _free(name, taken)
                taken.append(color)
                found.append(Line(name, color, answer.query.style, points, series.labels))
    return tuple(found)


def legend_name(legend: str, labels: Labels) -> str:
    """The name of a series; without a legend its labels, as Grafana shows them."""
    if legend:
        return " ".join(_IN_LEGEND.sub(lambda found: labels.get(found[1], ""), legend).split())
    shown = ", ".join(f'{key}="{value}"' for key, value in sorted(labels.items()) if key != "__name__")
    name = labels.get("__name__", "")
    return f"{name}{{{shown}}}" if shown else name or "value"


def threshold_color(panel: Panel, value: float) -> str | None:
    """The colour of the last threshold that a value reaches; None where the panel has none."""
    color = None
    for step in panel.thresholds:
        if step.value is None or value >= step.value:
            color = COLORS[step.color]
    return color


def runs(points: Sequence[tuple[float, float]], step_s: float) -> Iterator[Sequence[tuple[float, float]]]:
    """The points in pieces without a hole: what is absent is not drawn over."""
    begin = 0
    for index in range(1, len(points) + 1):
        if index == len(points) or points[index][0] - points[index - 1][0] > 1.5 * step_s:
            yield points[begin:index]
            begin = index


def _free(name: str, taken: Sequence[str]) -> str:
    """By the name, so that it has the same colour in other panels; the next one where that is taken here."""
    first = crc32(name.encode()) % len(PALETTE)
    order = PALETTE[first:] + PALETTE[:first]
    return next((color for color in order if color not in taken), order[0])
