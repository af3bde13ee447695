"""Whole rollouts on scripted engines behind the real gateway, under load, with each fault that can happen."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from fakes.engine_home import EngineHome, make_engine_home
from fakes.revisions import SMALL, Clients, Running, file_of, running, until
from fakes.rollouts import WIDE, Rollout, plan_for

from deploy.rollout.plan import Step

pytestmark = pytest.mark.slow
QUICK = "--ttft 0.004 --itl 0.001"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    home.behave(QUICK)
    return home


def rollout(up: Running, tmp_path: Path, old: Path, new: Path, **changed: Any) -> Rollout:
    return Rollout(up, plan_for(new, old, **changed), tmp_path / "rollout")


def clients(up: Running, **more: Any) -> Clients:
    return Clients(up.stack.gateway.public_url, **({"tokens": 4} | more))


async def test_a_good_revision_is_promoted_and_the_old_engines_leave(
    home: EngineHome, tmp_path: Path
) -> None:
    old, new = file_of(home, "old"), file_of(home, "new", modes=[{"kind": "prefix_cache"}])
    async with running(home, old) as up, clients(up).asking(4) as asking:
        going = rollout(up, tmp_path, old, new)
        assert await going.run() == 0, going.story()
        assert [state for state in going.states if state != "holding"] == [
            "starting", "proving", "warming", "moving", "baking", "moving", "baking", "promoting", "done",
        ]  # fmt: skip
        assert up.own("main") is None
        assert (up.own() or {})["weight"] == 1.0
        assert up.stack.gateway.state.document()["rollout"]["state"] == "done"
        assert [verdict.split(":")[1].strip() for verdict in going.verdicts] == ["PASS", "PASS", "promoted"]
    assert set(asking.statuses) == {200}, asking.failures


def of_canary(row: dict[str, Any], check: str) -> str:
    """What a check said at the last look."""
    return str(row["checks"][check]["answer"])


async def test_a_revision_that_is_slower_by_30_percent_is_taken_back_for_that(
    home: EngineHome, tmp_path: Path
) -> None:
    home.behave("--ttft 0.04 --itl 0.01")
    old, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, old) as up, clients(up, tokens=6).asking(12) as asking:
        home.behave("--ttft 0.052 --itl 0.013")
        gates = WIDE.model_copy(update={"ttft": 1.3, "tpot": 1.3})
        going = rollout(up, tmp_path, old, new, gates=gates, steps=(Step(0.5, 3.0), Step(1.0, 1.0)))
        assert await going.run() == 1, going.story()
        look = going.look()
        assert {of_canary(look, "ttft"), of_canary(look, "tpot")} & {"FAIL", "INCONCLUSIVE"}
        assert going.state.step == 0, going.story()
        assert up.own() is None
    assert set(asking.statuses) == {200}, asking.failures


@pytest.mark.parametrize(
    ("words", "check"),
    [("--fail-every 50", "errors"), ("--hang-every 12", "aborts")],
    ids=["2-percent-errors", "aborts-only"],
)
async def test_a_revision_that_fails_or_is_left_by_clients_is_taken_back(
    home: EngineHome, tmp_path: Path, words: str, check: str
) -> None:
    old, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, old) as up, clients(up, leaves_after_s=0.5).asking(8):
        home.behave(f"{QUICK} {words}")
        gates = WIDE.model_copy(update={"errors": 0.02, "aborts": 0.03, "missed": 0.05})
        going = rollout(up, tmp_path, old, new, gates=gates, wait_s=6.0)
        assert await going.run() == 1, going.story()
        assert of_canary(going.look(), check) != "PASS"
        assert going.state.step == 0, going.story()
        assert {row["name"] for row in up.stack.gateway.state.document()["revisions"]} == {"main"}


async def test_a_revision_that_dies_at_half_of_the_requests_is_taken_back(
    home: EngineHome, tmp_path: Path
) -> None:
    old, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, old) as up, clients(up).asking(4) as asking:
        home.behave(f"{QUICK} --die-on-request 40")
        going = rollout(up, tmp_path, old, new)
        assert await going.run() == 1, going.story()
        assert of_canary(going.look(), "failures") == "FAIL"
        before = asking.statuses[200]
        await until(lambda: asking.statuses[200] > before + 20)
        # What was under way on it when it died was its own fault, and nothing else was lost.
        assert sum(count for status, count in asking.statuses.items() if status != 200) <= 4


@pytest.mark.parametrize(
    ("words", "keys", "why"),
    [
        ("--start-delay 100", {"engine": {**SMALL, "start_timeout": "1s"}}, "within 1 s"),
        ("--no-enable-prefix-caching", {"modes": [{"kind": "prefix_cache"}]}, "mode 'prefix_cache'"),
    ],
    ids=["never-ready", "mode-not-in-effect"],
)
async def test_a_revision_that_cannot_serve_gets_no_request(
    home: EngineHome, tmp_path: Path, words: str, keys: dict[str, Any], why: str
) -> None:
    old, new = file_of(home, "old"), file_of(home, "new", **keys)
    async with running(home, old) as up, clients(up).asking() as asking:
        home.behave(f"{QUICK} {words}")
        going = rollout(up, tmp_path, old, new)
        assert await going.run() == 1, going.story()
        assert going.state.name == "failed"
        assert why in going.story()
        assert up.answers("new") == 0
    assert set(asking.statuses) == {200}, asking.failures


async def test_without_traffic_nothing_is_promoted(home: EngineHome, tmp_path: Path) -> None:
    old, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, old) as up:
        going = rollout(up, tmp_path, old, new, wait_s=1.0)
        assert await going.run() == 1
        assert going.look()["checks"]["requests"]["answer"] == "INCONCLUSIVE"
        assert going.state.step == 0


async def test_traffic_that_changes_during_the_bake_is_not_held_against_the_revision(
    home: EngineHome, tmp_path: Path
) -> None:
    old, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, old) as up, clients(up).asking(4) as asking:
        going = rollout(up, tmp_path, old, new, steps=(Step(0.5, 3.0), Step(1.0, 0.5)))
        doing = asyncio.create_task(going.run())
        await going.reaches("baking")
        asking.tokens = 12
        assert await doing == 0, going.story()
    assert set(asking.statuses) == {200}, asking.failures


async def test_a_gateway_that_is_started_again_in_the_middle_serves_its_own_file_and_it_is_over(
    home: EngineHome, tmp_path: Path
) -> None:
    old, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, old) as up:
        going = rollout(up, tmp_path, old, new, wait_s=60.0)
        doing = asyncio.create_task(going.run())
        await going.reaches("baking")
        await up.stack.down()
        async with running(home, old) as again:
            assert await doing == 1, going.story()
            assert going.state.name == "rolled_back"
            assert {row["name"] for row in again.stack.gateway.state.document()["revisions"]} == {"main"}
            async with clients(again).asking() as asking:
                await until(lambda: asking.statuses[200] > 5)
            assert set(asking.statuses) == {200}


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="there is no Prometheus here")
async def test_a_prometheus_that_is_gone_holds_the_rollout_and_is_never_a_pass(
    home: EngineHome, tmp_path: Path
) -> None:
    old = file_of(home, "old", prometheus={"enabled": True, "port": 0})
    new = file_of(home, "new")
    async with running(home, old) as up, clients(up).asking(2) as asking:
        going = rollout(up, tmp_path, old, new, wait_s=3.0)
        doing = asyncio.create_task(going.run())
        await going.reaches("baking")
        assert up.stack.prometheus._process is not None
        os.kill(up.stack.prometheus._process.pid or 0, signal.SIGKILL)
        assert await doing == 1, going.story()
        assert going.said.count(f"judged by Prometheus at {up.stack.gateway.state.prometheus}") <= 1
        assert "judged by Prometheus" in "\n".join(going.said)
        assert len([text for text in going.said if text.startswith("nobody tells the numbers")]) == 1
        assert going.state.step == 0
    assert set(asking.statuses) == {200}, asking.failures
