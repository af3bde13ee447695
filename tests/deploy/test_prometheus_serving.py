"""`teapot serve` with a Prometheus beside it: the fake one for its faults, the real one for the rest."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml
from e2e.deployments import TEAPOT, Serving, alive, serve
from fakes.engine_home import EngineHome, make_engine_home
from fakes.fake_prometheus import make_fake_prometheus

from serving.engine.ports import is_free

pytestmark = pytest.mark.slow
needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="prometheus is not installed (Debian: apt install prometheus)"
)
LOAD = {
    "name": "short",
    "endpoint": "completions",
    "arrival": {"process": "constant", "rate": "4/s", "duration": "120s"},
    "warmup": {"requests": 1},
    "prompts": {"kind": "prompt_set", "output_tokens": 8},
    "sampling": {"temperature": 0},
    "seed": 1,
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    return home


def until(condition: Callable[[], bool], within_s: float = 60) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def prometheus_of(running: Serving) -> str | None:
    return running.get("/status", admin=True)[1]["prometheus"]


def child(running: Serving) -> int:
    """The pid of the Prometheus."""
    named = [
        pid
        for pid in running.engines()
        if b"--storage.tsdb.path" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    assert len(named) == 1
    return named[0]


def test_the_end_of_prometheus_is_said_nothing_else_ends_and_it_comes_back(home: EngineHome) -> None:
    make_fake_prometheus(home.root)
    with serve(home.deployment(prometheus={"port": 0})) as running:
        running.wait_until_ready()
        url = prometheus_of(running)
        assert url is not None
        running.wait_until_said(f"watch    {url} (Prometheus")
        killed = child(running)
        os.kill(killed, signal.SIGKILL)
        running.wait_until_said("serving goes on without it")
        until(lambda: not alive([killed]) and prometheus_of(running) == url)
        assert child(running) != killed
        assert running.get("/health/ready")[0] == 200
        assert running.stop(signal.SIGTERM) == 143


@pytest.mark.parametrize("listens", [True, False])
def test_if_teapot_is_killed_prometheus_is_gone_too(home: EngineHome, listens: bool) -> None:
    make_fake_prometheus(home.root).behave(ignore_sigterm=not listens)
    with serve(home.deployment(prometheus={"port": 0})) as running:
        running.wait_until_ready()
        processes = running.engines()
        assert child(running) in processes
        os.kill(running.process.pid, signal.SIGKILL)
        until(lambda: alive(processes) == [])


class Real:
    """A real Prometheus, asked over HTTP."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, path: str) -> Any:
        try:
            with urlopen(f"{self.url}/api/v1/{path}", timeout=5) as answer:
                return json.loads(answer.read())["data"]
        except URLError:
            return {"activeTargets": []}

    def targets(self) -> dict[tuple[str, str], dict[str, str]]:
        """The labels of targets by job and health."""
        found = self.ask("targets?state=active")["activeTargets"]
        return {(each["labels"]["job"], each["health"]): each["labels"] for each in found}


@needs_prometheus
@pytest.mark.timeout(240)
def test_the_real_one_sees_every_target_and_the_load_while_it_runs(home: EngineHome, tmp_path: Path) -> None:
    workload = tmp_path / "load.yaml"
    workload.write_text(yaml.safe_dump(LOAD))
    with serve(home.deployment(prometheus={"port": 0}, slo={"ttft": "2s"})) as running:
        running.wait_until_ready()
        url = prometheus_of(running)
        assert url is not None
        real = Real(url)
        always = {("gateway", "up"), ("engine", "up"), ("prometheus", "up")}
        until(lambda: real.targets().keys() == always)
        backend = running.get("/status", admin=True)[1]["revisions"][0]["backends"][0]["url"]
        engine = real.targets()["engine", "up"]
        expected = {"deployment": "scripted", "revision": "main", "role": "any", "instance": backend}
        assert engine == expected | {"job": "engine"}

        words = ["load", "run", str(workload), "--target", running.url, "--exporter-port", "0"]
        load = subprocess.Popen(
            [*TEAPOT, *words, "--out", str(tmp_path / "run")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            until(lambda: ("load", "up") in real.targets())
            assert real.targets()["load", "up"]["deployment"] == "scripted"
        finally:
            load.terminate()
            load.wait(60)
        assert list((home.root / "state" / "load").iterdir()) == []
        until(lambda: real.targets().keys() == always)

        # What a target is called and what its series say never get in each other's way.
        assert not [label for label in real.ask("labels") if label.startswith("exported_")]
        assert real.ask("rules")["groups"] != []
        judged = real.ask("query?query=sum(teapot_slo_requests_total)")["result"]
        assert float(judged[0]["value"][1]) > 0

        pid = child(running)
        assert running.stop(signal.SIGTERM) == 143
        assert alive([pid]) == []
        assert is_free("127.0.0.1", int(url.rpartition(":")[2]))
    said = running.said.read_text()
    assert "serving goes on" not in said
    assert "level=error" not in "".join(p.read_text() for p in (home.root / "logs").glob("*prometheus*"))


@needs_prometheus
def test_what_was_recorded_is_there_at_the_next_start(home: EngineHome) -> None:
    file = home.deployment(prometheus={"port": 0})
    with serve(file) as running:
        running.wait_until_ready()
        url = prometheus_of(running)
        assert url is not None
        real = Real(url)
        until(lambda: ("gateway", "up") in real.targets())
        before = running.get("/status", admin=True)[1]["revisions"][0]["backends"][0]["url"]
        query = f'query?query=last_over_time(up{{instance="{before}"}}[10m])'
        until(lambda: bool(real.ask(query)["result"]))
        assert running.stop(signal.SIGTERM) == 143
    with serve(file) as running:
        running.wait_until_ready()
        url = prometheus_of(running)
        assert url is not None
        assert Real(url).ask(query)["result"][0]["value"][1] == "1"


@needs_prometheus
def test_its_own_checker_finds_nothing_wrong_with_the_configuration(home: EngineHome) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    code = (
        "import sys; from pathlib import Path\n"
        "from deploy.prometheus import RULES; from deploy.scrape_config import *\n"
        "files = StateFiles(Path(sys.argv[1]), Path(sys.argv[1]) / 'load')\n"
        "rules = [rule for rule in RULES if rule.is_file()]\n"
        "print(config_text(Scraped('demo', 'http://127.0.0.1:8000', 9090), files, rules))\n"
    )
    text = subprocess.run(
        [sys.executable, "-c", code, str(home.root)], capture_output=True, text=True, check=True
    )
    config = home.root / "prometheus.yml"
    config.write_text(text.stdout)
    checked = subprocess.run(
        [promtool, "check", "config", str(config)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
