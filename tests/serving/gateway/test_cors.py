"""Which pages may call from a browser."""

from __future__ import annotations

import pytest

from serving.gateway.cors import answer_headers, is_preflight, preflight_headers

APP = "https://app.example"
ASKED = {"Access-Control-Request-Method": "POST"}


def test_without_a_list_no_header_is_sent_and_no_question_answered() -> None:
    assert answer_headers(APP, ()) == {}
    assert not is_preflight("OPTIONS", ASKED, ())


def test_a_listed_origin_may_read_the_answer() -> None:
    headers = answer_headers(APP, {APP})
    assert headers["Access-Control-Allow-Origin"] == APP
    assert headers["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in headers


@pytest.mark.parametrize("origin", [None, "", "null", "https://app.example.evil.example", "http://app.example",
                                    "https://APP.example", "https://app.example/"])  # fmt: skip
def test_another_origin_may_not(origin: str | None) -> None:
    assert "Access-Control-Allow-Origin" not in answer_headers(origin, {APP})
    assert "Access-Control-Allow-Origin" not in preflight_headers(origin, {APP}, ("POST",))


def test_any_origin_may_where_the_list_says_so() -> None:
    assert answer_headers("https://x.example", {"*"})["Access-Control-Allow-Origin"] == "*"


def test_a_question_is_answered_with_methods_and_headers() -> None:
    assert is_preflight("OPTIONS", ASKED, {APP})
    assert not is_preflight("OPTIONS", {}, {APP})
    assert not is_preflight("POST", ASKED, {APP})
    headers = preflight_headers(APP, {APP}, ("GET", "HEAD"))
    assert headers["Access-Control-Allow-Methods"] == "GET, HEAD"
    assert "Authorization" in headers["Access-Control-Allow-Headers"]
