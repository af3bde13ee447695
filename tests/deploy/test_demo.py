"""The demo's work on a stack of a scripted engine; the load is real and short."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
from pathlib import Path

import pytest
from fakes.engine_home import EngineHome, make_engine_home

from deploy.demo import DEPLOYMENT, WORKLOAD, Demo, story
from deploy.prepared import prepare
from deploy.running import run_stack
from loadgen.workload import Workload
from serving.config.load import load_deployment, load_model
from serving.console import Console


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    return home


@pytest.fixture
def console() -> Console:
    return Console(out=io.StringIO(), err=io.StringIO())


@pytest.fixture(autouse=True)
def handlers_back():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def workload(duration: str) -> Workload:
    document = {
        "name": "short",
        "endpoint": "completions",
        "arrival": {"process": "constant", "rate": "4/s", "duration": duration},
        "warmup": {"requests": 1},
        "prompts": {"kind": "prompt_set", "output_tokens": 8},
        "sampling": {"temperature": 0},
        "seed": 1,
    }
    return Workload.model_validate(document)


def test_its_own_files_are_in_order_and_ask_for_two_modes() -> None:
    deployment, _ = load_deployment(str(DEPLOYMENT), ())
    assert [mode.kind for mode in deployment.modes] == ["prefix_cache", "quantized_kv"]
    assert load_model(str(WORKLOAD), Workload).name


def test_without_a_measurement_the_story_says_so(console: Console) -> None:
    assert story(Demo(console, None, workload("1s"))) == "nothing was measured"


@pytest.mark.slow
async def test_it_measures_the_stack_and_tells_modes_table_and_files(
    home: EngineHome, console: Console, tmp_path: Path
) -> None:
    prepared = prepare(str(home.deployment(modes=[{"kind": "prefix_cache"}])), (), console)
    demo = Demo(console, tmp_path / "run", workload("1s"))
    code = await run_stack(prepared, console, demo)
    assert demo.result is not None
    assert code == demo.result.exit_code
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["requests"]["ok"] == 4
    told = story(demo)
    assert "prefix_cache  in effect" in told
    assert "TTFT" in told
    assert str(tmp_path / "run" / "report.html") in told


@pytest.mark.slow
async def test_an_interrupted_one_still_tells_what_it_measured(
    home: EngineHome, console: Console, tmp_path: Path
) -> None:
    prepared = prepare(str(home.deployment()), (), console)
    demo = Demo(console, tmp_path / "run", workload("60s"))
    running = asyncio.create_task(run_stack(prepared, console, demo))
    records = tmp_path / "run" / "records.jsonl"
    async with asyncio.timeout(60):
        while not (records.exists() and records.read_text().count("\n") > 2):  # noqa: ASYNC110 (a file sets no event)
            await asyncio.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
    assert await asyncio.wait_for(running, 60) == 130
    assert demo.result is not None
    assert demo.result.summary["requests"]["ok"] >= 2
