"""What a rollout does by itself before anything is asked of the serving process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.engine_home import EngineHome, make_engine_home
from fakes.revisions import Said
from fakes.scripted_engine import ScriptedEngine

from deploy.rollout.hands import RealHands
from deploy.rollout.plan import Plan, Step
from deploy.rollout.seen import Engine
from serving.errors import Failed, TeapotError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    return home


def plan(path: Path) -> Plan:
    return Plan(
        deployment="scripted", canary="new", baseline="main", file=str(path), strategy="canary",
        steps=(Step(1.0, 60.0),),
    )  # fmt: skip


def test_what_fits_is_planned_and_said(home: EngineHome) -> None:
    console = Said()
    RealHands(console).plan(plan(home.deployment()))
    assert "plan: " in console.text()


def test_what_cannot_fit_beside_the_running_one_is_refused(home: EngineHome) -> None:
    path = home.deployment(engine={"device": "cpu", "kv_cache_memory": "900TiB"})
    with pytest.raises(TeapotError, match="kv_cache_memory"):
        RealHands(Said()).plan(plan(path))


def test_where_the_old_engines_end_first_nobody_plans_by_what_is_free_now(home: EngineHome) -> None:
    console = Said()
    RealHands(console).plan(replace(plan(home.deployment()), strategy="replace"))
    assert "plan: " not in console.text()


@pytest.mark.slow
def test_warming_up_says_how_many_requests_it_took() -> None:
    console = Said()
    with ScriptedEngine.start("--ttft", "0.001", "--itl", "0.001") as engine:
        RealHands(console).warm((engine.url,))
    assert console.text() == "warmed up with 7 requests\n"


PAIR = {"kind": "disaggregated", "prefill": 1, "decode": 1, "connector": {"kind": "nixl"}}


def test_of_a_pair_answers_are_compared_over_both_engines_too(home: EngineHome) -> None:
    quick = ("--ttft", "0", "--itl", "0", "--hand-over", "blocks")
    with ScriptedEngine.start(*quick) as first, ScriptedEngine.start(*quick) as second:
        engines = (Engine(first.url, "prefill", ready=True), Engine(second.url, "decode", ready=True))
        path = home.deployment(modes=[PAIR])
        assert RealHands(Said()).compare(plan(path), engines, second.url).outcome == "pass"
        # The shipped text has 12 documents with 3 prompts each; nothing else is asked of the first engine.
        assert len(first.exchanges()) == 36


def test_a_file_that_is_gone_by_then_is_said(home: EngineHome) -> None:
    with pytest.raises(Failed, match="the new file is not as it was planned any more"):
        RealHands(Said()).compare(plan(home.root / "gone.yaml"), (), "http://old")
