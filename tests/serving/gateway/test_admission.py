"""Places and the queue, as a state machine."""

from __future__ import annotations

import random

import pytest

from serving.gateway.admission import Admission


class Ticket:
    pass


def test_places_are_taken_then_the_queue_then_nothing() -> None:
    admission: Admission[Ticket] = Admission(2, 1)
    assert [admission.ask(Ticket()) for _ in range(4)] == ["admitted", "admitted", "queued", "full"]
    assert (admission.taken, admission.waiting) == (2, 1)


def test_a_place_given_back_goes_to_who_waited_longest() -> None:
    admission: Admission[Ticket] = Admission(1, 10)
    first, second, third = Ticket(), Ticket(), Ticket()
    for ticket in (Ticket(), first, second, third):
        admission.ask(ticket)
    assert admission.done() is first
    assert admission.leave(second)
    assert admission.done() is third
    assert admission.done() is None
    assert (admission.taken, admission.waiting) == (0, 0)


def test_nobody_overtakes_the_queue() -> None:
    admission: Admission[Ticket] = Admission(1, 10)
    waiting = Ticket()
    admission.ask(Ticket())
    admission.ask(waiting)
    admission.places = 5
    assert admission.ask(Ticket()) == "queued"


def test_who_was_admitted_cannot_leave_the_queue() -> None:
    admission: Admission[Ticket] = Admission(1, 10)
    waiting = Ticket()
    admission.ask(Ticket())
    admission.ask(waiting)
    admission.done()
    assert not admission.leave(waiting)


def test_without_a_number_of_places_all_are_admitted() -> None:
    admission: Admission[Ticket] = Admission(None, 0)
    assert {admission.ask(Ticket()) for _ in range(1000)} == {"admitted"}


def test_a_place_given_back_twice_is_a_fault_that_shows() -> None:
    with pytest.raises(RuntimeError, match="given back twice"):
        Admission(1, 1).done()


def test_all_can_be_sent_away() -> None:
    admission: Admission[Ticket] = Admission(1, 10)
    tickets = [Ticket() for _ in range(3)]
    for ticket in (Ticket(), *tickets):
        admission.ask(ticket)
    assert admission.dismiss() == tickets
    assert admission.done() is None


def test_under_random_use_it_agrees_with_a_plain_list() -> None:
    dice = random.Random(11)
    admission: Admission[Ticket] = Admission(3, 4)
    inside, queue = 0, list[Ticket]()
    for _ in range(20_000):
        move = dice.random()
        if move < 0.5:
            ticket = Ticket()
            expected = "admitted" if inside < 3 else "queued" if len(queue) < 4 else "full"
            assert admission.ask(ticket) == expected
            inside += expected == "admitted"
            if expected == "queued":
                queue.append(ticket)
        elif move < 0.8 and inside:
            if queue:
                assert admission.done() is queue.pop(0)
            else:
                assert admission.done() is None
                inside -= 1
        elif queue:
            assert admission.leave(queue.pop(dice.randrange(len(queue))))
        assert (admission.taken, admission.waiting) == (inside, len(queue))
