from __future__ import annotations

from dataclasses import fields

import pytest

from serving.gateway.outcome import Exchange, Gaps


def test_an_outcome_holds_every_note_and_its_end() -> None:
    exchange = Exchange(
        request_id="r", path="/p", accepted_ns=1, kind="ok", status=200, revision="main", backend="b",
        streamed=True, upstream_sent_ns=2, first_byte_ns=3, last_byte_ns=4, bytes_in=5, bytes_out=6,
    )  # fmt: skip
    notes = {note.name: getattr(exchange, note.name) for note in fields(exchange)}
    for passing in ("body", "answer_headers", "engine_headers"):
        del notes[passing]  # What a client asked is not kept.
    assert exchange.outcome(7)._asdict() == {**notes, "ended_ns": 7}


def test_a_request_nobody_spoke_for_was_our_fault() -> None:
    assert Exchange("r", "/p", 1).outcome(2).kind == "error"


def test_an_outcome_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Exchange("r", "/p", 1).outcome(2).status = 200  # type: ignore[misc]


def test_pieces_of_an_answer_are_stamped_counted_and_their_gaps_sorted_by_bounds() -> None:
    exchange = Exchange("r", "/p", 1, gaps=Gaps((10, 20)))
    for now_ns in (100, 110, 125, 225, 231):
        exchange.arrived(now_ns, 7)
    assert (exchange.first_byte_ns, exchange.last_byte_ns, exchange.bytes_out) == (100, 231, 35)
    # Gaps of 10 (up to the first bound), 15, 100 (beyond all) and 6.
    assert exchange.outcome(300).gaps.counts == [2, 1, 1]
