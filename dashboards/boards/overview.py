"""The first board: are users fine, and if not, where to look.

Owns: what it shows and in which order. Knows nothing about how it is drawn.
"""

from __future__ import annotations

from dashboards.boards.choices import DEPLOYMENT, GATEWAY, REVISION
from dashboards.panels import Board, Panel, Query, Row
from dashboards.slis import SLIS

OVERVIEW = Board(
    uid="teapot-overview",
    title="Overview",
    help="Are users fine? If not: what binds (Engine), which revision (Rollout).",
    variables=(DEPLOYMENT, REVISION),
    rows=(
        Row(
            "Traffic",
            (
                Panel(
                    key="requests",
                    title="Requests",
                    kind="timeseries",
                    unit="requests/s",
                    queries=(Query(expr=SLIS["requests"].query(GATEWAY), legend="requests", color="blue"),),
                    help="Clients' requests that ended, however. Do: compare with what is usual at this hour.",
                    lowest=0,
                ),
            ),
        ),
    ),
)
