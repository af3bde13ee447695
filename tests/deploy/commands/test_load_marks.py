"""`teapot load run` with a Grafana: a real run against the scripted engine, and what is marked of it."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.fake_grafana import EDITOR, FakeGrafana, grafana
from fakes.scripted_engine import ScriptedEngine

from deploy.commands import load
from serving.console import Console

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
STAGED = """name: steps
arrival:
  stages:
    - {rate: 20/s, duration: 1s}
    - {rate: 10/s, duration: 2s}
prompts: {kind: prompt_set, output_tokens: 4}
warmup: {requests: 2}
"""


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("TEAPOT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GRAFANA_TOKEN", EDITOR)


@pytest.fixture
def fake() -> Iterator[FakeGrafana]:
    with grafana() as running:
        yield running


def run(tmp_path: Path, engine: str, fake_url: str) -> tuple[int, str]:
    (tmp_path / "w.yaml").write_text(STAGED)
    parser = argparse.ArgumentParser()
    load.configure(parser)
    words = ["run", str(tmp_path / "w.yaml"), "--target", engine, "--out", str(tmp_path / "run")]
    args = parser.parse_args([*words, "--grafana", fake_url, "--deployment", "demo"])
    err = io.StringIO()
    code = load.run(args, Console(out=io.StringIO(), err=err))
    return code, err.getvalue()


def test_begin_stages_and_end_are_marked_within_the_run(tmp_path: Path, fake: FakeGrafana) -> None:
    with ScriptedEngine.start() as engine:
        code, _ = run(tmp_path, engine.url, fake.url)
    assert code in (0, 3)
    begin, first, second, end = fake.annotations
    requests = json.loads((tmp_path / "run" / "summary.json").read_text())["requests"]
    assert begin["text"] == f"load steps begins: {engine.url}"
    assert first["text"] == "load steps: stage 1 of 2, 20/s for 1 s"
    assert second["text"] == "load steps: stage 2 of 2, 10/s for 2 s"
    assert end["text"].startswith(f"load steps ended: {requests['ok']} ok")
    assert second["time"] - first["time"] == 1000
    assert begin["time"] < first["time"] < second["time"] < end["timeEnd"]
    assert end["time"] == begin["time"]
    assert first["tags"] == ["teapot", "deployment:demo", "kind:stage"]


def test_a_grafana_that_is_down_changes_nothing_about_the_run(tmp_path: Path) -> None:
    with ScriptedEngine.start() as engine:
        code, said = run(tmp_path, engine.url, "http://127.0.0.1:1")
    assert code in (0, 3)
    assert (tmp_path / "run" / "summary.json").exists()
    assert said.count("Grafana cannot be reached") == 1
