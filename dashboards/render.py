"""A board as Grafana's classic JSON (schemaVersion 39), which Grafana 11 to 13 read.

Owns: what each thing of `panels` is called there. Knows nothing about any one board.
"""

from __future__ import annotations

import json
from typing import Any

from dashboards.panels import Board

SCHEMA_VERSION = 39


def board_text(board: Board) -> str:
    """The file of a board."""
    return json.dumps(board_json(board), indent=1, ensure_ascii=False) + "\n"


def board_json(board: Board) -> dict[str, Any]:
    """A board as a JSON document."""
    return {"uid": board.uid, "title": f"teapot / {board.title}", "schemaVersion": SCHEMA_VERSION}
