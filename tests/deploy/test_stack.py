from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from fakes.engine_home import EngineHome, make_engine_home

from deploy.prepared import prepare
from deploy.stack import Stack
from serving.console import Console
from serving.engine.leftovers import marked_processes
from serving.engine.ports import is_free
from serving.errors import Failed

PREFIX_CACHE = {"kind": "prefix_cache"}
SMALL = {"device": "cpu", "kv_cache_memory": "256MiB"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    return home


class Said(Console):
    def __init__(self) -> None:
        super().__init__(out=io.StringIO(), err=io.StringIO())

    def text(self) -> str:
        return self.err.getvalue()  # type: ignore[attr-defined]  # a StringIO


def make(home: EngineHome, console: Console, *, allow_ineffective: bool = False, **keys) -> Stack:
    prepared = prepare(str(home.deployment(**keys)), (), console, allow_ineffective=allow_ineffective)
    return Stack(prepared, console, allow_ineffective)


@asynccontextmanager
async def serving(stack: Stack) -> AsyncIterator[asyncio.Task[Failed]]:
    """The stack up and kept up, and down afterwards."""
    try:
        await stack.up()
        keeping = asyncio.create_task(stack.ended())
        try:
            yield keeping
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
    finally:
        await stack.down()


async def asked(stack: Stack) -> int:
    """The status of one completion through the gateway."""
    body = {"model": "tiny", "prompt": "Once", "max_tokens": 2}
    async with (
        aiohttp.ClientSession(stack.gateway.public_url) as session,
        session.post("/v1/completions", json=body) as answer,
    ):
        await answer.read()
        return answer.status


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def pid_of(stack: Stack, number: int = 0) -> int:
    pid = stack.supervisor.engines[number].pid
    assert pid is not None
    return pid


def ready(stack: Stack) -> list[bool]:
    return [backend.state == "ready" for backend in stack.gateway.state.backends]


@pytest.mark.slow
async def test_a_stack_goes_up_proves_its_modes_serves_and_goes_down(home: EngineHome) -> None:
    console = Said()
    stack = make(home, console, modes=[PREFIX_CACHE])
    async with serving(stack):
        assert await asked(stack) == 200
        assert [verdict.in_effect for verdict in stack.verdicts] == [True]
        assert stack.gateway.state.document()["modes"][0]["in_effect"] is True
    assert "prefix_cache  in effect" in console.text()
    assert "nothing of it is left" in console.text()
    assert all(is_free("127.0.0.1", engine.spec.port) for engine in stack.prepared.engines)


@pytest.mark.slow
async def test_what_the_engine_tells_of_its_cache_is_held_against_the_plan_and_kept(home: EngineHome) -> None:
    # A block of the tiny model is 2 (K, V) * 4 layers * 4 heads * 64 * 2 bytes * 128 tokens = 512 KiB, so
    # that 364 MiB are the 728 blocks that the scripted engine tells of.
    home.behave("--cache-config kv_cache_memory_bytes=381681664")
    console = Said()
    stack = make(home, console, engine=SMALL | {"kv_cache_memory": "364MiB", "max_model_len": 2048})
    async with serving(stack):
        [engine] = stack.prepared.engines
        kept = json.loads(engine.spec.log.with_suffix(".plan.json").read_text())
    rows = {row["name"]: (row["predicted"], row["actual"]) for row in kept["figures"]}
    assert rows["kv_blocks"] == (728, 728)
    assert rows["kv_cache_tokens"] == (93184, 93184)
    assert "concurrency 45.50: all as predicted" in console.text()


@pytest.mark.slow
async def test_a_cache_other_than_planned_is_a_warning_with_a_pointer(home: EngineHome) -> None:
    home.behave("--cache-config kv_cache_size_tokens=50000")
    console = Said()
    stack = make(home, console, engine=SMALL | {"kv_cache_memory": "364MiB", "max_model_len": 2048})
    async with serving(stack):
        pass
    assert "warning: the plan said tokens 93,184 and the engine has 50,000 (-46.3%" in console.text()
    assert "docs/planner.md" in console.text()


@pytest.mark.slow
async def test_a_mode_that_is_not_in_effect_keeps_it_from_serving(home: EngineHome) -> None:
    home.behave("--no-enable-prefix-caching")
    console = Said()
    stack = make(home, console, modes=[PREFIX_CACHE])
    with pytest.raises(Failed, match=r"mode 'prefix_cache' .* is not in effect"):
        await stack.up()
    await stack.down()
    assert "NOT IN EFFECT" in console.text()
    assert marked_processes("TEAPOT_STACK_ID", stack._guardian.stack_id) == []


@pytest.mark.slow
async def test_unless_it_is_allowed_to(home: EngineHome) -> None:
    home.behave("--no-enable-prefix-caching")
    stack = make(home, Said(), modes=[PREFIX_CACHE], allow_ineffective=True)
    async with serving(stack):
        assert [verdict.in_effect for verdict in stack.verdicts] == [False]
        assert await asked(stack) == 200


@pytest.mark.slow
async def test_a_taken_port_is_said_before_any_engine_is_started(home: EngineHome) -> None:
    console = Said()
    first, second = make(home, console), None
    async with serving(first):
        second = Stack(first.prepared, console)
        with pytest.raises(Failed, match=f"port {first.prepared.deployment.gateway.port} .* is in use"):
            await second.up()
        await second.down()
        assert await asked(first) == 200


@pytest.mark.slow
async def test_a_killed_engine_is_out_of_routing_at_once_and_serves_again(home: EngineHome) -> None:
    console = Said()
    stack = make(home, console, modes=[PREFIX_CACHE])
    async with serving(stack):
        os.kill(pid_of(stack), signal.SIGKILL)
        await until(lambda: ready(stack) == [False])
        assert await asked(stack) == 503
        await until(lambda: ready(stack) == [True])
        assert await asked(stack) == 200
    assert "signal 9" in console.text()
    assert console.text().count("modes probed") == 2


@pytest.mark.slow
async def test_while_one_replica_starts_again_the_other_answers(home: EngineHome) -> None:
    console = Said()
    stack = make(home, console, replicas=2, engine=SMALL)
    async with serving(stack):
        home.behave("--start-delay 100")
        os.kill(pid_of(stack, 1), signal.SIGKILL)
        await until(lambda: ready(stack) == [True, False])
        assert [await asked(stack) for _ in range(3)] == [200, 200, 200]
    assert "scripted-0" in console.text()
    assert "2 engines ended in" in console.text()


@pytest.mark.slow
async def test_an_engine_that_is_given_up_ends_the_deployment_with_the_reason(home: EngineHome) -> None:
    stack = make(home, Said())
    async with serving(stack) as keeping:
        home.behave(
            "--die-after 0 --start-delay 5 --die-exit-code 2 "
            "--die-message 'error: unrecognized arguments: -x'"
        )
        os.kill(pid_of(stack), signal.SIGKILL)
        failure = await asyncio.wait_for(keeping, 30)
    assert "wrong flag is not tried again" in str(failure)
    assert "-x" in str(failure)


@pytest.mark.slow
async def test_a_prefill_and_decode_pair_answers_also_where_no_cache_is_handed_over(home: EngineHome) -> None:
    console = Said()
    pair = {"kind": "disaggregated", "prefill": 1, "decode": 1, "connector": {"kind": "nixl"}}
    stack = make(home, console, modes=[pair], engine=SMALL, allow_ineffective=True)
    async with serving(stack):
        assert await asked(stack) == 200
        roles = {backend.role: backend for backend in stack.gateway.state.backends}
        assert set(roles) == {"prefill", "decode"}
        assert [verdict.in_effect for verdict in stack.verdicts] == [False]


PAIR = {"kind": "disaggregated", "prefill": 1, "decode": 1, "connector": {"kind": "nixl"}}
NIXL_IS_UP = "--say 'Creating v1 connector with name: NixlPullConnector and engine_id: e'"


@pytest.mark.slow
async def test_a_pair_is_proven_before_it_is_ready_and_anew_after_a_crash(home: EngineHome) -> None:
    home.behave(f"--hand-over blocks {NIXL_IS_UP}")
    console = Said()
    stack = make(home, console, modes=[PAIR], engine=SMALL)
    async with serving(stack):
        [mode] = stack.gateway.state.document()["modes"]
        assert mode["in_effect"] is True
        assert "came from scripted-prefill-0 to scripted-decode-0" in mode["evidence"]
        os.kill(pid_of(stack, 1), signal.SIGKILL)
        await until(lambda: console.text().count("tried together in") == 2 and ready(stack) == [True, True])
        assert stack.gateway.state.document()["modes"][0]["in_effect"] is True


@pytest.mark.slow
async def test_a_pair_that_hands_nothing_over_is_refused_with_what_was_seen(home: EngineHome) -> None:
    home.behave(f"--hand-over nothing {NIXL_IS_UP}")
    stack = make(home, Said(), modes=[PAIR], engine=SMALL)
    with pytest.raises(Failed, match="scripted-decode-0 computed a prompt of"):
        async with serving(stack):
            pytest.fail("it must not serve")
