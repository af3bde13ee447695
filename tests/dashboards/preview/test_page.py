from __future__ import annotations

from html.parser import HTMLParser

from dashboards.panels import Board, Panel, Query, Row
from dashboards.preview.page import page

SVG = '<?xml version="1.0"?>\n<!DOCTYPE svg>\n<svg xmlns="http://www.w3.org/2000/svg"><text>T</text></svg>\n'
PANEL = Panel(
    key="k", title="TTFT <p95>", unit="seconds", help="Slow? Do: look.", queries=(Query(expr='x{a="b"} < 1'),)
)
BOARD = Board(uid="teapot-x", title="Over & under", help="h", rows=(Row("R", (PANEL,)),), variables=())


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def seen() -> Seen:
    parser = Seen()
    parser.feed(
        page([BOARD], {"teapot-x": SVG}, "Preview, not Grafana", "12:00 to 12:15 UTC", "http://p:9090")
    )
    return parser


def test_the_page_says_what_it_is_of_when_and_from_where():
    assert "Preview, not Grafana. 12:00 to 12:15 UTC, from http://p:9090" in seen().text


def test_each_board_has_its_picture_and_a_link_to_it():
    tags = seen().tags
    assert ("a", {"href": "#teapot-x"}) in tags
    assert ("section", {"id": "teapot-x"}) in tags
    assert [attrs["aria-label"] for tag, attrs in tags if tag == "svg"] == ["Over & under: preview"]


def test_it_tells_what_each_panel_means_and_asks():
    text = seen().text
    assert "TTFT <p95>" in text
    assert "Slow? Do: look." in text
    assert 'x{a="b"} < 1' in text


def test_nothing_is_fetched_from_elsewhere():
    addresses = [value for _, attrs in seen().tags for key, value in attrs.items() if key in ("src", "href")]
    assert addresses == ["#teapot-x"]
