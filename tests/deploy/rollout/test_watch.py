"""The looks at a step: windows, what they are compared with, and what a restart keeps of them."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from fakes.rollouts import WIDE

from deploy.rollout.entries import moved
from deploy.rollout.evidence import Quality, Reading
from deploy.rollout.journal import DiskFull, Journal
from deploy.rollout.machine import State
from deploy.rollout.plan import Plan, Step
from deploy.rollout.seen import Seen, read
from deploy.rollout.watch import Looked, Watch

PLAN = Plan(
    deployment="demo", canary="new", baseline="main", file="/new.yaml", strategy="canary",
    steps=(Step(0.5, 60.0), Step(1.0, 60.0)), look_every_s=10.0, wait_s=60.0, min_requests=50, gates=WIDE,
    quality=False, settle_s=0.0,
)  # fmt: skip
FIRST = State(name="baking", since_s=100.0, step=0, window_s=100.0)
LAST = State(name="baking", since_s=200.0, step=1, window_s=200.0)


def status(engines: int = 1, in_effect: bool | None = True, old: str | None = None) -> Seen:
    backend = {"url": "http://new", "role": "any", "state": "ready", "in_flight": 0}
    row = {"name": "new", "weight": 0.5, "state": "ready", "problem": None, "file": "", "up_in_s": 1.0}
    modes = [{"kind": "lora", "asked": "a", "in_effect": in_effect, "evidence": ""}]
    rows = [row | {"backends": [backend] * engines, "modes": modes}]
    if old is not None:
        rows.append(row | {"name": "main", "backends": [backend | {"url": "http://main", "state": old}]})
    return read({"name": "demo", "revisions": rows})


@dataclass(slots=True)
class Counting:
    """Both sides answer ten requests a second, all well, from second 0 on; unless told otherwise."""

    name: str = "counting"
    asked: list[tuple[str, float]] = field(default_factory=list)
    errors_from_s: float | None = None
    restarted_s: float | None = None
    failures: float = 0.0

    def read(self, seen: Seen, revision: str, at_s: float) -> Reading:
        self.asked.append((revision, at_s))
        since_s = at_s if self.restarted_s is None or at_s < self.restarted_s else at_s - self.restarted_s
        n = 10.0 * since_s
        bad = 0.0
        if revision == "new" and self.errors_from_s is not None:
            bad = max(0.0, at_s - self.errors_from_s) * 5
        counts = {
            "requests": {"/v1/completions|ok": n - bad, "/v1/completions|error": bad},
            "judged": {"availability|true": n - bad, "availability|false": bad},
            "finished": {"stop": n - bad, "error": bad},
            "answer_tokens_bucket": {"50.0": 0.0, "100.0": n - bad, "+Inf": n - bad},
            "answer_tokens_sum": {"": 75 * (n - bad)},
            "failures": {"": self.failures},
            "targets": {"availability": 0.99},
        }
        return Reading(at_s, revision, counts)

    def memory(self, start_s: float, end_s: float) -> dict[str, tuple[float, ...]]:
        return {}


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    return Watch(PLAN, Journal(tmp_path / "journal.jsonl"))


def kinds(watch: Watch) -> list[str]:
    return [row["kind"] for row in watch.journal.lines()]


def looked(watch: Watch, source: Counting, *times: float, state: State = FIRST) -> list[str]:
    """The verdicts of the looks that were due at these times."""
    found = [watch.look(state, source, status(), now_s) for now_s in times]
    return [one.judgement.verdict for one in found if one is not None]


def test_a_window_opens_with_what_both_had_counted_and_looks_come_as_often_as_told(watch: Watch) -> None:
    source = Counting()
    assert looked(watch, source, 99.0) == []
    assert source.asked == []
    assert looked(watch, source, 101.0) == []
    assert kinds(watch) == ["window"]
    assert looked(watch, source, 111.0, 112.0, 121.0, 122.0, 131.0) == ["INCONCLUSIVE"] * 3
    assert watch.last is not None
    assert watch.last.requests == 300
    assert not watch.last.decisive


def test_at_the_end_of_the_bake_it_may_pass(watch: Watch) -> None:
    looked(watch, Counting(), *range(101, 160, 10))
    [verdict] = looked(watch, Counting(), 161.0)
    assert watch.last is not None
    assert (verdict, watch.last.decisive) == ("PASS", True), watch.last.judgement.reasons()
    line = watch.journal.lines()[-1]
    assert (line["kind"], line["verdict"], line["window_s"]) == ("look", "PASS", [101.0, 161.0])
    assert len(line["queries"]["requests"]) == 2


def test_errors_fail_it_before_that(watch: Watch) -> None:
    verdicts = looked(watch, Counting(errors_from_s=101.0), 101.0, 111.0, 121.0, 131.0)
    assert verdicts[-1] == "FAIL"


def test_an_engine_that_failed_fails_it_at_once(watch: Watch) -> None:
    assert looked(watch, Counting(failures=1.0), 101.0, 111.0) == ["FAIL"]


def test_the_last_step_is_compared_with_what_the_baseline_did_before(watch: Watch) -> None:
    source = Counting()
    looked(watch, source, 101.0, 111.0)
    looked(watch, source, 201.0, 211.0, state=LAST)
    # From 101 s to 201 s it answered ten a second.
    found = watch.last
    assert found is not None
    assert found.judgement.findings["errors"].numbers["baseline_n"] == 1000
    assert found.judgement.findings["errors"].numbers["n"] == 100


def test_it_is_still_that_when_the_last_steps_window_begins_anew(watch: Watch) -> None:
    source = Counting()
    looked(watch, source, 101.0, 111.0)
    looked(watch, source, 201.0, 211.0, state=LAST)
    # As when a clock was set: the window is another, the step is the same.
    later = replace(LAST, since_s=250.0, window_s=260.0)
    looked(watch, source, 261.0, 271.0, state=later)
    again = Watch.resumed(PLAN, watch.journal, (*moved_to(0, watch, 1), *moved_to(1, watch, 2)))
    for one in (watch, again):
        looked(one, source, 281.0, state=later)
        assert one.last is not None
        assert one.last.judgement.findings["errors"].numbers["baseline_n"] == 1000


def moved_to(step: int, watch: Watch, count: int) -> list[Any]:
    """The line of a step, and its windows in the journal."""
    windows = [row for row in watch.journal.lines() if row["kind"] == "window"]
    mine = windows[:1] if step == 0 else windows[1 : 1 + count]
    return [moved(replace(LAST, step=step), "moved"), *mine]


def test_a_window_from_a_time_that_is_still_to_come_begins_anew(watch: Watch) -> None:
    source = Counting()
    looked(watch, source, 5101.0, 5111.0, state=replace(FIRST, window_s=5100.0))
    assert looked(watch, source, 101.0) == []
    assert kinds(watch)[-1] == "window"
    assert looked(watch, source, 111.0) == ["INCONCLUSIVE"]


def test_where_the_old_revision_was_lost_its_end_is_nothing_to_be_held_against(watch: Watch) -> None:
    source = Counting()
    looked(watch, source, 101.0, 111.0)
    watch.journal.append(moved(replace(LAST, name="moving"), "lost"))
    again = Watch.resumed(PLAN, watch.journal, watch.journal.lines())
    looked(again, source, 201.0, 211.0, state=LAST)
    assert again.last is not None
    assert again.last.judgement.findings["errors"].numbers["baseline_n"] == 0
    assert again.last.judgement.findings["tokens"].answer == "NOT JUDGED"


def test_counters_that_begin_anew_begin_the_window_anew(watch: Watch) -> None:
    source = Counting()
    looked(watch, source, 101.0, 111.0)
    source.restarted_s = 115.0
    assert looked(watch, source, 121.0) == []
    assert kinds(watch)[-2:] == ["note", "window"]
    looked(watch, source, 131.0)
    assert watch.last is not None
    assert watch.last.requests == 100


def test_after_a_restart_the_window_and_the_looks_are_those_of_the_journal(watch: Watch) -> None:
    source = Counting()
    watch.compared(Quality("pass", ("as alike as itself",)), 100.0)
    looked(watch, source, 101.0, 111.0, 121.0)
    again = Watch.resumed(PLAN, watch.journal, watch.journal.lines())
    assert again.quality == Quality("pass", ("as alike as itself",))
    assert again.looks == {"inconclusive": 2}
    assert looked(again, source, 122.0) == []
    looked(again, source, 131.0)
    assert again.last is not None
    assert again.last.requests == 300


def test_while_old_engines_are_started_again_the_new_one_is_not_judged_for_answering_for_them(
    watch: Watch,
) -> None:
    source = Counting()

    def look(now_s: float, old: str) -> Looked | None:
        return watch.look(FIRST, source, status(old=old), now_s)

    assert look(101.0, "ready") is None
    assert look(111.0, "ready") is not None
    assert look(121.0, "starting") is None
    assert look(131.0, "starting") is None
    assert look(141.0, "ready") is None
    assert kinds(watch) == ["window", "look", "note", "window"]
    found = look(151.0, "ready")
    assert found is not None
    assert found.requests == 100  # of ten a second since 141 s
    # At 100 % the new one answers them all anyway.
    assert watch.look(LAST, source, status(old="starting"), 201.0) is None
    assert watch.look(LAST, source, status(old="starting"), 211.0) is not None


def test_modes_and_engines_are_of_the_status(watch: Watch) -> None:
    source = Counting()
    watch.look(FIRST, source, status(), 101.0)
    found = watch.look(FIRST, source, status(engines=3, in_effect=False), 111.0)
    assert found is not None
    assert found.judgement.findings["modes"].answer == "FAIL"
    assert found.judgement.findings["ready"].numbers == {"ready": 3.0, "engines": 3.0}


def test_quality_that_is_asked_for_and_not_known_keeps_it_from_passing(watch: Watch) -> None:
    watch.plan = replace(PLAN, quality=True)
    verdicts = looked(watch, Counting(), *range(101, 170, 10))
    assert "PASS" not in verdicts


def test_a_failure_that_could_not_be_kept_is_remembered(tmp_path: Path) -> None:
    full = False

    def write(file: int, data: bytes) -> int:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(file, data)

    watch = Watch(PLAN, Journal(tmp_path / "journal.jsonl", write=write))
    source = Counting(failures=1.0)
    watch.look(FIRST, source, status(), 101.0)
    full = True
    with pytest.raises(DiskFull):
        watch.look(FIRST, source, status(), 111.0)
    assert watch.failing
    full = False
    assert watch.look(FIRST, source, status(), 112.0) is not None
    assert not watch.failing
