"""Reading an engine's page over HTTP, and what is said where that cannot be done."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from deploy.diagnose.sources import from_engine, from_prometheus, from_run
from serving.errors import Failed, UsageError

MATRIX = [
    {
        "metric": {"__name__": "vllm:num_requests_running", "instance": "http://127.0.0.1:1"},
        "values": [[100, "3"], [101, "5"]],
    }
]


@contextmanager
def server(pages: list[str], matrix: object = None, status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """Gives one page after the other at /metrics, and `matrix` as Prometheus; notes what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer((pages.pop(0) if len(pages) > 1 else pages[0]).encode())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked.append(parse_qs(body)["query"][0])
            document = {"status": "success", "data": {"resultType": "matrix", "result": matrix}}
            self._answer(json.dumps(document).encode())

        def _answer(self, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}", asked
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


@pytest.mark.slow
def test_an_engine_is_read_until_the_time_is_over() -> None:
    pages, said = ["vllm:num_requests_running 1\n", "vllm:num_requests_running 2\n"], list[str]()
    with server(pages) as (url, _):
        found = from_engine(
            url, 0.05, pause=lambda seconds: threading.Event().wait(0.06) and None, say=said.append
        )
    [readings] = found.values()
    assert [r.series["vllm:num_requests_running"] for r in readings] == [1, 2]
    assert said == [f"watching {url} for 0 s"]


def test_an_engine_that_is_not_there_is_named() -> None:
    with pytest.raises(Failed, match="cannot be read") as caught:
        from_engine("http://127.0.0.1:9", 0)
    assert "http://127.0.0.1:9/metrics" in str(caught.value)


@pytest.mark.slow
def test_an_address_without_metrics_is_refused() -> None:
    with server([""], status=404) as (url, _), pytest.raises(Failed, match="HTTP 404"):
        from_engine(url, 0)


@pytest.mark.slow
def test_a_page_without_vllms_series_is_refused() -> None:
    with server(["up 1\n"]) as (url, _), pytest.raises(Failed, match="the page has none of vLLM"):
        from_engine(url, 0)


@pytest.mark.slow
def test_prometheus_is_asked_for_engines_of_the_deployment() -> None:
    with server([""], MATRIX) as (url, asked):
        found = from_prometheus(url, "demo", 60, 160)
    assert 'job="engine", deployment="demo"' in asked[0]
    [readings] = found.values()
    told = [(r.t_ns // 10**9, r.series["vllm:num_requests_running"]) for r in readings]
    assert told == [(100, 3), (101, 5)]


@pytest.mark.slow
def test_a_prometheus_without_engines_says_so() -> None:
    with (
        server([""], []) as (url, _),
        pytest.raises(Failed, match="no engine metrics of the deployment 'demo'"),
    ):
        from_prometheus(url, "demo", 60, 160)


def test_a_run_without_a_servers_metrics_is_refused(tmp_path: Path) -> None:
    (tmp_path / "server.jsonl").write_text("")
    with pytest.raises(UsageError, match="no readings"):
        from_run(tmp_path)


def test_a_folder_that_is_not_there_is_not_taken_for_an_empty_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        from_run(tmp_path / "nosuch")


def test_a_wrong_engine_address_is_refused_by_its_own_option() -> None:
    with pytest.raises(UsageError, match="--engine"):
        from_engine("nonsense", 0)
