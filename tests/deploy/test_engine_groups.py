"""Several revisions' engines in one serving process: beside each other, and in each other's place."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import aiohttp
import pytest
from fakes.engine_home import EngineHome, make_engine_home
from fakes.revisions import Clients, Running, file_of, running, until

from serving.engine.leftovers import marked_processes

pytestmark = pytest.mark.slow
PREFIX_CACHE = {"kind": "prefix_cache"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    return home


def clients(up: Running) -> Clients:
    return Clients(up.stack.gateway.public_url)


def engine_processes(up: Running) -> int:
    """The scripted engines that live; the guardian carries no id."""
    return len(marked_processes("TEAPOT_STACK_ID", up.stack._guardian.stack_id))


def kill(up: Running, name: str) -> None:
    pid = up.stack.engines.groups[name].supervisor.engines[0].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


async def test_a_revision_comes_takes_over_and_the_old_one_leaves_without_a_failed_request(
    home: EngineHome,
) -> None:
    file, new = file_of(home, "old"), file_of(home, "new", modes=[PREFIX_CACHE])
    async with running(home, file) as up, clients(up).asking() as asking:
        await up.begin(new)
        await up.reaches("ready")
        row = up.own()
        assert row is not None
        assert (row["weight"], row["file"], row["problem"]) == (0.0, str(new), None)
        assert [mode["in_effect"] for mode in row["modes"]] == [True]
        assert up.answers("new") == 0
        await up.weigh(main=1, new=1)
        await until(lambda: up.answers("new") > 5)
        await up.weigh(new=1)
        assert (await up.call("DELETE", "/revisions/main"))[0] == 202
        await up.gone("main")
        assert engine_processes(up) == 1
        before = up.answers("new")
        await until(lambda: up.answers("new") > before + 5)
        assert up.stack.gateway.state.document()["modes"][0]["kind"] == "prefix_cache"
        assert "note: new shares cores with engines that run" in up.console.text()
    assert set(asking.statuses) == {200}, asking.failures


async def test_the_last_revision_with_a_share_is_not_ended_nor_one_of_an_unknown_name(
    home: EngineHome,
) -> None:
    async with running(home, file_of(home, "old")) as up:
        status, told = await up.call("DELETE", "/revisions/main")
        assert (status, "only revision with a share" in told["error"]["message"]) == (400, True)
        status, told = await up.call("DELETE", "/revisions/nobody")
        assert (status, "there are main" in told["error"]["message"]) == (400, True)


async def test_a_revision_whose_mode_is_not_in_effect_fails_alone_and_leaves_nothing(
    home: EngineHome,
) -> None:
    file, new = file_of(home, "old"), file_of(home, "new", modes=[PREFIX_CACHE])
    async with running(home, file) as up, clients(up).asking() as asking:
        home.behave("--no-enable-prefix-caching")
        await up.begin(new)
        await up.reaches("failed")
        row = up.own()
        assert row is not None
        assert "mode 'prefix_cache'" in row["problem"]
        assert [mode["in_effect"] for mode in row["modes"]] == [False]
        assert row["backends"] == []
        assert engine_processes(up) == 1
        assert not up.ended.done()
        await up.call("DELETE", "/revisions/new")
        await up.gone("new")
    assert set(asking.statuses) == {200}, asking.failures


async def test_a_file_that_cannot_be_planned_is_told_with_its_place(home: EngineHome) -> None:
    file = file_of(home, "old")
    new = file_of(home, "new", engine={"device": "cpu", "kv_cache_memory": "900TiB"})
    async with running(home, file) as up:
        await up.begin(new)
        await up.reaches("failed")
        row = up.own()
        assert row is not None
        assert "new.yaml:3: engine.kv_cache_memory" in row["problem"]
        status, told = await up.call("POST", "/revisions", {"name": "new", "file": str(new)})
        assert (status, "there is a revision 'new' already" in told["error"]["message"]) == (400, True)


async def test_one_that_does_not_get_ready_can_be_ended_while_another_may_not_begin(home: EngineHome) -> None:
    file, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, file) as up:
        home.behave("--start-delay 100")
        await up.begin(new)
        await up.reaches("starting")
        status, told = await up.call("POST", "/revisions", {"name": "third", "file": str(new)})
        assert (status, "one at a time" in told["error"]["message"]) == (400, True)
        await up.call("DELETE", "/revisions/new?in_flight=cut")
        await up.gone("new")
        assert engine_processes(up) == 1


@pytest.mark.parametrize(("how", "whole"), [("finish", True), ("cut", False)])
async def test_streams_on_a_revision_that_leaves_finish_or_are_cut(
    home: EngineHome, how: str, whole: bool
) -> None:
    file = file_of(home, "old")
    async with running(home, file) as up:
        home.behave("--itl 0.05")
        await up.begin(file_of(home, "new"))
        await up.reaches("ready")
        await up.weigh(new=1)
        asking = Clients(up.stack.gateway.public_url, tokens=20, pause_s=60)
        stream = asyncio.create_task(first_answer(asking))
        await until(lambda: up.stack.gateway.state.in_flight == 1)
        await asyncio.sleep(0.1)
        await up.weigh(main=1)
        await up.call("DELETE", f"/revisions/new?in_flight={how}")
        await up.gone("new")
        assert (await stream) is whole


async def first_answer(asking: Clients) -> bool:
    """Whether the first answer was whole."""
    async with aiohttp.ClientSession(asking.url) as session:
        body = {"model": "tiny", "prompt": "Once", "max_tokens": asking.tokens, "stream": True}
        await asking._one(session, body)
    return asking.statuses[200] == 1


async def test_where_the_old_revision_is_lost_the_new_one_steps_in_though_it_has_no_share(
    home: EngineHome,
) -> None:
    file, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, file) as up:
        await up.begin(new)
        await up.reaches("ready")
        home.behave("--die-after 0 --start-delay 5 --die-exit-code 2 --die-message 'error: unrecognized -x'")
        kill(up, "main")
        await up.reaches("failed", "main")
        async with clients(up).asking() as asking:
            await until(lambda: up.answers("new") > 5)
        assert set(asking.statuses) == {200}
        assert not up.ended.done()
        kill(up, "new")
        failure = await asyncio.wait_for(up.ended, 30)
        assert "wrong flag is not tried again" in str(failure)


async def test_where_the_old_one_is_lost_and_the_new_one_ended_nobody_waits_for_engines_that_never_come(
    home: EngineHome,
) -> None:
    async with running(home, file_of(home, "old")) as up:
        home.behave("--start-delay 100 --say 'it takes long'")
        await up.begin(file_of(home, "new"))
        await up.reaches("starting")
        log = up.stack.engines.groups["new"].prepared.engines[0].spec.log
        await until(lambda: log.exists() and "it takes long" in log.read_text())
        home.behave("--die-after 0 --start-delay 5 --die-exit-code 2 --die-message 'error: unrecognized -x'")
        kill(up, "main")
        await up.reaches("failed", "main")
        assert not up.ended.done()
        assert (await up.call("DELETE", "/revisions/new"))[0] == 202
        failure = await asyncio.wait_for(up.ended, 30)
        assert "new was ended, and main has failed: " in str(failure)


async def test_a_third_comes_up_although_the_one_that_has_the_share_is_lost(home: EngineHome) -> None:
    async with running(home, file_of(home, "old")) as up:
        await up.begin(file_of(home, "new"))
        await up.reaches("ready")
        home.behave("--die-after 0 --start-delay 5 --die-exit-code 2 --die-message 'error: unrecognized -x'")
        kill(up, "main")
        await up.reaches("failed", "main")
        home.behave("")
        await up.begin(file_of(home, "third"), "third")
        await until(lambda: (up.own("third") or {}).get("state") in ("ready", "failed"))
        row = up.own("third") or {}
        assert (row["state"], row["problem"], row["weight"]) == ("ready", None, 0.0)
        await up.weigh(third=1)


async def test_in_the_place_of_another_clients_are_told_when_to_come_back(home: EngineHome) -> None:
    file, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, file) as up:
        home.behave("--start-delay 1")
        await up.begin(new, replaces="main", again_in_s=77)
        await up.gone("main")
        async with (
            aiohttp.ClientSession(up.stack.gateway.public_url) as session,
            session.post("/v1/completions", json={"model": "tiny", "prompt": "Once"}) as answer,
        ):
            assert (answer.status, answer.headers["Retry-After"]) == (503, "77")
        await up.reaches("ready")
        await until(lambda: (up.own() or {}).get("weight") == 1.0)
        async with clients(up).asking() as asking:
            await until(lambda: up.answers("new") > 2)
        assert set(asking.statuses) == {200}
        assert not up.ended.done()


async def test_what_does_not_come_up_in_the_place_of_another_gives_it_back(home: EngineHome) -> None:
    file, new = file_of(home, "old"), file_of(home, "new", modes=[PREFIX_CACHE])
    async with running(home, file) as up:
        home.behave("--no-enable-prefix-caching")
        await up.begin(new, replaces="main", again_in_s=77)
        await up.gone("main")
        await up.reaches("ready", "main")
        await up.reaches("failed")
        assert up.stack.gateway.state.again_in_s is None
        async with clients(up).asking() as asking:
            await until(lambda: asking.statuses[200] > 2)
        assert set(asking.statuses) == {200}
        assert "starting main again" in up.console.text()


async def test_a_stack_goes_down_with_all_its_revisions_and_no_token(home: EngineHome) -> None:
    file, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, file) as up:
        await up.begin(new)
        await up.reaches("ready")
        token = up.stack.gateway.state.token_file
        assert token is not None
        assert Path(token).is_file()
        assert len(up.stack.engine_urls) == 2
    assert not Path(token).exists()
    assert engine_processes(up) == 0


async def test_a_prefill_and_decode_pair_comes_beside_an_engine_that_does_both(home: EngineHome) -> None:
    pair = {"kind": "disaggregated", "prefill": 1, "decode": 1, "connector": {"kind": "nixl"}}
    file, new = file_of(home, "old"), file_of(home, "new", modes=[pair])
    async with running(home, file) as up:
        up_is = "--say 'Creating v1 connector with name: NixlPullConnector and engine_id: e'"
        home.behave(f"--hand-over blocks {up_is}")
        await up.begin(new)
        await up.reaches("ready")
        await up.weigh(new=1)
        body = {"model": "tiny", "prompt": "word " * 200, "max_tokens": 2}
        async with (
            aiohttp.ClientSession(up.stack.gateway.public_url) as session,
            session.post("/v1/completions", json=body) as answer,
        ):
            assert answer.status == 200
        assert b'teapot_gateway_prefill_leg_seconds_count{revision="new"} 1.0' in (
            up.stack.gateway.metrics.exposition()
        )
