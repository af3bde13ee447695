"""Whole rollouts on scripted engines behind the real gateway, under load, with each fault that can happen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.engine_home import EngineHome, make_engine_home
from fakes.revisions import Clients, Running, file_of, running
from fakes.rollouts import Rollout, plan_for

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
