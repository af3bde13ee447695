"""Faults of grafana-api, and of what may stand where a Grafana should: each is told in words."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.fake_grafana import EDITOR, FakeGrafana, grafana

from dashboards.grafana import Grafana, GrafanaFailed
from dashboards.grafana_call import checked_token, checked_url
from serving.errors import UsageError

TLS = Path(__file__).parents[1] / "golden" / "tls"
CERT, KEY = str(TLS / "cert.pem"), str(TLS / "key.pem")


@pytest.fixture
def fake() -> Iterator[FakeGrafana]:
    with grafana() as running:
        yield running


def client(url: str, token: str = EDITOR, **options: object) -> Grafana:
    return Grafana(url, token, **{"environ": {}, **options})


def told(url: str, **options: object) -> str:
    with pytest.raises(GrafanaFailed) as failed:
        client(url, **options).folders()
    return str(failed.value)


def test_a_wrong_token_is_told_and_not_shown(fake: FakeGrafana) -> None:
    text = told(fake.url, token="glsa_wrong")
    assert "Grafana does not know this token: Invalid API key; make one for a service account" in text
    assert "glsa_wrong" not in text


def test_a_fault_of_its_own_is_told_with_its_status(fake: FakeGrafana) -> None:
    fake.answers["/api/folders"] = (500, {"message": "database is locked"})
    assert "Grafana answers 500: database is locked" in told(fake.url)


@pytest.mark.parametrize("page", [b"<p>the word message</p>", b"[1]", b"null", b'"message"', b""])
def test_a_page_of_a_proxy_is_told_apart_from_grafanas_answer(fake: FakeGrafana, page: bytes) -> None:
    fake.answers["/api/folders"] = (502, page)
    assert "does not answer like Grafana: it answers 502" in told(fake.url)


def test_an_empty_answer_is_an_answer(fake: FakeGrafana) -> None:
    fake.answers["/api/annotations"] = (204, b"")
    client(fake.url).annotate("x", (), at_ms=1)
    assert fake.asked == [("POST", "/api/annotations")]


def test_a_redirect_is_told_and_not_followed(fake: FakeGrafana) -> None:
    fake.answers["/api/annotations"] = (302, b"https://elsewhere/login")
    with pytest.raises(GrafanaFailed, match="this leads to https://elsewhere/login; give the address"):
        client(fake.url).annotate("x", (), at_ms=1)
    assert len(fake.asked) == 1


def test_one_that_is_not_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    text = told(f"http://127.0.0.1:{port}")
    assert text.startswith(f"http://127.0.0.1:{port}/api/folders: Grafana cannot be reached (Failed to ")
    assert "Connection refused" in text
    assert text.endswith("start it, or give its right address")


def test_a_name_that_nobody_knows_is_told() -> None:
    assert "Grafana cannot be reached (Failed to resolve 'grafana.invalid'" in told(
        "http://grafana.invalid:3000"
    )


def test_one_that_does_not_answer_is_told(fake: FakeGrafana) -> None:
    fake.hold = threading.Event()
    assert "Grafana did not answer within 0.05 s" in told(fake.url, timeout_s=0.05)


def test_one_below_a_path_is_found() -> None:
    with grafana(prefix="/ops/grafana") as fake:
        assert client(fake.url).folders() == {}
        assert client(fake.url + "/api/").folders() == {}
        assert "answers 404" in told(fake.url.removesuffix("/grafana"))


@pytest.mark.slow
def test_a_certificate_that_nobody_vouches_for_is_told() -> None:
    with grafana(tls=(CERT, KEY)) as fake:
        text = told(fake.url)
        assert "TLS with Grafana fails (" in text
        assert "set REQUESTS_CA_BUNDLE to a PEM file" in text
        client(fake.url, environ={"REQUESTS_CA_BUNDLE": CERT}).folders()


@pytest.mark.slow
def test_a_plain_server_behind_https_is_told(fake: FakeGrafana) -> None:
    assert "TLS with Grafana fails (" in told(fake.url.replace("http:", "https:"))


def test_a_port_that_wants_tls_is_told(fake: FakeGrafana) -> None:
    fake.answers["/api/folders"] = (400, b"Client sent an HTTP request to an HTTPS server.\n")
    assert told(fake.url).endswith("this port speaks TLS; write the address with https://")


def test_a_proxy_of_the_environment_is_not_asked_for_loopback(
    fake: FakeGrafana, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    assert client(fake.url).folders() == {}


@pytest.mark.parametrize(
    "url", ["127.0.0.1:3000", "ftp://h", "http://", "http://h:0", "http://h?x=1", "http://[::1", "http://h:x"]
)
def test_what_is_no_address_is_wrong_usage(url: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a Grafana; write it like"):
        checked_url(url)


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    with pytest.raises(UsageError) as failed:
        checked_url("http://admin:s3cret@h:3000")
    assert "s3cret" not in str(failed.value)


@pytest.mark.parametrize(
    ("text", "what"), [(" \n", "is empty"), ("a b", "no token"), ("a\nb", "no token"), ("ä", "no")]
)
def test_what_is_no_token_is_wrong_usage(text: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        checked_token(text)


def test_the_space_around_a_token_is_not_its_own() -> None:
    assert checked_token("glsa_x\n") == "glsa_x"


def test_the_token_is_in_no_words_of_the_client(fake: FakeGrafana) -> None:
    assert EDITOR not in json.dumps([repr(client(fake.url)), repr(vars(client(fake.url)))])
