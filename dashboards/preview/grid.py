"""Where panels lie on the page, in pixels.

Owns: the page's measures (Grafana's own: 24 columns, a unit of 30 px, 8 px between). Knows nothing about what
is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dashboards.layout import COLUMNS, Place, places
from dashboards.panels import Board

WIDTH = 1440
MARGIN = 16
GAP = 8
UNIT = 30
HEADER = 84


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels from the page's upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height

    def inside(self, left: float, top: float, right: float, bottom: float) -> Box:
        """What is left of it without these margins; never negative."""
        return Box(
            self.x + left,
            self.y + top,
            max(0.0, self.width - left - right),
            max(0.0, self.height - top - bottom),
        )


def box(place: Place) -> Box:
    """The rectangle of a heading or panel."""
    column = (WIDTH - 2 * MARGIN + GAP) / COLUMNS
    return Box(
        MARGIN + place.x * column,
        HEADER + place.y * (UNIT + GAP),
        place.width * column - GAP,
        place.height * (UNIT + GAP) - GAP,
    )


def boxes(board: Board) -> Iterator[tuple[Place, Box]]:
    """All headings and panels with their rectangles, from the top."""
    for place in places(board):
        yield place, box(place)


def height(board: Board) -> int:
    """How tall the page of a board is."""
    return round(max((drawn.bottom for _, drawn in boxes(board)), default=HEADER) + MARGIN)
