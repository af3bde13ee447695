"""A follower that is told to stop before it has a session to stop; the lead's messages are given by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes.scripted_engine import ScriptedEngine
from gevent.event import AsyncResult

from loadgen.follow import Follow
from loadgen.messages import DONE, GIVEN, GO, NEED, PLAY, READY, STOP
from loadgen.prepare import Request, prepare
from loadgen.run_folder import RunFolder
from loadgen.target import parse_target
from loadgen.workload import Workload

HERE = "this machine"


class Told:
    """A follower, and the first message of each kind that it says."""

    def __init__(self) -> None:
        self._said: dict[str, AsyncResult] = {}
        self.follow = Follow(say=lambda kind, data: self._of(kind).set(data), machine=HERE)

    def _of(self, kind: str) -> AsyncResult:
        return self._said.setdefault(kind, AsyncResult())

    def wait_for(self, kind: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._of(kind).get(timeout=30)
        return found


@pytest.fixture
def folder(engine: ScriptedEngine, workload: Callable[..., Workload], run_dir: Path) -> RunFolder:
    return prepare(Request(workload(), parse_target(engine.url), run_dir, ()), say=lambda _: None)


def order(folder: RunFolder, *, machine: str = HERE) -> dict[str, Any]:
    return {
        "folder": str(folder.path),
        "worker": 0,
        "workers": 1,
        "machine": machine,
        "now_ns": time.perf_counter_ns(),
    }


@pytest.mark.slow
def test_a_stop_right_after_the_order_to_play_lets_nothing_be_sent(folder: RunFolder) -> None:
    told = Told()
    told.follow.hear(PLAY, order(folder))
    told.follow.hear(STOP, {"cut": False})
    done = told.wait_for(DONE)
    assert done["error"] is None
    assert (done["account"]["ended"], done["account"]["sent"]) == ("interrupted", 0)


def test_a_stop_while_the_run_is_on_its_way_lets_nothing_be_sent(folder: RunFolder) -> None:
    told = Told()
    told.follow.hear(PLAY, order(folder, machine="another machine"))
    told.wait_for(NEED)
    told.follow.hear(STOP, {"cut": True})
    told.follow.hear(
        GIVEN, {name: (folder.path / name).read_text() for name in ("manifest.json", "timetable.jsonl")}
    )
    account = told.wait_for(DONE)["account"]
    assert (account["ended"], account["sent"]) == ("interrupted", 0)


@pytest.mark.slow
def test_a_stop_of_the_run_before_does_not_stop_the_next(folder: RunFolder) -> None:
    told = Told()
    told.follow.hear(STOP, {"cut": False})
    told.follow.hear(PLAY, order(folder))
    told.wait_for(READY)
    told.follow.hear(GO, {"start_ns": time.perf_counter_ns()})
    account = told.wait_for(DONE)["account"]
    assert (account["ended"], account["sent"]) == ("complete", 6)
