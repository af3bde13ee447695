"""Alerts on what a real gateway says of engines that really fail; the engines are scripted.

`tests/dashboards/test_alerts_running.py` has every alert, on pages made by hand.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from e2e.deployments import Serving, serve
from fakes.engine_home import EngineHome, make_engine_home
from fakes.quick_rules import quick_config
from fakes.running_prometheus import Watch, needs_prometheus, running_prometheus

pytestmark = [pytest.mark.slow, needs_prometheus, pytest.mark.timeout(400)]
PAIR = {"kind": "disaggregated", "prefill": 1, "decode": 1, "connector": {"kind": "nixl"}}
LATE = {
    (f"Teapot{slo}Burn", severity) for slo in ("Ttft", "Tpot", "E2e") for severity in ("critical", "warning")
}
AWAY = "--start-delay 100"
"""What an engine does that is not to come back while the test looks."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    return home


def test_what_engines_do_is_said_of_the_right_engine(home: EngineHome, tmp_path: Path) -> None:
    home.behave("--hand-over nothing --ttft 0.01 --itl 0.01")
    file = home.deployment(
        modes=[PAIR],
        engine={"device": "cpu", "kv_cache_memory": "256MiB"},
        slo={"ttft": "1ms", "tpot": "1ms", "e2e": "1ms"},
    )
    with serve(file, "--allow-ineffective") as running:
        running.wait_until_ready()
        urls = _engines(running)
        with running_prometheus(tmp_path, _config(tmp_path, running, urls)) as prometheus, _asked(running):
            watch = Watch(prometheus)
            watch.until(lambda: _names(watch) >= {"TeapotModeNotInEffect"} and _late(watch) == LATE)
            assert not _names(watch) & {"TeapotEngineFailed", "TeapotPrefillFallback", "TeapotTargetDown"}
            home.behave(AWAY)
            os.kill(_pid(running, urls["prefill"]), signal.SIGKILL)
            engine = {"deployment": "scripted", "revision": "main", "role": "prefill"}
            watch.until(
                lambda: _names(watch) >= {"TeapotEngineFailed", "TeapotPrefillFallback", "TeapotTargetDown"}
            )
            assert _labels(watch, "TeapotEngineFailed") == [
                {**engine, "backend": urls["prefill"], "severity": "warning"}
            ]
            assert _labels(watch, "TeapotTargetDown") == [
                {**engine, "instance": urls["prefill"], "job": "engine", "severity": "warning"}
            ]
            assert not _names(watch) & {"TeapotNothingReady", "TeapotAvailabilityBurn"}
            os.kill(_pid(running, urls["decode"]), signal.SIGKILL)
            gone = {"TeapotNothingReady", "TeapotAvailabilityBurn", "TeapotGatewayRefuses"}
            watch.until(lambda: _names(watch) >= gone)


def _engines(running: Serving) -> dict[str, str]:
    """The engines' addresses by role."""
    _, status = running.get("/status", admin=True)
    return {b["role"]: b["url"] for revision in status["revisions"] for b in revision["backends"]}


def _pid(running: Serving, url: str) -> int:
    """The engine that was told to listen there."""
    port = url.rpartition(":")[2].encode()
    for pid in running.engines():
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"--port" in words and words[words.index(b"--port") + 1] == port:
            return pid
    pytest.fail(f"nobody listens at {url}")


def _config(folder: Path, running: Serving, urls: dict[str, str]) -> str:
    """What `deploy.scrape_config` says of a pair, with other intervals and rules."""
    gateway = {"targets": [_address(running.admin_url)], "labels": {"deployment": "scripted"}}
    engines = [
        {
            "targets": [_address(url)],
            "labels": {"deployment": "scripted", "revision": "main", "role": role, "instance": url},
        }
        for role, url in urls.items()
    ]
    jobs = {"gateway": [gateway], "engine": engines}
    return quick_config(
        folder, [{"job_name": job, "static_configs": targets} for job, targets in jobs.items()]
    )


def _address(url: str) -> str:
    return url.removeprefix("http://")


@contextmanager
def _asked(running: Serving) -> Iterator[None]:
    """Streams of a long prompt, one after the other, whatever becomes of them."""
    done = threading.Event()
    body = {
        "model": "tiny",
        "prompt": "Once upon a time " * 40,
        "max_tokens": 4,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    request = urllib.request.Request(
        f"{running.url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )

    def ask() -> None:
        while not done.is_set():
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    answer.read()
            except urllib.error.HTTPError as error:
                error.close()
            time.sleep(0.02)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _names(watch: Watch) -> set[str]:
    return {dict(labels)["alertname"] for labels in watch.fired}


def _late(watch: Watch) -> set[tuple[str, str]]:
    """The burns of latencies that fired, with their severities."""
    found = {(dict(labels)["alertname"], dict(labels)["severity"]) for labels in watch.fired}
    return found & LATE


def _labels(watch: Watch, alert: str) -> list[dict[str, str]]:
    """Those of an alert that fired, without its name."""
    found = [dict(labels) for labels in watch.fired if ("alertname", alert) in labels]
    return [{name: value for name, value in labels.items() if name != "alertname"} for labels in found]
