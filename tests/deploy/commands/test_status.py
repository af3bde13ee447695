"""`teapot status` against an admin interface of a few lines."""

from __future__ import annotations

import argparse
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from deploy.commands import status
from serving.console import Console
from serving.errors import Failed, UsageError

STATUS: dict[str, Any] = {
    "name": "demo",
    "state": "ready",
    "revisions": [
        {
            "name": "main",
            "weight": 1.0,
            "backends": [{"url": "http://127.0.0.1:9001", "role": "any", "state": "ready", "in_flight": 2}],
        }
    ],
    "modes": [
        {"kind": "prefix_cache", "asked": "on", "in_effect": True, "evidence": "48 tokens hit"},
        {"kind": "quantized_kv", "asked": "fp8", "in_effect": False, "evidence": "dtype is auto"},
        {"kind": "parallel", "asked": "tensor=1", "in_effect": None, "evidence": "no evidence"},
    ],
    "prometheus": "http://127.0.0.1:9090",
}
TEXT = """\
demo: ready

REVISION  WEIGHT  BACKEND                ROLE  STATE  IN FLIGHT
main      100%    http://127.0.0.1:9001  any   ready  2

MODE          ASKED     IN EFFECT  EVIDENCE
prefix_cache  on        yes        48 tokens hit
quantized_kv  fp8       NO         dtype is auto
parallel      tensor=1  unknown    no evidence

Prometheus: http://127.0.0.1:9090"""


@contextmanager
def admin(code: int, body: bytes) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code if self.path == "/status" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def ask() -> Callable[..., str]:
    def run(url: str, *, as_json: bool = False) -> str:
        parser = argparse.ArgumentParser()
        status.configure(parser)
        console = Console(as_json=as_json, out=io.StringIO(), err=io.StringIO())
        assert status.run(parser.parse_args(["--admin", url]), console) == 0
        out = console.out
        assert isinstance(out, io.StringIO)
        return out.getvalue()

    return run


def test_the_tables_show_backends_and_what_is_in_effect(ask: Callable[..., str]) -> None:
    with admin(200, json.dumps(STATUS).encode()) as url:
        assert ask(url + "/") == TEXT + "\n"


def test_what_a_rollout_changes_is_shown_with_its_problem() -> None:
    told = {"state": "ready", "file": "/old.yaml", "problem": None}
    new = {"name": "new", "weight": 0.0, "backends": [], "state": "failed", "file": "/new.yaml"}
    main = STATUS["revisions"][0] | told
    document = STATUS | {
        "revisions": [main, new | {"problem": "no memory"}],
        "rollout": {"revision": "new", "state": "rolling_back", "why": "no memory"},
    }
    text = status.render(document)
    assert "main      ready    /old.yaml\nnew       failed   /new.yaml  no memory\n" in text
    assert "rollout of new: rolling back: no memory" in text
    alone = status.render(STATUS | {"revisions": [main]})
    assert alone == TEXT


def test_json_passes_the_document(ask: Callable[..., str]) -> None:
    with admin(200, json.dumps(STATUS).encode()) as url:
        assert json.loads(ask(url, as_json=True)) == STATUS


def test_a_deployment_without_engines_yet_is_one_line() -> None:
    assert (
        status.render({"name": "demo", "state": "starting", "revisions": [], "modes": []}) == "demo: starting"
    )


def test_nobody_there_says_where_and_what_to_do() -> None:
    with admin(200, b"") as url:
        pass  # Its port is free again.
    with pytest.raises(Failed) as caught:
        status.fetch(url)
    (problem,) = caught.value.problems
    assert problem.what == "the gateway's admin interface cannot be reached (Connection refused)"
    assert problem.where == f"{url}/status"
    assert "teapot serve FILE" in (problem.fix or "")


@pytest.mark.parametrize(
    ("code", "body"), [(404, b""), (200, b"<html>"), (200, b"[]"), (200, b'{"name": "x"}')]
)
def test_something_else_at_the_address_is_said_so(code: int, body: bytes) -> None:
    with admin(code, body) as url, pytest.raises(Failed, match="teapot gateway"):
        status.fetch(url)


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8001",
        "ftp://x",
        "http://",
        "file:///etc/passwd",
        "http://[::1",
        "http://h:99999",
        "http://h:x",
    ],
)
def test_a_wrong_address_is_wrong_usage(url: str) -> None:
    with pytest.raises(UsageError):
        status.fetch(url)


def test_why_a_backend_gets_no_requests_stands_beside_its_state() -> None:
    away = {"url": "http://10.0.0.7:8000", "role": "any", "state": "down", "in_flight": 0}
    revision = {"name": "there", "weight": 0.1, "backends": [{**away, "detail": "GET /health: 503"}]}
    shown = status.render({**STATUS, "revisions": [revision], "modes": []})
    assert "any   down (GET /health: 503)  0" in shown
