"""The fake sender answers after a time of the test's choosing; order and counts are asserted, not speed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import gevent
import pytest

from loadgen.dispatch import Dispatcher, Plan, Slots, chains
from loadgen.limits import Limits
from loadgen.parse import Capture
from loadgen.records import Planned
from loadgen.stream import Cut, TooSlow


def planned(index: int, at_ms: float | None = None, phase: str = "measure") -> Planned:
    at_ns = None if at_ms is None else round(at_ms * 1e6)
    return Planned(index, phase, at_ns, "any", "/", {})  # type: ignore[arg-type]


@dataclass
class Server:
    """Takes `answer_s` for every request, or for ever where that is None."""

    answer_s: Callable[[int], float | None] = lambda _: 0.0
    started: list[int] = field(default_factory=list)
    answers: list[tuple[str, ...]] = field(default_factory=list)
    reply: bytes = b""
    most_at_once: int = 0
    finished: list[tuple[int, Capture, int]] = field(default_factory=list)
    _running: int = 0

    def send(self, request: Planned, capture: Capture, answers: Sequence[str]) -> None:
        capture.t_sent_ns = time.perf_counter_ns()
        self.started.append(request.index)
        self.answers.append(tuple(answers))
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        answer_s = self.answer_s(request.index)
        try:
            gevent.sleep(3600 if answer_s is None else answer_s)
            if self.reply:
                capture.parts, capture.stamps = [self.reply], [time.perf_counter_ns()]
        except Cut:
            capture.cut = True
        except TooSlow as slow:
            capture.error = str(slow)
        self._running -= 1

    def sink(self, request: Planned, capture: Capture, start_ns: int) -> None:
        self.finished.append((request.index, capture, start_ns))


def dispatcher(server: Server, measured: Sequence[Planned], **more: object) -> Dispatcher:
    limits = more.pop("limits", Limits(drain_s=5))
    between = more.pop("between", lambda: None)
    plan = Plan(warmup=more.pop("warmup", ()), measured=measured, **more)  # type: ignore[arg-type]
    return Dispatcher(plan, server.send, server.sink, between=between, limits=limits)  # type: ignore[arg-type]


def test_an_open_loop_sends_each_request_at_its_time_and_never_before() -> None:
    server = Server()
    run = dispatcher(server, [planned(i, at_ms=10 * i) for i in range(8)])
    assert run.run() == "complete"
    assert server.started == list(range(8))
    for index, capture, start_ns in server.finished:
        assert start_ns == run.measure_start_ns
        assert capture.t_sent_ns >= start_ns + index * 10_000_000


@pytest.mark.slow
def test_an_open_loop_does_not_wait_for_answers() -> None:
    server = Server(lambda _: 0.3)
    dispatcher(server, [planned(i, at_ms=i) for i in range(20)]).run()
    assert server.most_at_once == 20


def test_requests_that_are_due_together_all_start() -> None:
    server = Server()
    dispatcher(server, [planned(i, at_ms=0) for i in range(50)]).run()
    assert sorted(server.started) == list(range(50))


def test_a_closed_loop_has_as_many_in_flight_as_slots() -> None:
    server = Server(lambda _: 0.01)
    run = dispatcher(server, [planned(i) for i in range(12)], slots=(Slots(3),))
    assert run.run() == "complete"
    assert server.started == list(range(12))
    assert server.most_at_once == 3


@pytest.mark.slow
def test_a_closed_loop_ends_with_its_duration_and_drains() -> None:
    server = Server(lambda _: 0.05)
    run = dispatcher(server, [planned(i) for i in range(1000)], slots=(Slots(2, 0.3),))
    assert run.run() == "complete"
    assert 2 <= len(server.started) <= 14
    assert len(server.finished) == len(server.started)
    assert not any(capture.cut for _, capture, _ in server.finished)


def test_a_closed_loop_that_runs_out_of_requests_says_so() -> None:
    run = dispatcher(Server(), [planned(i) for i in range(3)], slots=(Slots(2, 60),))
    assert run.run() == "used_up"


def test_the_warm_up_has_ended_before_anything_is_measured() -> None:
    server = Server(lambda index: 0.05 if index < 3 else 0.0)
    edges: list[int] = []
    warmup = [planned(i, phase="warmup") for i in range(3)]
    run = dispatcher(
        server, [planned(3, at_ms=0)], warmup=warmup, between=lambda: edges.append(len(server.finished))
    )
    run.run()
    assert [index for index, _, _ in server.finished][-1] == 3
    assert edges == [3, 4]


def test_what_does_not_end_within_the_drain_is_cut() -> None:
    server = Server(lambda index: None if index == 1 else 0.0)
    dispatcher(server, [planned(0, at_ms=0), planned(1, at_ms=1)], limits=Limits(drain_s=0.1)).run()
    assert {index: capture.cut for index, capture, _ in server.finished} == {0: False, 1: True}


@pytest.mark.parametrize("slots", [(), (Slots(1),)])
def test_a_stop_sends_nothing_more_and_drains_what_is_in_flight(slots: tuple[Slots, ...]) -> None:
    server = Server(lambda _: 0.2)
    at_ms = (0, 3_600_000) if not slots else (None, None)
    run = dispatcher(server, [planned(i, at) for i, at in enumerate(at_ms)], slots=slots)
    running = gevent.spawn(run.run)
    while not server.started:
        gevent.sleep(0.005)
    run.stop()
    assert running.get() == "interrupted"
    assert server.started == [0]
    assert [capture.cut for _, capture, _ in server.finished] == [False]


def test_a_second_stop_cuts_at_once() -> None:
    server = Server(lambda _: None)
    run = dispatcher(server, [planned(0, at_ms=0)], limits=Limits(drain_s=3600))
    running = gevent.spawn(run.run)
    while not server.started:
        gevent.sleep(0.005)
    gevent.spawn(run.stop)
    gevent.sleep(0.01)
    run.stop(cut=True)
    running.get()
    assert [capture.cut for _, capture, _ in server.finished] == [True]


@pytest.mark.slow
def test_a_silent_answer_is_ended_by_the_watchdog() -> None:
    server = Server(lambda _: None)
    dispatcher(server, [planned(0, at_ms=0)], limits=Limits(idle_s=0.2, drain_s=30)).run()
    ((_, capture, _),) = server.finished
    assert capture.error == "nothing came for 0.2 s"
    assert not capture.cut


@pytest.mark.slow
def test_an_endless_answer_is_ended_by_the_watchdog() -> None:
    server = Server(lambda _: None)
    dispatcher(server, [planned(0, at_ms=0)], limits=Limits(total_s=0.2, drain_s=30)).run()
    assert server.finished[0][1].error == "no end after 0.2 s"


def turns(conversation: int, number: int, *, at_ms: float | None = None, first: int = 0) -> list[Planned]:
    return [
        Planned(
            first + turn,
            "measure",
            None if turn or at_ms is None else round(at_ms * 1e6),
            "chat",
            "/",
            {},
            conversation=conversation,
            turn=turn,
            think_s=0.01,
        )
        for turn in range(number)
    ]


def reply(text: str) -> bytes:
    event = (
        b'data: {"choices":[{"index":0,"delta":{"content":"%b"},"finish_reason":"stop"}]}\n\n' % text.encode()
    )
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(event)
    return head + event


def test_a_turn_is_sent_when_the_answer_before_it_has_come_and_repeats_it() -> None:
    server = Server(lambda _: 0.02, reply=reply("yes"))
    run = dispatcher(server, turns(7, 3, at_ms=0))
    assert run.run() == "complete"
    assert server.answers == [(), ("yes",), ("yes", "yes")]
    assert server.most_at_once == 1
    ends = [capture.stamps[-1] for _, capture, _ in server.finished]
    begins = [capture.t_sent_ns for _, capture, _ in server.finished]
    assert all(begin - end >= 10_000_000 for end, begin in zip(ends, begins[1:], strict=False))


def test_a_conversation_ends_with_an_answer_that_failed() -> None:
    server = Server(reply=b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n")
    dispatcher(server, turns(1, 3, at_ms=0)).run()
    assert server.started == [0]


def test_conversations_of_an_open_loop_start_at_their_time_and_overlap() -> None:
    server = Server(lambda _: 0.05, reply=reply("a"))
    dispatcher(server, turns(0, 2, at_ms=0) + turns(1, 2, at_ms=1, first=2)).run()
    assert server.most_at_once == 2
    assert sorted(server.started) == [0, 1, 2, 3]


def test_turns_are_together_where_the_first_of_them_stands() -> None:
    a, b, single = turns(0, 2), turns(1, 2, first=2), planned(9)
    mixed = [a[0], single, b[0], a[1], b[1]]
    assert [[p.index for p in chain] for chain in chains(mixed)] == [[0, 1], [9], [2, 3]]


@pytest.mark.slow
def test_stages_of_a_closed_loop_change_how_many_are_in_flight() -> None:
    server = Server(lambda _: 0.02)
    most: list[int] = []
    run = dispatcher(
        server, [planned(i) for i in range(1000)], slots=(Slots(1, 0.2), Slots(4, 0.3), Slots(2, 0.2))
    )
    running = gevent.spawn(run.run)
    while not running.dead:
        most.append(run.in_flight)
        gevent.sleep(0.005)
    assert running.get() == "complete"
    assert max(most) == 4
    assert most.index(4) > most.index(1)
    assert len(server.finished) == len(server.started)
