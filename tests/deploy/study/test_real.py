"""The real world with a scripted engine in the place of vLLM: processes, ports and HTTP are real."""

from __future__ import annotations

import asyncio

import pytest
from fakes.engine_home import EngineHome, make_engine_home
from fakes.studies import CHAT, study

from deploy.study.real import RealWorld, shown
from loadgen.run_folder import RunFolder
from serving.engine.ports import is_free
from serving.errors import Failed
from serving.modes.mode import Verdict

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path, monkeypatch) -> EngineHome:
    made = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(made.root))
    return made


def one(tmp_path, home: EngineHome, **changes):
    deployment = {
        "name": "base",
        "model": str(home.root / "models" / "tiny"),
        "engine": {"device": "cpu", "max_model_len": 2048, "kv_cache_memory": "1GiB"},
    }
    return study(tmp_path, deployment=deployment, arms={"plain": {}}, **changes)


async def test_an_arm_comes_up_a_load_leaves_its_run_and_nothing_is_left(tmp_path, home):
    said: list[str] = []
    world = RealWorld(tmp_path, said.append)
    arm = one(tmp_path, home)
    load = arm.workloads["chat"]
    async with world.up(arm.arms[0]) as up:
        assert up.ready()
        ports = [int(url.rpartition(":")[2]) for url in (up.url, *up.engine_urls)]
        await world.load(up, load, tmp_path / "load")
    assert RunFolder(tmp_path / "load").summary()["requests"]["ok"] == 8
    assert all(is_free("127.0.0.1", port) for port in ports)
    assert any("ready after" in line for line in said)


async def test_a_cancelled_load_has_ended_its_sending_when_it_returns(tmp_path, home):
    world = RealWorld(tmp_path)
    long = {**CHAT, "arrival": {"process": "poisson", "rate": "2/s", "duration": "120s"}}
    arm = one(tmp_path, home, workloads={"chat": long})
    async with world.up(arm.arms[0]) as up:
        sending = asyncio.create_task(world.load(up, arm.workloads["chat"], tmp_path / "load"))
        while not (tmp_path / "load" / "records.jsonl").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
    assert RunFolder(tmp_path / "load").summary()["valid"] is False


async def test_an_engine_that_does_not_come_up_is_told_with_the_end_of_its_log(tmp_path, home):
    home.behave("--die-after 0 --die-message 'RuntimeError: no memory'")
    world = RealWorld(tmp_path)
    arm = one(tmp_path, home).arms[0]
    assert world.log_tail(arm) == ()
    with pytest.raises(Failed):
        async with world.up(arm):
            pass
    assert any("no memory" in line for line in world.log_tail(arm))


def test_a_verdict_is_kept_with_its_evidence_and_its_warnings():
    kept = shown(Verdict("quantized_kv", "fp8", None, "no label", ("scale 1.0",)))
    assert (kept.kind, kept.in_effect, kept.evidence, kept.warnings) == (
        "quantized_kv", None, "no label", ("scale 1.0",),
    )  # fmt: skip
