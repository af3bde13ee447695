"""What a stack marks in a Grafana while its engines come, fail and go."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.engine_home import EngineHome, make_engine_home
from fakes.fake_grafana import EDITOR, FakeGrafana, grafana

from deploy.prepared import prepare
from deploy.stack import Stack
from serving.console import Console

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    monkeypatch.setenv("GRAFANA_TOKEN", EDITOR)
    return home


@pytest.fixture
def fake() -> Iterator[FakeGrafana]:
    with grafana() as running:
        yield running


async def test_start_failure_return_and_stop_are_marked_in_their_order(
    home: EngineHome, fake: FakeGrafana
) -> None:
    engine = {"device": "cpu", "kv_cache_memory": "256MiB"}
    file = home.deployment(engine=engine, grafana={"url": fake.url})
    console = Console(out=io.StringIO(), err=io.StringIO())
    stack = Stack(prepare(str(file), (), console), console)
    keeping = None
    try:
        await stack.up()
        keeping = asyncio.create_task(stack.ended())
        pid = stack.supervisor.engines[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(30):
            while len(fake.annotations) < 4:  # noqa: ASYNC110 (the fake's thread has no event for us)
                await asyncio.sleep(0.02)
    finally:
        if keeping is not None:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
        await stack.down()
    name = stack.prepared.engines[0].spec.name
    version = stack.prepared.environment.version
    assert [one["text"] for one in fake.annotations] == [
        f"scripted starts: vLLM {version} on cpu with tiny",
        "scripted is ready: main 100 %",
        f"engine {name} failed",
        f"engine {name} is back",
        "scripted stops",
    ]
    assert all("deployment:scripted" in one["tags"] for one in fake.annotations)
