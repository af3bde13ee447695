from __future__ import annotations

import json

import pytest

from loadgen.target import key_from, parse_target, request_bytes
from serving.errors import UsageError


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000"),
        ("https://api.example/openai/v1", "https://api.example/openai"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://me:secret@host:8000", "http://host:8000"),
        ("http://host", "http://host"),
    ],
)
def test_an_address_is_taken_with_or_without_v1_and_shown_without_credentials(url: str, shown: str) -> None:
    assert parse_target(url).url == shown


def test_ports_default_to_those_of_the_scheme() -> None:
    assert (parse_target("http://h").port, parse_target("https://h").port) == (80, 443)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://h", "http://", "http://h:99999", "http://h/?a=1"])
def test_what_is_no_address_is_refused_with_the_form_wanted(url: str) -> None:
    with pytest.raises(UsageError, match="--target") as error:
        parse_target(url)
    assert error.value.exit_code == 2


def test_the_key_is_sent_and_never_shown() -> None:
    target = parse_target("http://me:secret@host:8000")
    assert target.headers()["Authorization"] == "Bearer secret"
    assert "secret" not in repr(target)
    assert parse_target("http://me:secret@host:8000", api_key="other").api_key == "other"


def test_the_key_comes_from_our_variable_before_openai_s() -> None:
    assert key_from({"TEAPOT_API_KEY": "a", "OPENAI_API_KEY": "b"}) == "a"
    assert key_from({"TEAPOT_API_KEY": "", "OPENAI_API_KEY": "b"}) == "b"
    assert key_from({}) is None


def test_a_request_is_one_whole_http_message() -> None:
    raw = request_bytes(
        parse_target("http://h:1/pre/v1", api_key="k"), "/v1/completions", {"prompt": "é"}, request_id="r-1"
    )
    head, body = raw.split(b"\r\n\r\n", 1)
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert first == "POST /pre/v1/completions HTTP/1.1"
    assert headers["Host"] == "h:1"
    assert headers["Authorization"] == "Bearer k"
    assert headers["X-Request-Id"] == "r-1"
    assert int(headers["Content-Length"]) == len(body) == len('{"prompt":"é"}'.encode())
    assert json.loads(body) == {"prompt": "é"}
