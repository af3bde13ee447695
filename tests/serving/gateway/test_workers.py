"""Several processes behind one port: equal to their parent, counted together, replaced, ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from fakes.raw_http import Call, RawClient, RawEngine, ask, chunked, fixed, get, post

from serving.errors import UsageError
from serving.gateway.backends import Backend
from serving.gateway.keys import KeyEntry, digest_of
from serving.gateway.keys_file import write_keys
from serving.gateway.server import Gateway
from serving.gateway.settings import EdgeSettings
from serving.gateway.workers import Workers, shared_out

MakeGateway = Callable[..., Awaitable[Gateway]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

CHAT = "/v1/chat/completions"
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TWO = EdgeSettings(workers=2)


def processes(gateway: Gateway) -> list[int]:
    assert isinstance(gateway._public, Workers)
    return [worker.process.pid for worker in gateway._public._workers if worker.process]


def counted(gateway: Gateway) -> Counter[str]:
    return Counter(
        {
            sample.labels["outcome"]: int(sample.value)
            for family in gateway.metrics.registry.collect()
            for sample in family.samples
            if sample.name == "teapot_gateway_requests_total"
        }
    )


async def ready(gateway: Gateway) -> None:
    """Wait until every worker knows that requests are taken."""
    for _ in range(30):
        async with asyncio.timeout(10):
            while (await ask(gateway.public_url, get("/health/ready"))).status != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


def test_each_worker_gets_its_part_of_every_limit() -> None:
    part = shared_out(EdgeSettings(workers=3, max_in_flight=10, queue=7))
    assert (part.max_in_flight, part.queue, part.workers) == (4, 3, 3)
    assert shared_out(EdgeSettings(workers=2)).max_in_flight is None


@pytest.mark.slow
async def test_two_processes_serve_one_port_and_are_counted_together(
    engine: RawEngine, make_gateway: MakeGateway, eventually: Eventually
) -> None:
    engine.answer = fixed(OK)
    gateway = await make_gateway(engine.url, settings=TWO)
    pids = processes(gateway)
    assert len(set(pids)) == 2
    assert os.getpid() not in pids
    await ready(gateway)
    answers = await asyncio.gather(*(ask(gateway.public_url, post(CHAT)) for _ in range(40)))
    assert {answer.status for answer in answers} == {200}
    await eventually(lambda: counted(gateway)["ok"] == 40)
    assert gateway.state.in_flight == 0
    await gateway.stop()
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(ConnectionRefusedError):
        await ask(gateway.public_url, get("/health/live"))


@pytest.mark.slow
async def test_what_the_parent_changes_holds_in_every_worker(
    engine: RawEngine, make_gateway: MakeGateway, eventually: Eventually
) -> None:
    engine.answer = fixed(OK)
    gateway = await make_gateway(engine.url, settings=TWO, opened=False)
    refused = await ask(gateway.public_url, post(CHAT))
    assert json.loads(refused.body)["error"]["code"] == "engine_starting"
    gateway.open(())
    await ready(gateway)
    async with RawEngine().listening() as other:
        other.answer = fixed(OK)
        gateway.add(Backend(other.url, revision="new", state="ready"))
        gateway.state.backends.set_weights({"new": 1.0})
        await asyncio.sleep(0.2)
        before = len(engine.calls)
        for _ in range(20):
            assert (await ask(gateway.public_url, post(CHAT))).status == 200
        assert (len(other.calls), len(engine.calls)) == (20, before)


@pytest.mark.slow
async def test_requests_in_flight_show_in_the_parent_and_finish_when_it_drains(
    engine: RawEngine, make_gateway: MakeGateway, eventually: Eventually
) -> None:
    finish = asyncio.Event()

    async def slow(call: Call) -> None:
        await call.send(SSE_HEAD + chunked(b"data: 1\n\n"))
        await finish.wait()
        await call.send(chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    engine.answer = slow
    gateway = await make_gateway(engine.url, settings=TWO)
    await ready(gateway)
    (backend,) = gateway.state.backends
    asked = [asyncio.create_task(ask(gateway.public_url, post(CHAT))) for _ in range(6)]
    await eventually(lambda: gateway.state.in_flight == 6)
    assert backend.in_flight == 6
    draining = asyncio.create_task(gateway.drain(30))
    await asyncio.sleep(0.1)
    assert not draining.done()
    finish.set()
    assert await draining == 0
    assert {answer.whole for answer in await asyncio.gather(*asked)} == {True}
    assert gateway.state.in_flight == 0


@pytest.mark.slow
async def test_what_does_not_finish_in_time_is_told_why_in_every_worker(
    engine: RawEngine, make_gateway: MakeGateway, eventually: Eventually
) -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE_HEAD + chunked(b"data: 1\n\n"))
        await call.gone()

    engine.answer = endless
    gateway = await make_gateway(engine.url, settings=TWO)
    await ready(gateway)
    asked = [asyncio.create_task(ask(gateway.public_url, post(CHAT))) for _ in range(6)]
    await eventually(lambda: gateway.state.in_flight == 6)
    assert await gateway.drain(0) == 6
    for answer in await asyncio.gather(*asked):
        assert b"the server is shutting down" in answer.body


@pytest.mark.slow
async def test_a_worker_that_is_killed_is_replaced_and_leaves_no_gauge_behind(
    engine: RawEngine, make_gateway: MakeGateway, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    engine.answer = Call.gone
    gateway = await make_gateway(engine.url, settings=TWO)
    await ready(gateway)
    async with RawClient.connect(gateway.public_url) as client:
        await client.send(post(CHAT))
        await eventually(lambda: gateway.state.in_flight == 1)
        pids = processes(gateway)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        await eventually(lambda: gateway.state.in_flight == 0)
    await eventually(lambda: len(set(processes(gateway)) - set(pids)) == 2)
    assert "a worker process of the gateway ended (-9); starting another" in caplog.text
    # A connection made now waits in the socket, which the parent holds, for the new worker.
    engine.answer = fixed(OK)
    assert (await ask(gateway.public_url, post(CHAT))).status == 200


@pytest.mark.slow
async def test_signals_are_the_parents_to_decide_about(gateway_of_two: Gateway) -> None:
    pids = processes(gateway_of_two)
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGINT)
    assert (await ask(gateway_of_two.public_url, get("/health/live"))).status == 200
    assert processes(gateway_of_two) == pids


@pytest.fixture
async def gateway_of_two(engine: RawEngine, make_gateway: MakeGateway) -> Gateway:
    return await make_gateway(engine.url, settings=TWO)


async def test_a_file_that_cannot_be_used_is_said_by_the_parent(tmp_path: Path) -> None:
    gateway = Gateway("demo", settings=EdgeSettings(workers=2, keys_file=tmp_path / "nowhere.yaml"))
    with pytest.raises(UsageError, match="no such file"):
        await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)


@pytest.mark.slow
async def test_keys_are_asked_for_in_every_worker(
    engine: RawEngine, make_gateway: MakeGateway, tmp_path: Path
) -> None:
    engine.answer = fixed(OK)
    write_keys(tmp_path / "k", [KeyEntry("alice", digest_of("alices-key"))])
    gateway = await make_gateway(engine.url, settings=EdgeSettings(workers=2, keys_file=tmp_path / "k"))
    await ready(gateway)
    for _ in range(10):
        assert (await ask(gateway.public_url, post(CHAT))).status == 401
        opened = await ask(gateway.public_url, post(CHAT, b"{}", "Authorization: Bearer alices-key"))
        assert opened.status == 200
