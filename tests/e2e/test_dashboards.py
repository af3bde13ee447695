"""Boards against a real Prometheus that scraped a real engine under load through the gateway."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.deployments import Serving, free_port, serve, teapot, write_deployment

from serving.engine.folders import DataFolder

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="the program prometheus is not installed"),
]
LOAD = {
    "name": "boards",
    "endpoint": "chat",
    "arrival": {"process": "constant", "rate": "2/s", "duration": "45s"},
    "warmup": {"requests": 2},
    "prompts": {"kind": "random_tokens", "input_tokens": 60, "output_tokens": 16},
    "sampling": {"temperature": 0, "ignore_eos": True},
    "slo": {"ttft": "5s", "tpot": "1s"},
    "seed": 1,
}


@dataclass(frozen=True)
class Recorded:
    """A deployment under a Prometheus, and a run that was sent to it."""

    prometheus: str
    run: Path


@pytest.fixture(scope="module")
def recorded(
    tiny_llama: Path, folder: DataFolder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Recorded]:
    here = tmp_path_factory.mktemp("boards")
    path = write_deployment(here, model=tiny_llama, modes=[{"kind": "prefix_cache"}])
    document: dict[str, Any] = yaml.safe_load(path.read_text())
    document["name"] = f"boards-{os.getpid()}"
    document["prometheus"] = {"enabled": True, "port": free_port()}
    document["slo"] = {"ttft": "5s", "tpot": "1s", "e2e": "30s"}
    path.write_text(yaml.safe_dump(document))
    workload, run = here / "load.yaml", here / "run"
    workload.write_text(yaml.safe_dump(LOAD))
    with serve(path) as serving:
        serving.wait_until_ready()
        done = teapot("load", "run", str(workload), "--target", serving.url, "--out", str(run), "--json")
        # 3: a busy machine may make the run's lateness too large to believe, which is then said.
        assert done.returncode in (0, 3), done.stderr
        yield Recorded(_prometheus_of(serving), run)
        assert serving.stop(signal.SIGTERM) == 143
    shutil.rmtree(folder.state / "prometheus" / document["name"], ignore_errors=True)


def _prometheus_of(serving: Serving) -> str:
    url = serving.get("/status", admin=True)[1]["prometheus"]
    assert url is not None, serving.said.read_text()
    return str(url)


def test_every_panel_is_alive_and_counts_agree_with_the_run(recorded: Recorded) -> None:
    done = teapot(
        "dashboards", "check", "--prometheus", recorded.prometheus, "--run", str(recorded.run), "--json"
    )
    told = json.loads(done.stdout)
    bad = [verdict for board in told["boards"] for verdict in board["verdicts"] if not verdict["good"]]
    assert bad == [], done.stdout
    by_what = {(c["what"], c["where"]): c for c in told["comparisons"]}
    assert by_what["requests", "gateway"]["agrees"] is True, by_what
    assert by_what["TPOT mean", "gateway"]["agrees"] is not None
    assert by_what["E2E mean", "engines"]["agrees"] is not None


def test_every_board_is_drawn(recorded: Recorded, tmp_path: Path) -> None:
    out = tmp_path / "preview"
    done = teapot("dashboards", "preview", "--prometheus", recorded.prometheus, "--out", str(out))
    assert done.returncode == 0, done.stderr
    page = (out / "index.html").read_text()
    assert page.count("<svg") == len(list(out.glob("*.png"))) > 0
    assert "Cannot be evaluated" not in page
    assert "tok/s" in page
