"""The parts of `make rollout-demo`: its files, and its work on scripted engines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes.engine_home import EngineHome, make_engine_home
from fakes.revisions import file_of, running
from fakes.rollouts import SECTION

from deploy.rollout.journal import JOURNAL, Journal, newest_first
from deploy.rollout.session import rollouts_of
from deploy.rollout_demo import BAD, BEFORE, GOOD, WORKLOAD, RolloutDemo
from loadgen.workload import Workload
from serving.config.load import load_deployment, load_model
from serving.errors import Failed

ROLLOUT = SECTION | {"min_requests": 40}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    home.behave("--ttft 0.05 --itl 0.001")
    return home


def kinds(path: Path) -> list[Mapping[str, object]]:
    deployment, _ = load_deployment(str(path), ())
    return [mode.model_dump(include={"kind", "enabled"}) for mode in deployment.modes]


def test_its_files_are_one_deployment_that_differs_in_modes_and_cores_alone() -> None:
    found = [load_deployment(str(path), ())[0] for path in (BEFORE, GOOD, BAD)]
    # Those that run at the same time share no core.
    assert [deployment.engine.cores for deployment in found] == [(0,), (1,), (0,)]
    same = [
        deployment.model_dump(exclude={"modes": True, "rollout": True, "engine": {"cores"}})
        for deployment in found
    ]
    assert same[0] == same[1] == same[2]
    assert kinds(BEFORE) == [{"kind": "prefix_cache", "enabled": False}]
    assert kinds(GOOD) == [{"kind": "prefix_cache", "enabled": True}]
    assert [mode["kind"] for mode in kinds(BAD)] == ["prefix_cache", "speculative"]


def test_its_load_lasts_longer_than_both_rollouts_can() -> None:
    workload = load_model(str(WORKLOAD), Workload)
    steps = [load_deployment(str(path), ())[0].rollout for path in (GOOD, BAD)]
    longest_s = sum(
        step.bake + section.settle + section.inconclusive.wait for section in steps for step in section.steps
    )
    document = json.loads(workload.model_dump_json())
    assert document["arrival"]["duration"] > longest_s


def load(duration: str) -> Workload:
    return Workload.model_validate(
        {
            "name": "short", "endpoint": "completions",
            "arrival": {"process": "closed", "concurrency": 2, "duration": duration},
            "prompts": {"kind": "prompt_set", "output_tokens": 4}, "sampling": {"temperature": 0}, "seed": 1,
        }
    )  # fmt: skip


@pytest.mark.slow
async def test_a_good_and_a_bad_revision_are_rolled_out_under_load_one_after_the_other(
    home: EngineHome, tmp_path: Path
) -> None:
    old = file_of(home, "old")
    good = file_of(home, "good", rollout=ROLLOUT)
    bad = file_of(home, "bad", rollout=ROLLOUT, modes=[{"kind": "prefix_cache", "enabled": False}])
    drawn: list[str] = []
    async with running(home, old) as up:
        # Its scripted engines always have a prefix cache, so that the second one's mode is not in effect.
        demo = RolloutDemo(
            up.console, load("20m"), tmp_path / "out", {good: 0, bad: 1},
            draw=lambda url, baseline, canary, since_s, out: drawn.append(canary),
        )  # fmt: skip
        home.behave("--ttft 0.05 --itl 0.001 --enable-prefix-caching")
        async with asyncio.timeout(100):
            assert await demo(up.stack) == 0, up.console.text()
        assert [row["name"] for row in up.stack.gateway.state.document()["revisions"]] == ["good"]
    assert demo.load is not None
    assert demo.load.summary["requests"]["failed"] == 0
    assert drawn == []  # There is no Prometheus here.
    newest = next(iter(newest_first(rollouts_of("scripted"))), None)
    assert newest is not None
    assert Journal(newest / JOURNAL).lines()[-1]["state"]["name"] == "failed"
    assert "as expected" in up.console.results()


@pytest.mark.slow
async def test_a_load_that_ends_first_is_said_and_the_rollout_stays_where_it_is(
    home: EngineHome, tmp_path: Path
) -> None:
    good = file_of(home, "good", rollout=ROLLOUT | {"min_requests": 10**6})
    async with running(home, file_of(home, "old")) as up:
        demo = RolloutDemo(up.console, load("1s"), tmp_path / "out", {good: 0})
        with pytest.raises(Failed, match="the load ended before the rollouts were over"):
            await demo(up.stack)
        assert "interrupted: it stays where it is" in up.console.text()
