"""`teapot demo` as a process, with the scripted engine in the place of vLLM."""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from e2e.deployments import TEAPOT, alive, descendants
from fakes.engine_home import EngineHome, make_engine_home

from deploy.commands import demo as command
from deploy.demo import DEPLOYMENT, WORKLOAD

GONE_WITHIN_S = 10


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    return home


def test_without_arguments_it_runs_its_own_files() -> None:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    args = parser.parse_args([])
    assert (args.file, args.workload, args.out, args.overrides) == (DEPLOYMENT, WORKLOAD, None, [])


def workload(folder: Path) -> Path:
    path = folder / "workload.yaml"
    document = {
        "name": "short",
        "endpoint": "completions",
        "arrival": {"process": "constant", "rate": "4/s", "duration": "60s"},
        "prompts": {"kind": "prompt_set", "output_tokens": 8},
        "seed": 1,
    }
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.mark.slow
def test_if_it_is_killed_neither_engine_nor_locust_is_left(home: EngineHome, tmp_path: Path) -> None:
    words = ["demo", "--file", str(home.deployment()), "--workload", str(workload(tmp_path))]
    records = tmp_path / "run" / "records.jsonl"
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            [*TEAPOT, *words, "--out", str(tmp_path / "run")],
            stdout=said,
            stderr=said,
            stdin=subprocess.DEVNULL,
        )
    try:
        until = time.monotonic() + 60
        while not (records.exists() and records.read_text().count("\n") > 2):
            assert process.poll() is None, (tmp_path / "said").read_text()
            assert time.monotonic() < until, (tmp_path / "said").read_text()
            time.sleep(0.05)
        children = descendants(process.pid)
        commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children]
        assert any(b"locust" in line for line in commands)
        assert any(b"scripted_engine" in line for line in commands)
    finally:
        process.kill()
        process.wait()
    until = time.monotonic() + GONE_WITHIN_S
    while alive(children) and time.monotonic() < until:
        time.sleep(0.05)
    assert alive(children) == []
