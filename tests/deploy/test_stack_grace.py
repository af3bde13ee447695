"""Going down with a grace, served by two processes: the whole way from file to answers."""

from __future__ import annotations

import asyncio
import io
import time
from pathlib import Path

import aiohttp
import pytest
from fakes.engine_home import make_engine_home

from deploy.prepared import prepare
from deploy.stack import Stack
from serving.console import Console


async def status_of(url: str) -> int:
    # A connection of its own each time, as a load balancer's probe has.
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as answer:
        return answer.status


@pytest.mark.slow
async def test_in_the_grace_requests_are_taken_by_all_workers_while_none_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    gateway = {"port": 0, "admin_port": 0, "workers": 2, "grace": "1h"}
    file = home.deployment(engine={"device": "cpu", "kv_cache_memory": "256MiB"}, gateway=gateway)
    console = Console(out=io.StringIO(), err=io.StringIO())
    stack = Stack(prepare(str(file), (), console), console)
    try:
        await stack.up()
        url = stack.gateway.public_url
        down = asyncio.create_task(stack.down())
        deadline = time.monotonic() + 10
        while await status_of(f"{url}/health/ready") != 503:
            assert time.monotonic() < deadline
        await asyncio.sleep(0.1)  # A worker is told within 10 ms.
        assert {await status_of(f"{url}/health/ready") for _ in range(10)} == {503}
        assert {await status_of(f"{url}/v1/models") for _ in range(10)} == {200}
        down.cancel()
        await asyncio.gather(down, return_exceptions=True)
        await stack.down()  # The grace has begun already and is not begun anew.
        with pytest.raises(aiohttp.ClientConnectorError):
            await status_of(f"{url}/health/live")
    finally:
        await stack.gateway.stop()
