from __future__ import annotations

import asyncio
import io
import os
import signal
from pathlib import Path

import pytest
from fakes.engine_home import EngineHome, make_engine_home

from deploy.prepared import Prepared, prepare
from deploy.running import first_of, run_stack
from deploy.stack import Stack
from serving.console import Console
from serving.engine.ports import is_free
from serving.errors import Failed


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    return home


@pytest.fixture(autouse=True)
def handlers_back():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def console() -> Console:
    return Console(out=io.StringIO(), err=io.StringIO())


def nothing_is_left(prepared: Prepared) -> bool:
    gateway = prepared.deployment.gateway
    ports = [gateway.port, gateway.admin_port, *(engine.spec.port for engine in prepared.engines)]
    return all(is_free("127.0.0.1", port) for port in ports)


@pytest.mark.slow
async def test_the_works_result_is_the_exit_code_and_everything_is_down(
    home: EngineHome, console: Console
) -> None:
    prepared = prepare(str(home.deployment()), (), console)

    async def work(stack: Stack) -> int:
        assert stack.gateway.state.unready() is None
        return 3

    assert await run_stack(prepared, console, work) == 3
    assert nothing_is_left(prepared)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_cancels_the_work_and_is_the_exit_code(
    home: EngineHome, console: Console, number: signal.Signals, code: int
) -> None:
    prepared = prepare(str(home.deployment()), (), console)
    cancelled = []

    async def work(stack: Stack) -> int:
        os.kill(os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)
        return 0

    assert await run_stack(prepared, console, work) == code
    assert cancelled
    assert nothing_is_left(prepared)


@pytest.mark.slow
async def test_a_signal_while_the_engine_starts_ends_it(home: EngineHome, console: Console) -> None:
    home.behave("--start-delay 100 --child --ignore-sigterm")
    prepared = prepare(str(home.deployment()), (), console)

    async def work(stack: Stack) -> int:
        raise AssertionError("it never was up")

    running = asyncio.create_task(run_stack(prepared, console, work))
    await asyncio.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)
    assert await asyncio.wait_for(running, 30) == 130
    assert nothing_is_left(prepared)


@pytest.mark.slow
async def test_an_engine_that_cannot_start_is_the_error(home: EngineHome, console: Console) -> None:
    home.behave("--die-after 0 --start-delay 1 --die-message 'ValueError: odd head size'")
    prepared = prepare(str(home.deployment()), (), console)

    async def work(stack: Stack) -> int:
        return 0

    with pytest.raises(Failed, match="odd head size"):
        await run_stack(prepared, console, work)
    assert nothing_is_left(prepared)


async def test_the_first_of_several_is_told_and_the_others_run_on() -> None:
    quick, slow = asyncio.create_task(asyncio.sleep(0, "quick")), asyncio.create_task(asyncio.sleep(60))
    assert await first_of(slow, quick) is quick
    assert not slow.done()
    slow.cancel()
