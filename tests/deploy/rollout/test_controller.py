"""What a rollout does on what it sees: the order, the holds, the ways back, and after a kill at any point."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_deployment import Killed
from fakes.rollout_runs import BACK, MOVES, PLAN, UP, Run, at, dying, verdicts

from deploy.rollout.client import Away, Declined
from deploy.rollout.evidence import Quality
from deploy.rollout.finding import Verdict
from deploy.rollout.journal import Journal
from deploy.rollout.machine import EventName
from deploy.rollout.plan import Step
from serving.errors import Failed


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "rollout" / "journal.jsonl")


def test_a_good_revision_goes_up_the_steps_and_then_the_old_one_leaves(run: Run) -> None:
    assert run.go() == 0
    assert run.there.calls == [*UP, *MOVES, "end main finish"]
    assert list(run.there.rows) == ["new"]
    assert run.states == [
        "starting", "proving", "warming", *["moving", "baking"] * 3, "promoting", "done",
    ]  # fmt: skip
    assert run.there.told[-1]["state"] == "done"
    assert run.verdicts == ["new: PASS"] * 3 + ["new: promoted"]


def test_a_bad_one_goes_back_in_one_step_with_its_reason(run: Run) -> None:
    run.watch = verdicts("PASS", "FAIL")
    assert run.go() == 1
    assert run.there.calls == [*UP, *MOVES[:2], *BACK]
    assert run.state == "rolled_back"
    assert run.why("rolling_back") == "errors: as told"
    assert list(run.there.rows) == ["main"]


def test_its_streams_are_cut_where_the_file_says_so(run: Run) -> None:
    run.plan = replace(PLAN, on_rollback="cut")
    run.watch = verdicts("FAIL")
    run.go()
    assert run.there.calls[-1] == "end new cut"


@pytest.mark.parametrize(("then", "code", "end"), [("rollback", 1, "rolled_back"), ("ask", 3, "asking")])
def test_what_stays_inconclusive_holds_and_then_goes_back_or_asks(
    run: Run, then: Any, code: int, end: str
) -> None:
    run.plan = replace(PLAN, then=then)
    run.watch = verdicts(*["INCONCLUSIVE"] * 200)
    assert run.go() == code
    assert run.state == end
    assert "holding" in run.states
    assert run.there.served[0] == {"main": 0.9, "new": pytest.approx(0.1)}
    assert [call for call in run.there.calls if "new=0.5" in call] == []


def test_who_is_asked_can_promote_or_abort_later(run: Run) -> None:
    run.plan = replace(PLAN, then="ask")
    run.watch = verdicts(*["INCONCLUSIVE"] * 200)
    assert run.go() == 3
    run.watch = verdicts()
    asked: list[EventName] = ["promote"]
    run.asked = lambda: asked.pop() if asked else None
    assert run.go() == 0
    assert run.there.calls == [*UP, *MOVES, "end main finish"]


def test_without_evidence_it_holds_says_so_once_and_goes_on_when_there_is_some(run: Run) -> None:
    run.watch = verdicts(*[Failed("Prometheus cannot be reached", where="http://p")] * 3)
    assert run.go() == 0
    assert run.states[4:7] == ["baking", "holding", "baking"]
    assert len([text for text in run.said if text.startswith("nobody tells the numbers")]) == 1
    [note] = [row["text"] for row in Journal(run.path).lines() if row["kind"] == "note"]
    assert "Prometheus cannot be reached" in note


def test_evidence_that_never_comes_is_never_a_pass(run: Run) -> None:
    run.watch = verdicts(*[Failed("Prometheus cannot be reached")] * 10_000)
    assert run.go() == 1
    assert run.state == "rolled_back"
    assert [call for call in run.there.calls if "new=0.5" in call] == []


def test_a_deployment_that_is_away_for_a_while_is_waited_for(run: Run) -> None:
    def gone() -> None:
        run.there.away = True
        waits = iter(range(20))

        def slept() -> None:
            if next(waits, None) is None:
                run.there.away = False

        run.clock.slept = slept

    run.clock.slept = at(run, "baking", gone)
    assert run.go() == 0
    assert len([text for text in run.said if text.startswith("holding: ")]) == 1


@pytest.mark.slow
def test_one_that_stays_away_is_given_up_and_the_rollout_stays_where_it_is(run: Run) -> None:
    run.clock.slept = at(run, "baking", lambda: setattr(run.there, "away", True))
    with pytest.raises(Away):
        run.go()
    assert run.state == "baking"
    run.there.away = False
    assert run.go() == 0


@pytest.mark.parametrize("state", ["proving", "warming", "baking"])
def test_a_deployment_that_was_started_again_has_only_its_own_file_and_it_is_over(
    run: Run, state: str
) -> None:
    run.watch = verdicts(*["INCONCLUSIVE"] * 200)
    run.clock.slept = at(run, state, run.there.restarted)
    assert run.go() == 1
    assert list(run.there.rows) == ["main"]
    assert run.there.rows["main"].weight == 1.0
    if state != "warming":  # Warming needs no sleep here, so the next state may notice it.
        assert "does not know the new revision any more" in run.why("rolling_back")


def test_weights_that_somebody_else_sets_end_it(run: Run) -> None:
    run.watch = verdicts(*["INCONCLUSIVE"] * 200)
    run.clock.slept = at(run, "baking", lambda: run.there.weigh({"main": 0.2, "new": 0.8}))
    assert run.go() == 1
    assert "the weights are not as they were set" in run.why("rolling_back")
    assert run.there.calls[-2:] == BACK


def test_a_revision_that_does_not_come_up_fails_before_a_request_is_moved(run: Run) -> None:
    run.there.fails = {"new": "mode 'lora' is not in effect"}
    assert run.go() == 1
    assert run.state == "failed"
    assert run.why("rolling_back") == "mode 'lora' is not in effect"
    assert run.there.served in ([], [{"main": 1.0, "new": 0.0}])
    assert list(run.there.rows) == ["main"]


def test_one_that_fails_while_requests_are_moved_goes_back_at_once(run: Run) -> None:
    def before(words: str) -> None:
        if words == MOVES[1]:
            run.there.rows["new"].state, run.there.rows["new"].problem = "failed", "no engine is left"
            raise Declined("revision 'new' is failed and can serve nobody")

    run.there.before = before
    assert run.go() == 1
    assert run.why("rolling_back") == "no engine is left"
    assert run.there.calls[-2:] == BACK


def test_a_file_that_cannot_be_planned_starts_nothing(run: Run) -> None:
    run.hands.refusal = "the model does not fit"
    assert run.go() == 1
    assert (run.state, run.why("failed"), run.there.calls) == ("failed", "the model does not fit", [])


def test_one_that_does_not_answer_when_warmed_up_gets_no_request(run: Run) -> None:
    run.hands.cold = "the engine answered 500"
    assert run.go() == 1
    assert "the engine answered 500" in run.why("rolling_back")
    assert [call for call in run.there.calls if "new=" in call] == []


def test_one_that_answers_otherwise_gets_no_request(run: Run) -> None:
    run.plan = replace(PLAN, quality=True)
    run.hands.quality = Quality("fail", ("perplexity 3 times the control's",))
    assert run.go() == 1
    assert "perplexity 3 times the control's" in run.why("rolling_back")
    assert [call for call in run.there.calls if "new=" in call] == []


@pytest.mark.slow
def test_answers_that_are_the_same_let_it_go_on(run: Run) -> None:
    run.plan = replace(PLAN, quality=True)
    run.hands.quality = Quality("pass", ())
    assert run.go() == 0
    assert run.watch.quality == Quality("pass", ())


def test_shadow_traffic_comes_before_the_first_request_and_ends_with_it(run: Run) -> None:
    run.plan = replace(PLAN, shadow_s=10.0)
    assert run.go() == 0
    assert run.there.calls[:4] == [*UP, "shadow new 1", "shadow new 0", MOVES[0]]


def test_where_there_is_no_room_for_both_the_serving_process_does_it_in_one(run: Run) -> None:
    run.plan = replace(PLAN, strategy="replace", steps=(Step(1.0, 30.0),))
    assert run.go() == 0
    # 21.5 s to come up, and 15 s to end.
    assert run.there.calls == ["begin new /new.yaml for main in 37"]
    assert list(run.there.rows) == ["new"]


def test_what_replaced_the_old_engines_and_is_bad_is_replaced_by_them(run: Run) -> None:
    run.plan = replace(PLAN, strategy="replace", steps=(Step(1.0, 30.0),))
    run.watch = verdicts("FAIL")
    assert run.go() == 1
    assert run.there.calls[1] == "begin main /old.yaml for new in 60"
    assert {name: row.weight for name, row in run.there.rows.items()} == {"main": 1.0}


def test_what_could_not_replace_them_leaves_them_as_they_were(run: Run) -> None:
    run.plan = replace(PLAN, strategy="replace", steps=(Step(1.0, 30.0),))
    run.there.fails = {"new": "out of memory"}
    assert run.go() == 1
    assert run.state == "failed"
    assert {name: row.weight for name, row in run.there.rows.items()} == {"main": 1.0}


@pytest.mark.parametrize("state", ["planned", "starting", "proving", "baking", "holding"])
def test_a_person_can_take_it_back_at_any_time(run: Run, state: str) -> None:
    run.watch = verdicts(*["INCONCLUSIVE"] * 200)
    asked: list[EventName] = []
    run.asked = lambda: asked.pop() if asked else None
    if state == "planned":
        asked.append("abort")
    run.clock.slept = at(run, state, lambda: asked.append("abort"))
    assert run.go() == 1
    assert {name: row.weight for name, row in run.there.rows.items()} == {"main": 1.0}


def test_what_is_asked_and_cannot_be_is_said_and_changes_nothing(run: Run) -> None:
    asked: list[EventName] = ["promote"]
    run.asked = lambda: asked.pop() if asked else None
    assert run.go() == 0
    assert "'promote' is not possible while the rollout is planned" in "\n".join(run.said)


def served_somebody(run: Run) -> bool:
    """Whether at every moment some ready revision had a share."""
    return all(sum(weights.values()) == pytest.approx(1.0) for weights in run.there.served)


def test_killed_before_or_after_any_call_it_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole = Run(tmp_path / "whole.jsonl")
    whole.go()
    for number in range(len(whole.there.calls)):
        for after in (False, True):
            run = Run(tmp_path / f"{number}-{after}.jsonl")
            run.there.before = killer(run, number, after=after)
            with pytest.raises(Killed):
                run.go()
            run.there.before = lambda words: None
            assert run.go() == 0, (number, after, run.said)
            assert list(run.there.rows) == ["new"]
            assert served_somebody(run)


def killer(run: Run, number: int, *, after: bool) -> Callable[[str], None]:
    """Kills in place of the numbered call; or when it is done, at the next thing that is called or slept."""
    count = 0

    def before(words: str) -> None:
        nonlocal count
        count += 1
        if not after and count == number + 1:
            raise Killed
        if after and count == number + 1:
            run.clock.slept = slept
        elif after and count == number + 2:
            raise Killed

    def slept() -> None:
        run.clock.slept = lambda: None
        raise Killed

    return before


@pytest.mark.slow
@pytest.mark.parametrize("good", [True, False])
def test_killed_when_any_line_was_written_it_goes_on_from_there(tmp_path: Path, good: bool) -> None:
    coming: tuple[Verdict, ...] = () if good else ("PASS", "FAIL")
    whole = Run(tmp_path / "whole.jsonl", watch=verdicts(*coming))
    code = whole.go()
    for number in range(len(whole.states)):
        run = Run(tmp_path / f"{number}.jsonl", watch=verdicts(*coming))
        run.sync = dying(number)
        with pytest.raises(Killed):
            run.go()
        assert run.states == whole.states[: number + 1]
        run.sync = os.fsync
        end = run.go()
        assert end == code, (number, run.said)
        assert list(run.there.rows) == (["new"] if good else ["main"])
        assert served_somebody(run)


def full(times: int, after: int) -> Callable[[int, bytes], int]:
    """A disk that has no room for some writes, after some others."""
    count = 0

    def write(file: int, data: bytes) -> int:
        nonlocal count
        count += 1
        if after < count <= after + times:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(file, data)

    return write


@pytest.mark.slow
def test_a_full_disk_under_the_journal_moves_no_weight_and_is_said_and_waited_for(tmp_path: Path) -> None:
    whole = Run(tmp_path / "whole.jsonl")
    whole.go()
    for number in range(len(whole.states)):
        run = Run(tmp_path / f"{number}.jsonl", write=full(30, number))
        assert run.go() == 0
        assert run.there.calls == whole.there.calls
        # It may be proven by the time that the line of its proving could be kept.
        assert set(whole.states) - set(run.states) <= {"proving"}
        assert len([text for text in run.said if "the disk is full" in text]) == 1


def test_a_full_disk_does_not_leave_requests_with_a_bad_revision(run: Run) -> None:
    # starting, proving, warming, moving, baking are kept; the line of the way back is not, for some time.
    run.write = full(10, 5)
    run.watch = verdicts(*["FAIL"] * 20)
    seen: list[float] = []
    run.clock.slept = lambda: seen.append(run.there.rows["main"].weight) if run.state == "baking" else None
    assert run.go() == 1
    assert seen.count(1.0) > 5
    assert run.state == "rolled_back"


def test_it_says_that_it_is_alive_and_where_it_is(run: Run) -> None:
    run.watch = verdicts(*["INCONCLUSIVE"] * 20)
    run.go()
    told = [row for row in run.there.told if row["state"] in ("baking", "holding")]
    assert len({row["told_s"] for row in told}) > 3
    assert (told[0]["step"], told[0]["steps"], told[0]["weight_ratio"]) == (1, 3, 0.1)


@pytest.mark.slow
def test_a_disk_that_stays_full_is_no_reason_to_stop_watching(run: Run) -> None:
    # The line of the first step's end cannot be kept for twenty minutes, and meanwhile it goes bad.
    run.write = full(1200, 5)
    run.watch = verdicts("PASS", *["FAIL"] * 2000)
    told: list[float] = []
    run.clock.slept = lambda: told.append(len(run.there.told))
    assert run.go() == 1
    assert MOVES[1] not in run.there.calls
    assert run.there.calls[-1] == "end new finish"
    assert told[1000] > 200  # It says that it is alive, every five seconds.


def test_a_pass_that_could_not_be_kept_is_not_taken_when_it_has_gone_bad_since(run: Run) -> None:
    run.write = full(1, 5)
    run.watch = verdicts("PASS", "FAIL")
    assert run.go() == 1
    assert MOVES[1] not in run.there.calls
    assert run.why("rolling_back") == "errors: as told"


def test_an_abort_that_could_not_be_kept_is_not_forgotten(run: Run) -> None:
    run.write = full(20, 5)
    run.watch = verdicts(*["INCONCLUSIVE"] * 200)
    asked: list[EventName] = []
    run.asked = lambda: asked.pop() if asked else None
    run.clock.slept = at(run, "baking", lambda: asked.append("abort"))
    assert run.go() == 1
    assert run.why("rolling_back") == "asked for by a person"


@pytest.mark.parametrize("by_s", [7200.0, -7200.0])
@pytest.mark.parametrize("state", ["starting", "baking"])
def test_a_clock_that_is_set_ends_no_wait_early_and_none_late(run: Run, state: str, by_s: float) -> None:
    run.watch = verdicts(*["INCONCLUSIVE"] * 30)
    run.clock.slept = at(run, state, lambda: run.set_clock(by_s))
    began_s = run.steady()
    assert run.go() == 0
    # Thirty looks and some seconds; by the clock alone it would have been given up, or waited two hours.
    assert run.steady() - began_s < 200
    [row] = [row["state"] for row in Journal(run.path).lines() if row.get("event") == "clock"]
    assert row["name"] == state
    assert f"the clock was set by {by_s:+.0f} s: what is timed begins anew" in run.said


def test_a_clock_that_was_set_back_while_nobody_watched_is_seen(run: Run) -> None:
    run.watch = verdicts(*["INCONCLUSIVE"] * 200)
    run.clock.slept = at(run, "baking", lambda: setattr(run.there, "away", True))
    with pytest.raises(Away):
        run.go()
    run.there.away = False
    run.set_clock(-7200.0)
    run.watch = verdicts("INCONCLUSIVE")
    began_s = run.steady()
    assert run.go() == 0
    assert run.steady() - began_s < 60
