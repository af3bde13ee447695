"""A tab in locust's web UI with what locust has no words for, and a page of live charts beside it.

Owns: the two places where the UI is extended (template arguments and the statistics it polls) and the
page's address. Knows nothing about the run: its figures come from a function.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, request

from loadgen.live_view import COLUMNS, View, rows

KEY = "teapot"
TITLE = "TTFT / TPOT / ITL / goodput"
PAGE = Path(__file__).with_name("web_tab.html")
LINK = (
    '<a href="{path}" target="_blank" style="position:fixed;right:16px;bottom:12px;z-index:2000;'
    "font:13px sans-serif;background:#15803d;color:#fff;padding:6px 10px;border-radius:6px;"
    'text-decoration:none">live charts</a>'
)
CHARTED = ("elapsed_s", "sent_per_s", "ended_per_s", "in_flight", "output_tokens_per_s", "goodput_ratio")


def register(web_ui: Any, history: Callable[[], Sequence[View]]) -> None:
    """Extend locust's UI; `history` gives the figures of each second so far."""
    structure = [{"key": key, "title": title} for key, title in COLUMNS]
    web_ui.template_args |= {
        "extended_tabs": [{"title": TITLE, "key": KEY}],
        "extended_tables": [{"key": KEY, "structure": structure}],
    }
    base = web_ui.environment.parsed_options.web_base_path if web_ui.environment.parsed_options else ""
    pages = Blueprint("teapot", __name__, url_prefix=f"{base or ''}/teapot")

    def page() -> Response:
        return Response(PAGE.read_text(encoding="utf-8"), content_type="text/html; charset=utf-8")

    def live() -> Response:
        seen = history()
        document = {
            "now": seen[-1] if seen else None,
            "rows": rows(seen[-1]) if seen else [],
            "columns": structure,
            "charts": [_point(shown) for shown in seen],
        }
        return Response(json.dumps(document), content_type="application/json")

    pages.add_url_rule("/", "page", web_ui.auth_required_if_enabled(page))
    pages.add_url_rule("/live", "live", web_ui.auth_required_if_enabled(live))
    web_ui.app.register_blueprint(pages)
    web_ui.app.after_request(lambda response: _extended(response, base or "", history))


def _point(shown: View) -> dict[str, Any]:
    latencies = {f"{name}_p50": shown[f"{name}_s"]["p50"] for name in ("ttft", "tpot", "itl")}
    latencies |= {f"{name}_p95": shown[f"{name}_s"]["p95"] for name in ("ttft", "tpot", "itl")}
    return {name: shown[name] for name in CHARTED} | latencies


def _extended(response: Response, base: str, history: Callable[[], Sequence[View]]) -> Response:
    """Add our rows to the statistics that the UI polls, and the link to its page."""
    if response.status_code != 200:
        return response
    if request.path == f"{base}/stats/requests":
        seen = history()
        document = json.loads(response.get_data(as_text=True))
        document["extended_stats"] = [{"key": KEY, "data": rows(seen[-1]) if seen else []}]
        response.set_data(json.dumps(document))
    elif request.path in (f"{base}/", base) and response.mimetype == "text/html":
        text = response.get_data(as_text=True)
        response.set_data(text.replace("</body>", LINK.format(path=f"{base}/teapot/") + "</body>"))
    return response
