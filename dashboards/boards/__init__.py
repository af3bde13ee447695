"""The boards, one file each, in the order in which an operator asks.

Are users fine, what binds, do the levers work, what does the client see, what does each lever give, which
revision, what does it cost.
"""

from __future__ import annotations

from dashboards.boards.cost import COST
from dashboards.boards.engine import ENGINE
from dashboards.boards.levers import LEVERS
from dashboards.boards.load_test import LOAD_TEST
from dashboards.boards.overview import OVERVIEW
from dashboards.boards.rollout import ROLLOUT
from dashboards.boards.study import STUDY
from dashboards.panels import Board

BOARDS: tuple[Board, ...] = (OVERVIEW, ENGINE, LEVERS, LOAD_TEST, STUDY, ROLLOUT, COST)
