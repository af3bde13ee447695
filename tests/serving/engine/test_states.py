"""Expected pauses and limits are the issue's own: 1, 2, 4 ... 60 s, and stop after 5 in 10 minutes."""

from __future__ import annotations

import pytest

from serving.engine.states import (
    KIND_OF_CAUSE,
    TABLE,
    Again,
    EngineState,
    Event,
    ExitKind,
    GiveUp,
    after_crash,
    classify,
    following,
)
from serving.facts.load import engine_messages
from serving.facts.messages import Cause

CRASH = ExitKind.CRASH


def walk(*events: Event) -> EngineState:
    state = EngineState.PLANNED
    for event in events:
        state = following(state, event)
    return state


def test_an_engine_is_ready_only_after_a_token_and_the_proof() -> None:
    assert walk(Event.START) == "starting"
    assert walk(Event.START, Event.GENERATED) == "proving"
    assert walk(Event.START, Event.GENERATED, Event.PROVEN) == "ready"
    with pytest.raises(ValueError, match="'proven' cannot happen to an engine that is starting"):
        walk(Event.START, Event.PROVEN)


def test_a_crashed_one_waits_and_is_started_and_proven_again() -> None:
    crashed = (Event.START, Event.GENERATED, Event.PROVEN, Event.CRASHED)
    assert walk(*crashed, Event.CLEARED) == "waiting"
    assert walk(*crashed, Event.CLEARED, Event.START) == "starting"
    assert walk(*crashed, Event.GIVEN_UP) == "failed"


@pytest.mark.parametrize("state", EngineState)
def test_it_can_be_told_to_stop_in_every_state(state: EngineState) -> None:
    assert following(state, Event.STOP) in {"draining", "stopped", "failed"}


def test_no_event_leads_out_of_stopped_or_failed() -> None:
    ends = {EngineState.STOPPED, EngineState.FAILED}
    assert all(after in ends for (state, _), after in TABLE.items() if state in ends)


@pytest.mark.parametrize(
    ("code", "cause_id", "kind"),
    [
        (2, "unrecognized_arguments", ExitKind.WRONG_FLAG),
        (2, None, ExitKind.WRONG_FLAG),
        (1, "heads_not_divisible", ExitKind.WRONG_FLAG),
        (1, "cpu_kv_memory", ExitKind.OUT_OF_MEMORY),
        (1, "port_in_use", ExitKind.PORT),
        (1, "missing_tokenizer", ExitKind.MISSING_FILE),
        (1, "no_space_left", ExitKind.SHARED_MEMORY),
        (1, "unknown", CRASH),
        (1, None, CRASH),
        (-9, None, CRASH),
        (None, None, CRASH),
    ],
)
def test_exits_are_told_apart_by_what_the_log_names(
    code: int | None, cause_id: str | None, kind: ExitKind
) -> None:
    cause = None if cause_id is None else Cause("something", "do something", "a line", cause_id)
    assert classify(code, cause) is kind


def test_the_kinds_are_of_messages_that_exist_or_are_expected() -> None:
    known = {message.id for message in engine_messages()}
    assert KIND_OF_CAUSE.keys() - known <= {"unknown", "shared_memory", "nccl"}


def crashes_at(*times_s: float, kind: ExitKind = CRASH, was_ready: bool = True) -> Again | GiveUp:
    return after_crash(kind, crashes_s=times_s, was_ready=was_ready)


def test_pauses_double_from_one_second() -> None:
    assert crashes_at(0) == Again(1)
    assert crashes_at(0, 10) == Again(2)
    assert crashes_at(0, 10, 20) == Again(4)
    assert crashes_at(0, 10, 20, 30) == Again(8)


def test_the_fifth_crash_within_ten_minutes_is_the_last() -> None:
    assert crashes_at(0, 100, 200, 300, 599) == GiveUp("5 crashes within 10 minutes")


def test_crashes_further_apart_go_on_with_at_most_a_minute_between() -> None:
    slow = [200.0 * n for n in range(7)]
    assert [crashes_at(*slow[: n + 1]) for n in range(7)] == [Again(s) for s in (1, 2, 4, 8, 16, 32, 60)]


def test_after_ten_quiet_minutes_it_begins_anew() -> None:
    assert crashes_at(0, 10, 20, 620) == Again(1)


@pytest.mark.parametrize("kind", [kind for kind in ExitKind if kind is not CRASH])
def test_what_cannot_go_better_is_not_tried_again(kind: ExitKind) -> None:
    assert crashes_at(0, kind=kind, was_ready=False) == GiveUp(f"{kind.value} is not tried again")


def test_running_out_of_memory_under_load_is_tried_again() -> None:
    assert crashes_at(0, kind=ExitKind.OUT_OF_MEMORY, was_ready=True) == Again(1)
