"""A board as Grafana's classic JSON, which Grafana 11 to 13 read.

Owns: the document around the panels: variables, links to the other boards, annotations, grid. Knows nothing
about any one board, or how a panel is drawn (`render_panel`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from dashboards.layout import places
from dashboards.panels import Board, Row, Variable
from dashboards.render_panel import DATASOURCE, panel_json

SCHEMA_VERSION = 39
"""Of Grafana 11. Later ones read it and bring it up to date; what is newer than 42 an 11 does not read."""
TAG = "teapot"
"""Marks a board as ours: `push` never replaces one without it."""
REFRESH = "10s"
ALL = "$__all"


def board_text(board: Board, boards: Iterable[Board]) -> str:
    """The file of a board, which has links to all."""
    return json.dumps(board_json(board, boards), indent=1, ensure_ascii=False) + "\n"


def board_json(board: Board, boards: Iterable[Board]) -> dict[str, Any]:
    """A board as a JSON document, without the numbers that Grafana gives (id, version)."""
    return {
        "uid": board.uid,
        "title": f"teapot: {board.title}",
        "description": board.help,
        "tags": [TAG],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "graphTooltip": 1,
        "refresh": REFRESH,
        "time": {"from": f"now-{board.span}", "to": "now"},
        "timezone": "browser",
        "links": [_link(other) for other in boards if other.uid != board.uid],
        "templating": {"list": [_datasource(), *map(_variable, board.variables)]},
        "annotations": {"list": _annotations(board)},
        "panels": _panels(board),
    }


def _panels(board: Board) -> list[dict[str, Any]]:
    panels = []
    for number, place in enumerate(places(board), start=1):
        grid = {"x": place.x, "y": place.y, "w": place.width, "h": place.height}
        if isinstance(place.what, Row):
            row = {"type": "row", "title": place.what.title, "collapsed": False, "panels": []}
            panels.append({"id": number, "gridPos": grid, **row})
        else:
            panels.append({"id": number, "gridPos": grid, **panel_json(place.what)})
    return panels


def _link(board: Board) -> dict[str, Any]:
    return {
        "type": "link",
        "title": board.title,
        "tooltip": board.help,
        "url": f"/d/{board.uid}",
        "icon": "dashboard",
        "keepTime": True,
        "includeVars": True,
        "targetBlank": False,
        "asDropdown": False,
        "tags": [],
    }


def _datasource() -> dict[str, Any]:
    return {
        "type": "datasource",
        "name": "datasource",
        "label": "Prometheus",
        "query": "prometheus",
        "regex": "",
        "refresh": 1,
        "hide": 0,
        "multi": False,
        "includeAll": False,
        "current": {},
        "options": [],
    }


def _variable(variable: Variable) -> dict[str, Any]:
    base = {"name": variable.name, "label": variable.title, "hide": 0}
    if variable.query is None:
        current = {"selected": True, "text": variable.default, "value": variable.default}
        return base | {"type": "textbox", "query": variable.default, "current": current, "options": [current]}
    return base | {
        "type": "query",
        "datasource": DATASOURCE,
        "definition": variable.query,
        "query": {"qryType": 5, "query": variable.query, "refId": f"variable-{variable.name}"},
        "regex": "",
        "refresh": 2,
        "sort": 2 if variable.last_first else 1,
        "multi": variable.many,
        "includeAll": variable.many,
        "allValue": ".*" if variable.many else None,
        "current": {"selected": True, "text": ["All"], "value": [ALL]} if variable.many else {},
        "options": [],
    }


def _annotations(board: Board) -> list[dict[str, Any]]:
    grafana = {"type": "grafana", "uid": "-- Grafana --"}
    own = {
        "name": "What changed",
        "enable": True,
        "hide": False,
        "iconColor": "purple",
        "datasource": grafana,
        "target": {"type": "tags", "tags": [TAG, *board.marks], "matchAny": False, "limit": 200},
    }
    by_hand = {
        "name": "Annotations & Alerts",
        "builtIn": 1,
        "type": "dashboard",
        "enable": True,
        "hide": True,
        "iconColor": "blue",
        "datasource": grafana,
    }
    return [by_hand, own]
