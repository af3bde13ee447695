"""The table of a divided request."""

from __future__ import annotations

import itertools

import pytest

from serving.gateway.disaggregated.machine import Division, Event, State


def walked(*events: Event, on_failure: str = "aggregate") -> State:
    division = Division(on_failure)
    for event in events:
        division.on(event)
    return division.state


def test_the_usual_way_is_prefill_decode_done() -> None:
    assert walked() is State.PREFILL
    assert walked(Event.TRANSFERABLE) is State.DECODE
    assert walked(Event.TRANSFERABLE, Event.ANSWERED) is State.DONE


def test_a_failed_prefill_leaves_the_decoder_alone_or_refuses_as_told() -> None:
    assert walked(Event.PREFILL_FAILED) is State.ALONE
    assert walked(Event.PREFILL_FAILED, on_failure="error") is State.REFUSED


def test_blocks_that_do_not_come_are_not_asked_for_twice() -> None:
    assert walked(Event.TRANSFERABLE, Event.NOT_LOADED) is State.ALONE
    with pytest.raises(RuntimeError, match="NOT_LOADED cannot happen in ALONE"):
        walked(Event.TRANSFERABLE, Event.NOT_LOADED, Event.NOT_LOADED)


def test_what_the_table_does_not_have_raises() -> None:
    allowed = 0
    for first, second in itertools.product(Event, repeat=2):
        try:
            walked(first, second)
        except RuntimeError:
            continue
        allowed += 1
    # TRANSFERABLE then ANSWERED or NOT_LOADED; PREFILL_FAILED then ANSWERED.
    assert allowed == 3
