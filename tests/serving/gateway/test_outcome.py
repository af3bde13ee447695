from __future__ import annotations

from dataclasses import FrozenInstanceError, asdict

import pytest

from serving.gateway.outcome import Exchange


def test_an_outcome_holds_every_note_and_its_end() -> None:
    exchange = Exchange(
        request_id="r", path="/p", accepted_ns=1, kind="ok", status=200, revision="main", backend="b",
        streamed=True, upstream_sent_ns=2, first_byte_ns=3, last_byte_ns=4, bytes_in=5, bytes_out=6,
    )  # fmt: skip
    notes = asdict(exchange)
    del notes["body"]  # What a client asked is not kept.
    assert asdict(exchange.outcome(7)) == {**notes, "ended_ns": 7}


def test_a_request_nobody_spoke_for_was_our_fault() -> None:
    assert Exchange("r", "/p", 1).outcome(2).kind == "error"


def test_an_outcome_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Exchange("r", "/p", 1).outcome(2).status = 200  # type: ignore[misc]
