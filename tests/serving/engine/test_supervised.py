"""One engine over several starts; the engines are scripted, the pauses are not waited for."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from fakes import scripted_engine

from serving.engine.leftovers import leftovers
from serving.engine.ports import free_port
from serving.engine.process import EngineSpec
from serving.engine.states import EngineState
from serving.engine.supervised import EnginePlan, SupervisedEngine, Surroundings, exit_words
from serving.engine.watching import Clock
from serving.errors import Failed

READY_AGAIN_WITHIN_S = 30


class Life:
    """What an engine's life was told: states, words, pauses."""

    def __init__(self) -> None:
        self.states: list[EngineState] = []
        self.said: list[str] = []
        self.pauses: list[float] = []

    async def sleep(self, pause_s: float) -> None:
        self.pauses.append(pause_s)
        await asyncio.sleep(0.01)


async def proven(engine: SupervisedEngine, log: Sequence[str]) -> None:
    return


def spec(folder: Path, *arguments: str) -> EngineSpec:
    port = free_port()
    # The further arguments are read at each start, so that a test can change what the next one does.
    (folder / "arguments").write_text(shlex.join(arguments))
    command = (
        f'eval "exec {sys.executable} {scripted_engine.__file__} --port {port} $(cat {folder}/arguments)"'
    )
    return EngineSpec("test", ["/bin/sh", "-c", command], folder / "engine.log", port)


def engine(
    life: Life,
    what: EngineSpec,
    *,
    stuck_after_s: float = 1000.0,
    in_flight: Callable[[], int] = lambda: 0,
    prove=proven,
    sleep=None,
) -> SupervisedEngine:
    around = Surroundings(
        start_timeout_s=60,
        stuck_after_s=stuck_after_s,
        prove=prove,
        changed=lambda changed: life.states.append(changed.state),
        say=life.said.append,
        clock=Clock(time.monotonic, sleep or life.sleep),
    )
    return SupervisedEngine(EnginePlan(what, in_flight=in_flight), around)


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_AGAIN_WITHIN_S
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def stopped(one: SupervisedEngine, keeping: asyncio.Task[Failed] | None = None) -> None:
    if keeping:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    one.leave()
    await one.stop(within_s=10)


@pytest.mark.slow
async def test_a_good_life_is_started_proven_ready_drained_and_stopped(tmp_path: Path) -> None:
    life = Life()
    one = engine(life, spec(tmp_path))
    await one.start()
    await stopped(one)
    assert life.states == ["starting", "proving", "ready", "draining", "stopped"]


@pytest.mark.slow
async def test_a_killed_engine_leaves_routing_at_once_and_is_proven_again(tmp_path: Path) -> None:
    life, proofs = Life(), []

    async def prove(proved: SupervisedEngine, log: Sequence[str]) -> None:
        proofs.append(proved.pid)

    one = engine(life, spec(tmp_path, "--child"), prove=prove)
    await one.start()
    keeping = asyncio.create_task(one.keep())
    first = one.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await until(lambda: life.states.count(EngineState.READY) == 2)
    assert life.states[3:] == ["crashed", "waiting", "starting", "proving", "ready"]
    assert len(set(proofs)) == 2
    assert 1 in life.pauses
    assert "ended while serving (signal 9)" in life.said[0]
    assert "starting it again in 1 s" in life.said[0]
    assert life.said[-1] == "engine test is ready again"
    await stopped(one, keeping)


@pytest.mark.slow
async def test_a_crash_loop_is_given_up_after_five_with_the_reason(tmp_path: Path) -> None:
    life = Life()
    what = spec(
        tmp_path, "--die-after", "0.3", "--die-message", "RuntimeError: the GPU has fallen off the bus"
    )
    one = engine(life, what)
    await one.start()
    given_up = await asyncio.wait_for(one.keep(), 60)
    assert "the GPU has fallen off the bus" in str(given_up)
    assert "it is given up: 5 crashes within 10 minutes" in str(given_up)
    assert str(what.log) in str(given_up)
    assert [pause for pause in life.pauses if pause in (1, 2, 4, 8)] == [1, 2, 4, 8]
    assert one.state is EngineState.FAILED
    await stopped(one)
    assert one.state is EngineState.FAILED


@pytest.mark.slow
async def test_a_wrong_flag_at_a_restart_is_not_tried_again(tmp_path: Path) -> None:
    life = Life()
    one = engine(life, spec(tmp_path))
    await one.start()
    complaint = "api_server.py: error: unrecognized arguments: --no-such"
    (tmp_path / "arguments").write_text("")
    script = f"{sys.executable} -c \"import sys; sys.stderr.write('{complaint}'); sys.exit(2)\""
    one.plan.spec.argv[2] = script  # type: ignore[index]  # a list here
    assert one.pid is not None
    os.kill(one.pid, signal.SIGKILL)
    given_up = await asyncio.wait_for(one.keep(), 60)
    assert "--no-such" in str(given_up)
    assert "wrong flag is not tried again" in str(given_up)
    assert [pause for pause in life.pauses if pause >= 1 and pause != 5] == [1]


@pytest.mark.slow
async def test_the_first_start_that_fails_is_not_tried_again_and_leaves_nothing(tmp_path: Path) -> None:
    life = Life()
    one = engine(life, spec(tmp_path, "--start-delay", "100", "--child", "--die-after", "0.2"))
    with pytest.raises(Failed, match="died at stage 'importing': scripted death"):
        await one.start()
    assert life.states == ["starting"]
    assert one.pid is not None
    assert leftovers("none", one.pid) == []
    await stopped(one)


@pytest.mark.slow
async def test_an_engine_that_is_refused_by_the_proof_is_ended(tmp_path: Path) -> None:
    async def refuse(proved: SupervisedEngine, log: Sequence[str]) -> None:
        raise Failed("mode 'x' is not in effect")

    one = engine(Life(), spec(tmp_path, "--child"), prove=refuse)
    with pytest.raises(Failed, match="not in effect"):
        await one.start()
    assert one.pid is not None
    assert leftovers("none", one.pid) == []
    await stopped(one)


@pytest.mark.slow
async def test_one_that_dies_while_it_is_proven_is_told_as_dead(tmp_path: Path) -> None:
    async def forever(proved: SupervisedEngine, log: Sequence[str]) -> None:
        await asyncio.Event().wait()

    one = engine(
        Life(), spec(tmp_path, "--die-after", "0.5", "--die-message", "RuntimeError: odd"), prove=forever
    )
    with pytest.raises(Failed, match=r"ended while serving \(exit code 1\): RuntimeError: odd"):
        await asyncio.wait_for(one.start(), 60)
    await stopped(one)


@pytest.mark.slow
async def test_a_stuck_engine_is_killed_and_started_again(tmp_path: Path) -> None:
    life, requests = Life(), [0]
    one = engine(life, spec(tmp_path), stuck_after_s=0.5, in_flight=lambda: requests[0], sleep=asyncio.sleep)
    await one.start()
    keeping = asyncio.create_task(one.keep())
    await asyncio.sleep(0.2)
    requests[0] = 1
    assert one.pid is not None
    os.kill(one.pid, signal.SIGSTOP)
    await until(lambda: EngineState.CRASHED in life.states)
    requests[0] = 0
    await until(lambda: life.states.count(EngineState.READY) == 2)
    assert "is stuck: it has requests and nothing has moved for 0.5 s" in life.said[0]
    await stopped(one, keeping)


@pytest.mark.slow
async def test_a_keeping_that_is_cancelled_in_the_middle_of_a_restart_leaves_nothing(tmp_path: Path) -> None:
    life = Life()
    one = engine(life, spec(tmp_path))
    await one.start()
    (tmp_path / "arguments").write_text("--start-delay 100 --child --ignore-sigterm")
    keeping = asyncio.create_task(one.keep())
    assert one.pid is not None
    os.kill(one.pid, signal.SIGKILL)
    await until(lambda: life.states.count(EngineState.STARTING) == 2)
    await asyncio.sleep(0.3)
    await stopped(one, keeping)
    assert leftovers("none", one.pid) == []
    assert life.states[-1] == "stopped"


@pytest.mark.slow
async def test_a_log_that_cannot_grow_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    what = spec(tmp_path, "--say", "x" * 3000, "--child")
    limited = f"ulimit -f 1; {what.argv[2]}"
    one = engine(Life(), EngineSpec("test", ["/bin/sh", "-c", limited], what.log, what.port))
    with pytest.raises(Failed, match=f"{tmp_path}/engine.log: engine test died"):
        await one.start()
    assert one.pid is not None
    assert leftovers("none", one.pid) == []
    await stopped(one)


def test_exit_codes_are_said_as_codes_and_signals() -> None:
    assert (exit_words(1), exit_words(-9)) == ("exit code 1", "signal 9")
