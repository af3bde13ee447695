"""A Flask application stands in for locust's; the real one is in test_locustfile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, jsonify

from loadgen import web_tab
from loadgen.live import Live
from loadgen.live_view import View, view


@pytest.fixture
def history() -> list[View]:
    return []


@pytest.fixture
def client(history: list[View]) -> Any:
    app = Flask("fake")
    app.add_url_rule("/", "index", lambda: "<html><body>locust</body></html>")
    app.add_url_rule("/stats/requests", "stats", lambda: jsonify({"stats": [1]}))
    web_ui = SimpleNamespace(
        app=app,
        template_args={},
        auth_required_if_enabled=lambda view: view,
        environment=SimpleNamespace(parsed_options=SimpleNamespace(web_base_path="")),
    )
    web_tab.register(web_ui, lambda: history)
    assert (
        web_ui.template_args["extended_tabs"][0]["key"] == web_ui.template_args["extended_tables"][0]["key"]
    )
    return app.test_client()


def test_the_statistics_that_the_ui_polls_get_our_rows(client: Any, history: list[View]) -> None:
    assert client.get("/stats/requests").json == {
        "stats": [1],
        "extended_stats": [{"key": "teapot", "data": []}],
    }
    history.append(view(Live(sent=1), before=Live(), over_s=1, elapsed_s=1))
    (table,) = client.get("/stats/requests").json["extended_stats"]
    assert [row["name"] for row in table["data"]] == ["all"]


def test_the_page_has_figures_and_points_for_its_charts(client: Any, history: list[View]) -> None:
    assert client.get("/teapot/live").json["now"] is None
    history += [view(Live(sent=n, in_flight=n), before=Live(), over_s=1, elapsed_s=n) for n in (1, 2)]
    live = client.get("/teapot/live").json
    assert [point["in_flight"] for point in live["charts"]] == [1, 2]
    assert live["charts"][0]["ttft_p50"] is None
    assert "<svg" in client.get("/teapot/").text or "svg" in client.get("/teapot/").text


def test_the_ui_links_to_the_page(client: Any) -> None:
    assert '<a href="/teapot/"' in client.get("/").text
