"""What a follower says to what it hears; runs of it are in test_lead."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gevent

from loadgen.follow import Follow
from loadgen.messages import DONE, PLAY, STOP, machine


def order(folder: Path) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "worker": 0,
        "workers": 1,
        "machine": machine(),
        "now_ns": time.perf_counter_ns(),
    }


def test_a_folder_without_a_run_is_an_error_that_the_lead_hears(tmp_path: Path) -> None:
    said: list[tuple[str, Mapping[str, Any]]] = []
    follow = Follow(say=lambda kind, data: said.append((kind, data)))
    follow.hear(PLAY, order(tmp_path))
    deadline = time.monotonic() + 10
    while not said and time.monotonic() < deadline:
        gevent.sleep(0.01)
    ((kind, told),) = said
    assert kind == DONE
    assert "manifest.json" in told["error"]
    assert told["account"] is None
    assert not follow.playing


def test_a_worker_that_is_not_done_with_a_run_takes_no_other(tmp_path: Path) -> None:
    said: list[tuple[str, Mapping[str, Any]]] = []
    follow = Follow(say=lambda kind, data: said.append((kind, data)))
    follow.hear(PLAY, order(tmp_path))
    follow.hear(PLAY, order(tmp_path))
    ((kind, told),) = said
    assert kind == DONE
    assert "has not come to the end of the run before" in told["error"]
    deadline = time.monotonic() + 10
    while len(said) < 2 and time.monotonic() < deadline:
        gevent.sleep(0.01)
    follow.hear(PLAY, order(tmp_path))  # now it is done with it
    assert len(said) == 2
    while len(said) < 3 and time.monotonic() < deadline:
        gevent.sleep(0.01)
    assert "manifest.json" in said[2][1]["error"]


def test_a_stop_without_a_run_is_nothing() -> None:
    follow = Follow(say=lambda *_: None)
    follow.hear(STOP, {"cut": True})
    assert not follow.playing
    assert follow.live().sent == 0
