"""Whole rollouts on scripted engines: an old revision that is lost, a new one that leaks or is half bad."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.engine_home import EngineHome, make_engine_home
from fakes.generation import refusal
from fakes.revisions import PATIENCE_S, Clients, Running, file_of, running, until
from fakes.rollouts import WIDE, FakeHands, Rollout, plan_for
from fakes.scripted_engine import ScriptedEngine

from deploy.rollout.plan import Step
from serving.engine.watching import Clock

pytestmark = pytest.mark.slow
QUICK = "--ttft 0.004 --itl 0.001"
NOT_AGAIN = "--die-after 0 --start-delay 5 --die-exit-code 2 --die-message 'error: unrecognized -x'"
"""An engine that dies so that it is given up at once."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    home.behave(QUICK)
    return home


def clients(up: Running) -> Clients:
    return Clients(up.stack.gateway.public_url, tokens=4)


async def lose(up: Running, name: str) -> None:
    """Kill a revision's engine, which does not come up again."""
    up.home.behave(NOT_AGAIN)
    pid = up.stack.engines.groups[name].supervisor.engines[0].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await up.reaches("failed", name)


async def test_the_old_revision_lost_in_a_step_leaves_nobody_without_an_answer(
    home: EngineHome, tmp_path: Path
) -> None:
    old, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, old) as up, clients(up).asking(4) as asking:
        going = Rollout(
            up, plan_for(new, old, steps=(Step(0.2, 30.0), Step(0.5, 1.0), Step(1.0, 1.0))), tmp_path / "r"
        )
        doing = asyncio.create_task(going.run())
        await going.reaches("baking")
        await lose(up, "main")
        assert await doing == 0, going.story()
        assert [state for state in going.states if state != "holding"][4:] == [
            "baking", "moving", "baking", "promoting", "done",
        ]  # fmt: skip
        assert up.own("main") is None
        before = asking.statuses[200]
        await until(lambda: asking.statuses[200] > before + 20)
    # What was under way on it when it was killed, and nothing else.
    assert sum(count for status, count in asking.statuses.items() if status != 200) <= 4, asking.failures


async def test_a_bad_revision_without_an_old_one_to_go_back_to_goes_on_answering_and_a_person_is_asked(
    home: EngineHome, tmp_path: Path
) -> None:
    old, new = file_of(home, "old"), file_of(home, "new")
    async with running(home, old) as up, clients(up).asking(4) as asking:
        home.behave(f"{QUICK} --fail-every 3")
        lost = threading.Event()
        plan = plan_for(new, old, steps=(Step(0.5, 30.0), Step(1.0, 30.0)))
        hands = FakeHands(warming=lambda urls: lost.wait(PATIENCE_S))
        going = Rollout(up, plan, tmp_path / "r", hands)
        doing = asyncio.create_task(going.run())
        await going.reaches("warming")
        await lose(up, "main")
        lost.set()
        assert await doing == 3, going.story()
        assert going.state.name == "asking"
        assert "there is nothing to go back to, and nobody else can answer" in going.state.why
        assert (up.own() or {})["weight"] == 1.0
        before = asking.statuses[200]
        await until(lambda: asking.statuses[200] > before + 20)


async def test_a_revision_whose_engine_leaks_memory_is_taken_back_for_that(
    home: EngineHome, tmp_path: Path
) -> None:
    old, new = file_of(home, "old"), file_of(home, "new")
    often = Clock(sleep=lambda seconds: asyncio.sleep(min(seconds, 0.1)))
    async with running(home, old, clock=often) as up, clients(up).asking(2) as asking:
        home.behave(f"{QUICK} --leak 20")
        gates = WIDE.model_copy(update={"memory": 0.2})
        going = Rollout(up, plan_for(new, old, gates=gates, steps=(Step(0.5, 20.0),)), tmp_path / "r")
        doing = asyncio.create_task(going.run())
        await going.reaches("baking")
        url = (up.own() or {})["backends"][0]["url"]
        assert await doing == 1, going.story()
        found = going.look()["checks"]["memory"]
        assert found["answer"] == "FAIL"
        assert found["why"].startswith(f"memory of {url} went from ")
        assert found["numbers"]["last_bytes"] - found["numbers"]["first_bytes"] > 2**20
        assert up.own() is None
    assert set(asking.statuses) == {200}, asking.failures


async def test_of_two_new_engines_the_one_that_fails_is_named(home: EngineHome, tmp_path: Path) -> None:
    old, new = file_of(home, "old"), file_of(home, "new", replicas=2)
    async with running(home, old) as up, clients(up).asking(4):
        bad: list[str] = []

        def break_one(urls: tuple[str, ...]) -> None:
            bad.append(urls[1])
            port = int(urls[1].rpartition(":")[2])
            # Asked for by the model's name, so that it is all that this engine answers from now on.
            ScriptedEngine(None, port).define(replace(refusal(500, "scripted failure"), name="tiny"))

        going = Rollout(
            up, plan_for(new, old, steps=(Step(0.5, 20.0),)), tmp_path / "r", FakeHands(warming=break_one)
        )
        assert await going.run() == 1, going.story()
        failed = {name: row["why"] for name, row in going.look()["checks"].items() if row["answer"] == "FAIL"}
        assert failed.keys() & {"errors", "failed_tries", "engines"}, going.story()
        assert any(bad[0] in why for why in failed.values()), failed
