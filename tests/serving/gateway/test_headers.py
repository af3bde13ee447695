"""Headers by allow-list."""

from __future__ import annotations

from serving.gateway.headers import answer_headers, request_headers


def test_what_is_not_on_the_list_does_not_reach_an_engine() -> None:
    sent = {"Content-Type": "application/json", "Authorization": "Bearer x", "X-data-parallel-rank": "1"}
    assert request_headers(sent, "id") == {
        "Accept-Encoding": "identity", "Content-Type": "application/json", "X-Request-Id": "id",
    }  # fmt: skip


def test_what_is_not_on_the_list_does_not_reach_a_client() -> None:
    said = {"content-type": "text/event-stream", "server": "uvicorn", "location": "http://10.0.0.1"}
    assert answer_headers(said, "id") == {
        "Content-Type": "text/event-stream", "Server": "teapot", "X-Request-Id": "id",
    }  # fmt: skip
