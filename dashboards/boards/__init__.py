"""The boards, one file each, in the order in which an operator asks.

Are users fine, what binds, do the levers work, what does the client see, which revision, what does it cost.
"""

from __future__ import annotations

from dashboards.boards.overview import OVERVIEW
from dashboards.panels import Board

BOARDS: tuple[Board, ...] = (OVERVIEW,)
