from __future__ import annotations

import asyncio
import os
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
from serving.engine.supervised import EnginePlan, SupervisedEngine, Surroundings
from serving.engine.supervisor import Supervisor, can_serve, start_together
from serving.engine.watching import Clock
from serving.errors import Failed
from serving.modes.mode import Role

GIB = 2**30


@pytest.mark.parametrize(
    ("roles", "enough"),
    [
        (["any"], True),
        (["prefill", "decode"], True),
        (["prefill"], False),
        (["decode"], True),
        ([], False),
    ],
)
def test_a_decoder_can_serve_alone_and_a_prefiller_cannot(roles: list[Role], enough: bool) -> None:
    assert can_serve(roles) is enough


@pytest.mark.parametrize(
    ("engines", "weights", "available", "together"),
    [
        (1, 1 * GIB, 8 * GIB, True),
        (2, 1 * GIB, 8 * GIB, False),
        (2, 1 * GIB, 14 * GIB, True),
        (1, None, 1 * GIB, True),
        (2, None, 100 * GIB, False),
    ],
)
def test_engines_load_side_by_side_where_twice_the_weights_the_cache_and_3_gib_fit(
    engines: int, weights: int | None, available: int, together: bool
) -> None:
    found = start_together(engines, weight_bytes=weights, kv_bytes=2 * GIB, available_bytes=available)
    assert found is together


async def proven(engine: SupervisedEngine, log: Sequence[str]) -> None:
    return


async def short(pause_s: float) -> None:
    await asyncio.sleep(0.01)


class Fleet:
    """A supervisor of scripted engines, and the order in which they were started."""

    def __init__(self, folder: Path, *engines: tuple[str, Role, str], together: bool = True) -> None:
        self.order: list[tuple[str, EngineState]] = []
        around = Surroundings(
            start_timeout_s=60,
            stuck_after_s=1000,
            prove=proven,
            changed=lambda engine: self.order.append((engine.name, engine.state)),
            clock=Clock(time.monotonic, short),
        )
        plans = [EnginePlan(self.spec(folder, name, words), role) for name, role, words in engines]
        self.supervisor = Supervisor(plans, around, together=together)

    @staticmethod
    def spec(folder: Path, name: str, words: str) -> EngineSpec:
        port = free_port()
        argv = [sys.executable, str(scripted_engine.__file__), "--port", str(port), *words.split()]
        return EngineSpec(name, argv, folder / f"{name}.log", port)

    def serving(self) -> list[str]:
        return [engine.name for engine in self.supervisor.serving()]

    def pid(self, name: str) -> int:
        pid = next(engine.pid for engine in self.supervisor.engines if engine.name == name)
        assert pid is not None
        return pid

    async def down(self) -> dict[str, object]:
        self.supervisor.leave()
        assert self.serving() == []
        return dict(await self.supervisor.down(within_s=10))


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_engines_start_side_by_side_and_end_together(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, ("a", "any", "--start-delay 0.3"), ("b", "any", ""))
    await fleet.supervisor.up()
    assert fleet.order[:2] == [("a", "starting"), ("b", "starting")]
    assert fleet.serving() == ["a", "b"]
    assert set(await fleet.down()) == {"a", "b"}
    assert {engine.state for engine in fleet.supervisor.engines} == {EngineState.STOPPED}


@pytest.mark.slow
async def test_or_one_after_another(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, ("a", "any", ""), ("b", "any", ""), together=False)
    await fleet.supervisor.up()
    assert fleet.order.index(("a", EngineState.READY)) < fleet.order.index(("b", EngineState.STARTING))
    await fleet.down()


@pytest.mark.slow
@pytest.mark.parametrize("together", [True, False])
async def test_one_first_start_that_fails_ends_the_others(tmp_path: Path, together: bool) -> None:
    slow = "--start-delay 100 --child --ignore-sigterm"
    fleet = Fleet(
        tmp_path, ("bad", "any", "--die-after 0.3 --start-delay 9"), ("slow", "any", slow), together=together
    )
    with pytest.raises(Failed, match="engine bad died"):
        await fleet.supervisor.up()
    pids = [engine.pid for engine in fleet.supervisor.engines]
    await fleet.down()
    assert [leftovers("none", pid) for pid in pids if pid] == [[]] * sum(pid is not None for pid in pids)


@pytest.mark.slow
async def test_while_one_replica_starts_again_the_other_serves(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, ("a", "any", ""), ("b", "any", ""))
    await fleet.supervisor.up()
    keeping = asyncio.create_task(fleet.supervisor.keep())
    os.kill(fleet.pid("a"), signal.SIGKILL)
    await until(lambda: fleet.serving() == ["b"])
    await until(lambda: fleet.serving() == ["a", "b"])
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await fleet.down()


@pytest.mark.slow
async def test_without_its_prefiller_a_decoder_goes_on_serving(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, ("p", "prefill", ""), ("d", "decode", ""), together=False)
    starting = asyncio.create_task(fleet.supervisor.up())
    await until(lambda: ("p", EngineState.READY) in fleet.order)
    assert fleet.serving() == []
    await starting
    assert fleet.serving() == ["p", "d"]
    keeping = asyncio.create_task(fleet.supervisor.keep())
    os.kill(fleet.pid("p"), signal.SIGKILL)
    await until(lambda: fleet.serving() == ["d"])
    await until(lambda: fleet.serving() == ["p", "d"])
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await fleet.down()


@pytest.mark.slow
async def test_it_goes_on_with_one_given_up_and_ends_when_none_is_left(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, ("a", "any", "--die-after 0.4"), ("b", "any", ""))
    await fleet.supervisor.up()
    keeping = asyncio.create_task(fleet.supervisor.keep())
    await until(lambda: ("a", EngineState.FAILED) in fleet.order)
    assert fleet.serving() == ["b"]
    assert not keeping.done()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await fleet.down()


@pytest.mark.slow
async def test_when_all_are_given_up_the_last_reason_is_told(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, ("a", "any", "--die-after 0.4"), ("b", "any", "--die-after 0.4"))
    await fleet.supervisor.up()
    lost = await asyncio.wait_for(fleet.supervisor.keep(), 60)
    assert str(lost.problems[0].what).startswith("no engine is left: engine ")
    assert "5 crashes within 10 minutes" in str(lost)
    await fleet.down()
