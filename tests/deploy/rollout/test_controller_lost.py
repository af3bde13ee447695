"""What a rollout does when the old revision is lost on the way: somebody goes on answering."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_deployment import Killed
from fakes.rollout_runs import MOVES, PLAN, UP, Run, Verdicts, at, dying, verdicts

from deploy.rollout.client import Away, Declined
from deploy.rollout.evidence import Quality
from deploy.rollout.finding import Verdict
from deploy.rollout.journal import Journal
from deploy.rollout.machine import EventName
from deploy.rollout.plan import Step
from serving.errors import Failed

EVER = ["INCONCLUSIVE"] * 300
ENDED = "end new finish"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "rollout" / "journal.jsonl")


def given_up(run: Run) -> Callable[[], None]:
    """The old engines crash until they are not started any more. Its share stays, as with the gateway."""

    def lose() -> None:
        run.there.rows["main"].state = "failed"
        run.there.rows["main"].problem = "it crashed 3 times"

    return lose


def ended(run: Run) -> Callable[[], None]:
    """Somebody has the old engines ended; the gateway divides their share among those left."""

    def lose() -> None:
        del run.there.rows["main"]
        run.there.rows["new"].weight = 1.0

    return lose


def notes(run: Run) -> list[str]:
    return [row["text"] for row in Journal(run.path).lines() if row["kind"] == "note"]


@pytest.mark.parametrize("lose", [given_up, ended])
def test_lost_in_a_step_the_new_one_gets_all_requests_and_is_judged_alone(
    run: Run, lose: Callable[[Run], Callable[[], None]]
) -> None:
    run.clock.slept = at(run, "baking", lose(run))
    began_s = run.clock.now_s
    assert run.go() == 0
    assert run.states == [
        "starting", "proving", "warming", "moving", "baking", "moving", "baking", "promoting", "done",
    ]  # fmt: skip
    assert run.watch.unopposed
    # Neither the step of 50 % nor the ten minutes after which a state is given up.
    assert MOVES[1] not in run.there.calls
    assert run.clock.now_s - began_s < 60
    assert list(run.there.rows) == ["new"]
    [moving] = [row["state"] for row in Journal(run.path).lines() if row.get("event") == "lost"]
    assert moving["step"] == 2
    assert "the old revision 'main' is" in moving["why"]
    assert "the new one gets all requests, for nobody else can answer" in moving["why"]


def test_lost_before_a_request_is_moved_all_go_over_without_a_first_step(run: Run) -> None:
    run.clock.slept = at(run, "proving", given_up(run))
    assert run.go() == 0
    assert run.there.calls == [*UP, "weigh new=1", "end main finish"]


def test_lost_while_answers_are_compared_it_is_not_the_new_one_that_failed(run: Run) -> None:
    run.plan = replace(PLAN, quality=True)

    def compare(plan: object, engines: object, baseline: str) -> Quality:
        given_up(run)()
        raise Failed("the engine gave no answer", where=baseline)

    run.hands = Comparing(compare)
    assert run.go() == 0
    assert [call for call in run.there.calls if call.startswith("weigh")] == ["weigh new=1"]


class Comparing:
    """Hands that only compare."""

    def __init__(self, compare: Callable[[object, object, str], Quality]) -> None:
        self.compare = compare

    def plan(self, plan: object) -> None: ...

    def warm(self, urls: tuple[str, ...]) -> None: ...


def test_an_old_engine_that_is_being_started_again_is_waited_for_to_compare_answers(run: Run) -> None:
    run.plan = replace(PLAN, quality=True)
    run.hands.quality = Quality("pass", ())
    main = run.there.rows["main"]
    waits = iter(range(5))

    def slept() -> None:
        main.down = run.state == "proving" or (main.down and next(waits, None) is not None)

    run.clock.slept = slept
    assert run.go() == 0
    assert [text for text in run.said if text.startswith("holding: ")] == [
        "holding: revision main: no engine of the old revision is ready, so answers cannot be compared; "
        "it is waited for; `teapot status` shows it"
    ]
    assert run.states[2:4] == ["warming", "moving"]


def test_lost_while_its_share_is_moved_does_not_wait_until_the_state_is_given_up(run: Run) -> None:
    def before(words: str) -> None:
        if words == MOVES[1]:
            given_up(run)()
            raise Declined("revision 'main' is failed and can serve nobody")

    run.there.before = before
    began_s = run.clock.now_s
    assert run.go() == 0
    assert run.there.calls == [*UP, MOVES[0], MOVES[2], "end main finish"]
    assert run.clock.now_s - began_s < 60


def test_lost_when_the_new_one_has_all_requests_anyway_it_is_said_once_and_goes_on(run: Run) -> None:
    run.watch = verdicts("PASS", "PASS", *["INCONCLUSIVE"] * 20)
    run.clock.slept = at(run, "holding", given_up(run))
    assert run.go() == 0
    assert run.states[-2:] == ["promoting", "done"]
    assert notes(run) == [
        "the old revision 'main' is failed (it crashed 3 times): there is nothing to go back to any more"
    ]
    assert not run.watch.unopposed  # What it did while it served is still what the new one is held against.


@pytest.mark.parametrize("then", ["rollback", "ask"])
@pytest.mark.parametrize("verdict", ["FAIL", "INCONCLUSIVE"])
def test_with_nothing_to_go_back_to_a_person_is_asked_and_the_new_one_goes_on_answering(
    run: Run, verdict: Any, then: Any
) -> None:
    run.plan = replace(PLAN, then=then)
    run.watch = verdicts(*["INCONCLUSIVE"] * 2, *[verdict] * 300)
    run.clock.slept = at(run, "baking", given_up(run))
    assert run.go() == 3
    assert run.state == "asking"
    assert ENDED not in run.there.calls
    assert run.there.rows["new"].weight == 1.0
    if verdict == "FAIL":
        why = run.why("asking")
        assert why.startswith("errors: as told. But the old revision 'main' is failed (it crashed 3 times): ")
        assert why.endswith("there is nothing to go back to, and nobody else can answer")


def test_who_is_asked_then_can_keep_it_but_not_end_the_last_that_answers(run: Run) -> None:
    run.watch = verdicts(*["FAIL"] * 300)
    run.clock.slept = at(run, "moving", given_up(run))
    asked: list[EventName] = []
    run.asked = lambda: asked.pop() if asked else None
    assert run.go() == 3
    asked.append("abort")
    assert run.go() == 3
    assert "there is nothing to go back to" in run.why_last()
    assert list(run.there.rows) == ["main", "new"]
    asked.append("promote")
    assert run.go() == 0
    assert list(run.there.rows) == ["new"]


def test_a_new_one_that_is_bad_stays_until_an_old_engine_is_back(run: Run) -> None:
    main = run.there.rows["main"]
    ends: list[bool] = []
    waits = iter(range(30))

    def before(words: str) -> None:
        if words == ENDED:
            ends.append(main.down)

    def slept() -> None:
        main.down = run.state == "rolling_back" and next(waits, None) is not None

    run.watch = Verdicts(failing_while_down(run))
    run.there.before, run.clock.slept = before, slept
    assert run.go() == 1
    assert (run.state, ends) == ("rolled_back", [False])
    assert notes(run) == ["no engine of 'main' is ready, so 'new' goes on answering until one is"]
    assert run.clock.now_s > 1030


def failing_while_down(run: Run) -> Iterator[Verdict | Exception]:
    """The gate says FAIL, and just then all old engines are down, to be started again."""
    run.there.rows["main"].down = True
    yield "FAIL"


def test_a_bad_one_is_given_the_requests_again_where_the_old_one_is_lost_on_the_way_back(run: Run) -> None:
    run.watch = Verdicts(failing_while_down(run))
    run.clock.slept = lambda: (
        given_up(run)() if run.there.served[-1:] == [{"main": 1.0, "new": 0.0}] else None
    )
    assert run.go() == 3
    assert run.there.calls == [*UP, MOVES[0], "weigh main=1", "weigh new=1"]
    assert run.state == "asking"


def test_both_lost_it_is_over_at_once_and_said(run: Run) -> None:
    def lose() -> None:
        given_up(run)()
        run.there.rows["new"].state, run.there.rows["new"].problem = "failed", "so did it"

    run.watch = verdicts(*EVER)
    run.clock.slept = at(run, "baking", lose)
    began_s = run.clock.now_s
    assert run.go() == 1
    assert run.clock.now_s - began_s < 60
    assert run.state == "failed"
    assert run.why("failed").startswith("so did it; the old revision 'main' is failed (it crashed 3 times)")
    assert run.why("failed").endswith("and so is the new one: see why, and start `teapot serve` again")
    assert run.said[-1].startswith("new: failed: ")


def test_lost_while_the_new_one_starts_it_goes_on_starting_for_nobody_else_can_answer(run: Run) -> None:
    run.clock.slept = at(run, "starting", given_up(run))
    assert run.go() == 0
    assert ENDED not in run.there.calls


def test_lost_before_anything_was_started_nothing_is(run: Run) -> None:
    given_up(run)()
    assert run.go() == 1
    assert (run.state, run.there.calls) == ("failed", [])
    assert run.said[-1] == (
        "new: failed before a request was moved: the old revision 'main' is failed (it crashed 3 times), "
        "so there is nothing to compare with"
    )


def test_a_restart_with_the_new_file_under_its_name_is_watched_on_and_promoted(run: Run) -> None:
    run.watch = verdicts("INCONCLUSIVE")
    run.clock.slept = at(run, "baking", ended(run))
    assert run.go() == 0
    assert run.state == "done"


def test_while_it_comes_up_again_with_the_new_file_nothing_is_done(run: Run) -> None:
    def again() -> None:
        ended(run)()
        run.there.rows["new"].state = "starting"

    run.watch = verdicts()
    run.clock.slept = at(run, "baking", again)
    assert run.go() == 0
    assert "holding: http://admin: it was started again with the new file and is not ready" in run.said
    assert ENDED not in run.there.calls


def test_of_another_deployment_at_that_address_nothing_is_asked(run: Run) -> None:
    run.watch = verdicts(*EVER)
    run.clock.slept = at(run, "baking", lambda: setattr(run.there, "name", "other"))
    with pytest.raises(Away, match="'other' runs there, and this rollout is of 'demo'"):
        run.go()
    assert run.there.calls == [*UP, MOVES[0]]
    assert run.state == "baking"


def test_a_full_disk_takes_no_requests_to_an_old_one_that_is_lost(run: Run) -> None:
    run.write = refusing(run)
    run.watch = verdicts(*["FAIL"] * 20)
    run.clock.slept = at(run, "baking", given_up(run))
    assert run.go() in (0, 3)
    assert "weigh main=1" not in run.there.calls


def refusing(run: Run) -> Callable[[int, bytes], int]:
    """A disk that is full for a while from the first line of a way back on."""
    left = iter(range(10))

    def write(file: int, data: bytes) -> int:
        if b"rolling_back" in data and next(left, None) is not None:
            raise OSError(28, "No space left on device")
        return os.write(file, data)

    return write


REPLACE = replace(PLAN, strategy="replace", steps=(Step(1.0, 30.0),))


def test_old_engines_that_made_room_and_do_not_come_up_again_leave_the_new_ones_that_do(run: Run) -> None:
    run.plan = REPLACE
    run.watch = verdicts("FAIL")
    run.there.fails = {"main": "out of memory"}
    assert run.go() == 3
    assert run.there.calls == ["begin new /new.yaml for main in 37", "begin main /old.yaml for new in 60"]
    assert "But the old revision 'main' is failed (out of memory)" in run.why("asking")
    assert run.there.rows["new"].weight == 1.0


def test_where_neither_comes_up_in_the_place_of_the_other_it_is_over(run: Run) -> None:
    run.plan = REPLACE
    run.there.fails = {"new": "out of memory"}

    def lose() -> None:
        if "new" in run.there.rows and run.there.rows["new"].state == "failed":
            given_up(run)()

    run.clock.slept = lose
    assert run.go() == 1
    assert run.state == "failed"
    assert "out of memory; the old revision 'main' is failed" in run.why("failed")


@pytest.mark.slow
@pytest.mark.parametrize("verdict", ["PASS", "FAIL"])
def test_killed_when_any_line_was_written_after_the_loss_it_ends_the_same(
    tmp_path: Path, verdict: Any
) -> None:
    whole = Run(tmp_path / "whole.jsonl", watch=verdicts(*[verdict] * 20))
    whole.clock.slept = at(whole, "moving", given_up(whole))
    code = whole.go()
    lost_at = whole.states.index("moving")
    for number in range(lost_at, len(whole.states)):
        run = Run(tmp_path / f"{number}.jsonl", watch=verdicts(*[verdict] * 20))
        run.clock.slept = at(run, "moving", given_up(run))
        run.sync = dying(number)
        with pytest.raises(Killed):
            run.go()
        run.sync = os.fsync
        assert run.go() == code, (number, run.said)
        assert run.there.rows["new"].weight == 1.0
        assert run.state == whole.state
