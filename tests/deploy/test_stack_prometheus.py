"""What the stack tells its Prometheus of engines, read from the file that Prometheus reads."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
from pathlib import Path

import pytest
from fakes.engine_home import EngineHome, make_engine_home
from fakes.fake_prometheus import make_fake_prometheus

from deploy.prepared import prepare
from deploy.stack import Stack
from serving.console import Console

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    make_fake_prometheus(home.root)
    return home


def scraped(stack: Stack) -> list[dict[str, str]]:
    file = stack.prepared.prometheus.files.targets("engine")
    return [group["labels"] for group in json.loads(file.read_text())]


async def test_engines_are_told_as_the_gateway_has_them_also_while_they_are_down_until_they_are_stopped(
    home: EngineHome,
) -> None:
    small = {"device": "cpu", "kv_cache_memory": "256MiB"}
    file = home.deployment(replicas=2, engine=small, prometheus={"port": 0})
    console = Console(out=io.StringIO(), err=io.StringIO())
    stack = Stack(prepare(str(file), (), console), console)
    keeping = None
    try:
        await stack.up()
        backends = [
            {"deployment": "scripted", "revision": b.revision, "role": b.role, "instance": b.url}
            for b in stack.gateway.state.backends
        ]
        assert sorted(scraped(stack), key=str) == sorted(backends, key=str)
        assert len(backends) == 2
        home.behave("--start-delay 100")
        keeping = asyncio.create_task(stack.ended())
        pid = stack.supervisor.engines[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(30):
            while not any(b.failures for b in stack.gateway.state.backends):  # noqa: ASYNC110 (counted, not told)
                await asyncio.sleep(0.02)
        assert len(scraped(stack)) == 2
    finally:
        if keeping is not None:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
        await stack.down()
    assert scraped(stack) == []
    assert stack.prometheus.url is None
