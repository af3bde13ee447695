"""Where panels lie on Grafana's grid of 24 columns.

Owns: positions. Knows nothing about what is in a panel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dashboards.panels import Board, Panel, Row

COLUMNS = 24


@dataclass(frozen=True, slots=True)
class Place:
    """A row's heading or a panel, and its rectangle in grid units."""

    what: Row | Panel
    x: int
    y: int
    width: int
    height: int


def places(board: Board) -> Iterator[Place]:
    """All headings and panels from the top; what does not fit beside the last panel begins a new line."""
    y = 0
    for row in board.rows:
        yield Place(row, 0, y, COLUMNS, 1)
        y += 1
        x = tallest = 0
        for panel in row.panels:
            if x + panel.width > COLUMNS:
                x, y, tallest = 0, y + tallest, 0
            yield Place(panel, x, y, panel.width, panel.height)
            x, tallest = x + panel.width, max(tallest, panel.height)
        y += tallest
