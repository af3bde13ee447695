"""A Flask application stands in for locust's; the real one is in test_locustfile."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, jsonify

from loadgen import web_tab
from loadgen.live import Live, Tally
from loadgen.live_view import View, view
from loadgen.records import RequestRecord
from loadgen.stats.plan import Slo


@pytest.fixture
def history() -> list[View]:
    return []


class LocustUi:
    """What of locust's web UI is used; its guard marks what went through it."""

    def __init__(self, base: str) -> None:
        self.app = Flask("fake")
        self.app.add_url_rule(f"{base}/", "index", lambda: "<html><body>locust</body></html>")
        self.app.add_url_rule(f"{base}/stats/requests", "stats", lambda: jsonify({"stats": [1]}))
        self.app.add_url_rule(f"{base}/broken", "broken", lambda: ("<body></body>", 500))
        self.template_args: dict[str, Any] = {"of": "locust"}
        self.environment = SimpleNamespace(parsed_options=SimpleNamespace(web_base_path=base))

    def auth_required_if_enabled(self, view: Any) -> Any:
        def guarded() -> Any:
            response = view()
            response.headers["guarded"] = "yes"
            return response

        return guarded


@pytest.fixture(params=["", "/load"], ids=["at the top", "below a base path"])
def base(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ui(base: str, history: list[View]) -> LocustUi:
    made = LocustUi(base)
    web_tab.register(made, lambda: history)
    return made


@pytest.fixture
def client(ui: LocustUi) -> Any:
    return ui.app.test_client()


def some(ended: int) -> Live:
    """So many requests of the kind "code", each with its first token after 50 ms and four tokens in 80 ms."""
    made = Live(sent=ended + 2, in_flight=2)
    ms = 1_000_000
    for _ in range(ended):
        record = RequestRecord(
            0, "measure", "code", "ok", -ms, 0, 9, output_ns=(50 * ms, 80 * ms), output_tokens=4
        )
        made.add(("code", None), Tally.of(record, Slo(ttft_s=0.1)))
    return made


def test_the_tab_s_table_is_the_one_that_the_statistics_fill(ui: LocustUi, client: Any, base: str) -> None:
    (tab,) = ui.template_args["extended_tabs"]
    (table,) = ui.template_args["extended_tables"]
    assert tab == {"title": "TTFT / TPOT / ITL / goodput", "key": table["key"]}
    assert ui.template_args["of"] == "locust"
    (filled,) = client.get(f"{base}/stats/requests").json["extended_stats"]
    assert filled["key"] == table["key"]


def test_the_statistics_that_the_ui_polls_get_our_rows(
    client: Any, ui: LocustUi, base: str, history: list[View]
) -> None:
    assert client.get(f"{base}/stats/requests").json == {
        "stats": [1],
        "extended_stats": [{"key": "teapot", "data": []}],
    }
    history.append(view(some(1), before=Live(), over_s=1, elapsed_s=1))
    history.append(view(some(7), before=Live(), over_s=1, elapsed_s=2))
    (table,) = client.get(f"{base}/stats/requests").json["extended_stats"]
    assert [(row["name"], row["ok"], row["goodput"]) for row in table["data"]] == [
        ("code", 7, "100%"),
        ("all", 7, "100%"),
    ]
    assert float(table["data"][0]["ttft_p50"]) == pytest.approx(50, rel=0.01)
    (structure,) = [each["structure"] for each in ui.template_args["extended_tables"]]
    assert [column["key"] for column in structure] == list(table["data"][0])


def test_the_page_gets_the_figures_of_now_and_a_point_for_each_second(
    client: Any, base: str, history: list[View]
) -> None:
    before = client.get(f"{base}/teapot/live").json
    assert (before["now"], before["rows"], before["charts"]) == (None, [], [])
    history.append(view(some(1), before=Live(), over_s=1, elapsed_s=1))
    history.append(view(some(7), before=some(1), over_s=1, elapsed_s=2))
    live = client.get(f"{base}/teapot/live").json
    assert (live["now"]["sent"], live["now"]["in_flight"]) == (9, 2)
    assert [row["name"] for row in live["rows"]] == ["code", "all"]
    assert [point["elapsed_s"] for point in live["charts"]] == [1, 2]
    assert [point["output_tokens_per_s"] for point in live["charts"]] == [4, 24]
    assert live["charts"][0]["ttft_p50"] is None  # of one
    assert live["charts"][1]["ttft_p50"] == pytest.approx(0.050, rel=0.01)
    assert live["charts"][1]["tpot_p50"] == pytest.approx(0.010, rel=0.01)


def test_every_series_that_the_page_draws_is_in_the_points(
    client: Any, base: str, history: list[View]
) -> None:
    page = client.get(f"{base}/teapot/")
    assert page.mimetype == "text/html"
    charts = re.search(r"const CHARTS = \[(.*?)\n\];", page.text, re.DOTALL)
    assert charts is not None
    drawn = set(re.findall(r'\["([a-z0-9_]+)", "[^"]+", 1', charts[1]))
    assert {"ttft_p50", "tpot_p95", "itl_p50", "in_flight", "goodput_ratio"} <= drawn
    history.append(view(some(1), before=Live(), over_s=1, elapsed_s=1))
    assert drawn <= client.get(f"{base}/teapot/live").json["charts"][0].keys()
    assert 'fetch("live")' in page.text  # beside the page, whatever the base path is


def test_page_and_figures_are_behind_locust_s_login_where_there_is_one(client: Any, base: str) -> None:
    for path in ("teapot/", "teapot/live"):
        assert client.get(f"{base}/{path}").headers["guarded"] == "yes"


def test_the_ui_links_to_the_page(client: Any, base: str) -> None:
    text = client.get(f"{base}/").text
    (address,) = re.findall(r'<a href="([^"]+)"[^>]*>live charts</a></body></html>$', text)
    assert address == f"{base}/teapot/"
    assert client.get(address).status_code == 200


def test_an_error_of_the_ui_stays_as_it_is(client: Any, base: str) -> None:
    assert client.get(f"{base}/broken").text == "<body></body>"
