"""A page to draw on in pixels, from the upper left corner: text, rectangles, and places for graphs.

Owns: the use of matplotlib, which is why it is on the list of those that are not pure. Knows nothing about
panels.
"""

from __future__ import annotations

from io import BytesIO, StringIO
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle

from dashboards.preview.grid import WIDTH, Box
from dashboards.preview.lines import TEXT

DPI = 100
POINTS_PER_PX = 72 / DPI
FONT = "DejaVu Sans"
"""Comes with matplotlib, so a picture is the same everywhere."""
PAGE = "#f4f5f8"
PAPER = "#ffffff"
EDGE = "#dcdfe4"
FAINT = "#6e7680"
Weight = Literal["normal", "bold"]
Side = Literal["left", "center", "right"]


class Canvas:
    """One page."""

    def __init__(self, height: int) -> None:
        self.height = height
        self._figure = Figure(figsize=(WIDTH / DPI, height / DPI), dpi=DPI, facecolor=PAGE)
        self._agg = FigureCanvasAgg(self._figure)
        self._renderer = self._agg.get_renderer()  # type: ignore[no-untyped-call]  # matplotlib has no type

    def rectangle(self, box: Box, color: str, *, edge: str | None = None) -> None:
        """A filled rectangle."""
        # In shares of the page: pixels would be others in SVG, which has 72 to an inch.
        corner = (box.x / WIDTH, 1 - box.bottom / self.height)
        patch = Rectangle(
            corner, box.width / WIDTH, box.height / self.height, facecolor=color, edgecolor=edge or "none",
            linewidth=0.8, transform=self._figure.transFigure, zorder=-1,
        )  # fmt: skip
        self._figure.add_artist(patch)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        px: float = 12,
        color: str = TEXT,
        weight: Weight = "normal",
        side: Side = "left",
    ) -> None:
        """Words in one line; `y` is their middle. `$` is a dollar and begins no formula."""
        self._figure.text(
            x / WIDTH, 1 - y / self.height, words, ha=side, va="center_baseline", parse_math=False,
            color=color, fontsize=px * POINTS_PER_PX, fontweight=weight, fontfamily=FONT,
        )  # fmt: skip

    def width(self, words: str, px: float = 12, weight: Weight = "normal") -> float:
        """How wide words are, in pixels."""
        font = FontProperties(family=FONT, size=px * POINTS_PER_PX, weight=weight)
        wide, _, _ = self._renderer.get_text_width_height_descent(words, font, False)
        return float(wide)

    def fitted(self, words: str, room: float, px: float = 12, weight: Weight = "normal") -> str:
        """The words, or as many letters of them as there is room for, and an ellipsis."""
        if self.width(words, px, weight) <= room:
            return words
        while words and self.width(words + "…", px, weight) > room:
            words = words[:-1]
        return words.rstrip() + "…"

    def axes(self, box: Box) -> Axes:
        """A place for a graph, without a frame or marks."""
        low_y = 1 - box.bottom / self.height
        axes = self._figure.add_axes(
            (box.x / WIDTH, low_y, max(1.0, box.width) / WIDTH, max(1.0, box.height) / self.height)
        )
        axes.set_facecolor("none")
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.tick_params(length=0, labelsize=11 * POINTS_PER_PX, labelcolor=FAINT, labelfontfamily=FONT)
        return axes

    def png(self) -> bytes:
        """The page as a picture."""
        out = BytesIO()
        self._figure.savefig(out, format="png", dpi=DPI, facecolor=PAGE, metadata={"Software": "teapot"})
        return out.getvalue()

    def svg(self, name: str) -> str:
        """The page as SVG whose text is text; `name` keeps its inner names apart from those of others."""
        out = StringIO()
        settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": name}
        with mpl.rc_context(settings):
            self._figure.savefig(out, format="svg", facecolor=PAGE, metadata={"Date": None})
        return out.getvalue()
