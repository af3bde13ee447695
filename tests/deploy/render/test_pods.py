"""An engine's pod: when it is ready, how it leaves, what it may do."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from fakes.clusters import find, flag, rendered

from deploy.render.pods import one_token

TEXT = (
    "name: d\nmodel: a/b\nengine: {start_timeout: 300s, stuck_after: 90s}\ngateway: {drain_timeout: 100s}\n"
)


def pod(tmp_path: Path) -> dict[str, Any]:
    text = rendered(tmp_path, "kubernetes", TEXT)["kubernetes/serving.yaml"]
    found: dict[str, Any] = find(text, "StatefulSet", "d-engine")["spec"]["template"]["spec"]
    return found


@pytest.mark.slow
def test_an_engine_leaves_the_endpoints_before_it_hears_sigterm_and_is_killed_only_after_its_drain(
    tmp_path: Path,
) -> None:
    spec = pod(tmp_path)
    [engine] = spec["containers"]
    sleep, seconds = engine["lifecycle"]["preStop"]["exec"]["command"]
    shutdown = int(flag(engine["args"], "--shutdown-timeout"))
    assert (sleep, int(seconds) > 0) == ("sleep", True)
    assert shutdown > 100
    assert spec["terminationGracePeriodSeconds"] > int(seconds) + shutdown


@pytest.mark.slow
def test_it_may_start_and_hang_for_as_long_as_the_file_says(tmp_path: Path) -> None:
    [engine] = pod(tmp_path)["containers"]
    startup, alive = engine["startupProbe"], engine["livenessProbe"]
    assert startup["failureThreshold"] * startup["periodSeconds"] == 300
    assert alive["failureThreshold"] * alive["periodSeconds"] == 90


@pytest.mark.slow
def test_vllm_is_not_told_a_port_by_the_names_of_services(tmp_path: Path) -> None:
    assert pod(tmp_path)["enableServiceLinks"] is False


def test_no_privileges_and_no_account(tmp_path: Path) -> None:
    spec = pod(tmp_path)
    assert spec["automountServiceAccountToken"] is False
    [engine] = spec["containers"]
    assert engine["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


@pytest.mark.slow
def test_the_startup_probe_asks_for_one_token_and_believes_nothing_less() -> None:
    with engine_that_answers(200) as (port, asked):
        assert probe(port) == 0
        assert asked == [("/v1/completions", {"model": "a/b", "prompt": "a", "max_tokens": 1})]
    with engine_that_answers(500) as (port, _):
        assert probe(port) != 0
    assert probe(port) != 0, "nobody listens there any more"


def probe(port: int) -> int:
    code = one_token("a/b").replace("127.0.0.1:8000", f"127.0.0.1:{port}")
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False
    ).returncode


@contextmanager
def engine_that_answers(status: int) -> Iterator[tuple[int, list[Any]]]:
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.path, json.loads(body)))
            self.send_response(status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
