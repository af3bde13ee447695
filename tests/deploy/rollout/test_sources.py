"""Where numbers come from: both sources tell the same counts of the same requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
import pytest
from fakes.prometheus_api import Script, matrix, serving, vector
from fakes.raw_http import RawEngine, fixed
from fakes.scripted_engine import ScriptedEngine

from deploy.rollout.client import Admin
from deploy.rollout.plan import Plan, Step
from deploy.rollout.queries import COUNTS
from deploy.rollout.seen import read
from deploy.rollout.sources import FromCounters, FromPrometheus, exposed, fetch_text, source
from serving.engine.ports import free_port
from serving.errors import Failed
from serving.gateway.backends import Backend
from serving.gateway.server import Gateway
from serving.gateway.state import OwnRevision

PLAN = Plan(
    deployment="demo", canary="new", baseline="main", file="/new.yaml", strategy="canary",
    steps=(Step(0.5, 60.0), Step(1.0, 60.0)),
)  # fmt: skip
SEEN = read({"name": "demo", "revisions": [], "prometheus": None})


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    """One engine behind a gateway, as the revision `new`, which has answered three requests."""
    with ScriptedEngine.start("--ttft", "0.001", "--itl", "0.001") as engine:
        gateway = Gateway("demo")
        await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
        gateway.add(Backend(engine.url, revision="new", state="ready"))
        gateway.open(())
        gateway.state.tell("new", OwnRevision("ready"))
        async with aiohttp.ClientSession(gateway.public_url) as session:
            for number in range(3):
                body = {"model": "scripted", "prompt": f"Once {number}", "max_tokens": 4, "stream": True}
                async with session.post("/v1/completions", json=body) as answer:
                    await answer.read()
        yield gateway
        await gateway.stop()


@pytest.mark.slow
async def test_counters_are_read_from_the_gateway_and_the_revisions_engines(gateway: Gateway) -> None:
    admin = Admin(gateway.admin_url)
    seen = read(await asyncio.to_thread(admin.status))
    found = await asyncio.to_thread(FromCounters(admin, PLAN).read, seen, "new", 7.0)
    assert (found.at_s, found.revision) == (7.0, "new")
    assert found.counts["requests"] == {"/v1/completions|ok": 3.0}
    assert found.counts["finished"]["length"] + found.counts["finished"]["stop"] == 3.0
    assert found.counts["ready"] == {"": 1.0}
    nobody = await asyncio.to_thread(FromCounters(admin, PLAN).read, seen, "main", 7.0)
    assert "requests" not in nobody.counts


@pytest.mark.slow
async def test_a_ready_engine_that_does_not_tell_is_no_evidence_and_one_that_is_down_is_left_out(
    gateway: Gateway,
) -> None:
    def silent(url: str) -> str:
        raise Failed("no")

    admin = Admin(gateway.admin_url)
    seen = read(await asyncio.to_thread(admin.status))
    with pytest.raises(Failed):
        await asyncio.to_thread(FromCounters(admin, PLAN, silent).read, seen, "new", 7.0)
    next(iter(gateway.state.backends)).state = "down"
    down = read(await asyncio.to_thread(admin.status))
    found = await asyncio.to_thread(FromCounters(admin, PLAN, silent).read, down, "new", 7.0)
    assert "finished" not in found.counts
    assert found.counts["requests"] == {"/v1/completions|ok": 3.0}


def asked_for(key: str) -> str:
    """The expression of a count; whether it is the right one is tested with its row."""
    return next(count for count in COUNTS if count.key == key).promql("demo", "new")


def test_prometheus_is_asked_for_that_time_and_for_that_revision() -> None:
    script = Script({asked_for("requests"): vector(({"path": "/v1/completions", "outcome": "ok"}, "41"))})
    with serving(script) as url:
        found = FromPrometheus(url, PLAN).read(SEEN, "new", 1234.5)
    assert found.counts["requests"] == {"/v1/completions|ok": 41.0}
    forms = [form for _, form in script.asked if "query" in form]
    assert {form["time"] for form in forms} == {"1234.500"}
    assert any('revision="new"' in form["query"] and 'deployment="demo"' in form["query"] for form in forms)


def test_memory_is_read_over_the_window() -> None:
    rows = matrix(({"backend": "http://a", "instance": "http://a"}, [(1.0, "10"), (2.0, "20"), (3.0, "30")]))
    with serving(Script({asked_for("memory"): rows})) as url:
        prometheus = FromPrometheus(url, PLAN)
        assert prometheus.memory(1.0, 3.0) == {"http://a": (10.0, 20.0, 30.0)}
        assert prometheus.memory(3.0, 3.0) == {}


def test_a_prometheus_that_is_away_is_no_evidence() -> None:
    with pytest.raises(Failed, match="Prometheus cannot be reached"):
        FromPrometheus(f"http://127.0.0.1:{free_port()}", PLAN).read(SEEN, "new", time.time())


def test_the_prometheus_of_the_status_is_taken_where_there_is_one() -> None:
    admin = Admin("http://127.0.0.1:1")
    assert isinstance(source(SEEN, admin, PLAN), FromCounters)
    assert isinstance(source(replace(SEEN, prometheus="http://127.0.0.1:9"), admin, PLAN), FromPrometheus)


def test_samples_have_their_names_and_the_labels_of_their_target() -> None:
    text = '# TYPE a counter\na_total{le="1"} 3\n'
    [sample] = exposed(text, {"role": "any"})
    assert sample.labels == {"__name__": "a_total", "le": "1", "role": "any"}
    assert sample.value == 3.0


@pytest.mark.parametrize(
    "cut",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nvllm:requests 1",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nvllm:requests 1",
        b"what",
    ],
)
async def test_an_engine_that_dies_while_it_tells_is_said_as_well(cut: bytes) -> None:
    async with RawEngine().listening() as engine:
        engine.answer = fixed(cut)
        with pytest.raises(Failed, match="does not tell its metrics"):
            await asyncio.to_thread(fetch_text, f"{engine.url}/metrics")


def test_an_engine_that_is_not_there_is_said_with_its_address() -> None:
    url = f"http://127.0.0.1:{free_port()}/metrics"
    with pytest.raises(Failed, match="does not tell its metrics"):
        fetch_text(url)
