"""One sending of a prepared run folder, or of one worker's share of it, inside a gevent process.

Owns: putting the pieces together (connections, dispatcher, recorder, scraper), and the order in which
they end. Knows nothing about locust, the command line, other workers or summaries.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

import gevent
from gevent.event import Event

from loadgen import descriptors
from loadgen.conversation import body_of_turn
from loadgen.dispatch import LEAD_NS, NS, Dispatcher, Ended, Plan, Slots
from loadgen.limits import Limits
from loadgen.live import Live
from loadgen.parse import Capture
from loadgen.reading import Heard, Order
from loadgen.recorder import Recorder
from loadgen.records import Planned
from loadgen.run_folder import Account, Manifest, RunFolder
from loadgen.scrape import Scraper
from loadgen.server_metrics import ServerSample
from loadgen.stats.plan import Slo
from loadgen.stream import Connections, exchange
from loadgen.target import Target, key_from, parse_target, request_bytes
from loadgen.thinning import share, thin


@dataclass(frozen=True, slots=True)
class Part:
    """Which worker of how many this process is."""

    worker: int = 0
    workers: int = 1


ALL = Part()
GIVE_UP_S = 10.0
"""A target that has given nothing for so long, to no request of at least GIVE_UP_REQUESTS, is gone."""
GIVE_UP_REQUESTS = 10
MOST_RESERVED = 65_536
"""Half a megabyte of kernel memory."""


def _soon() -> int:
    return time.perf_counter_ns() + LEAD_NS


@dataclass(slots=True)
class Session:
    """Sends a folder's timetable. `stop` may be called from any greenlet, at any time, more than once."""

    folder: RunFolder
    out: RunFolder | None = None
    """Where records and account go; None: to `folder`."""
    part: Part = ALL
    scrapes: bool = True
    starts_at_ns: Callable[[], int] = _soon
    """See `Dispatcher`: how workers wait for each other."""
    heard: Callable[[Heard], None] = lambda _: None
    say: Callable[[str], None] = lambda _: None
    limits: Limits = field(default_factory=Limits)
    _live: Live = field(default_factory=Live)
    _dispatcher: Dispatcher | None = None
    _recorder: Recorder | None = None
    _stopped: bool = False
    _unanswered: list[int] = field(default_factory=list)
    """When the latest requests in a row ended that got not one byte."""
    _done: Event = field(default_factory=Event)

    def run(self) -> Ended:
        """Send, record and scrape until the end; the folder is whole when this returns."""
        try:
            return self._run()
        finally:
            self._done.set()

    def stop(self, *, wait: bool = True) -> None:
        """End the sending, drain, and return when the folder is whole. A second call cuts what is left."""
        again, self._stopped = self._stopped, True
        if self._dispatcher is not None:
            gevent.spawn(self._dispatcher.stop, cut=again)
        if wait:
            self._done.wait()

    def live(self) -> Live:
        """What it has come to so far."""
        if self._dispatcher is not None and self._recorder is not None:
            self._live.sent = self._dispatcher.sent
            self._live.in_flight = self._dispatcher.in_flight
            self._live.unread = self._recorder.taken - self._recorder.read
        return self._live

    def _run(self) -> Ended:
        manifest = self.folder.manifest()
        timetable = thin(self.folder.timetable(), self.part.worker, self.part.workers, seed=manifest.seed)
        origin_ns = manifest.clock["perf_counter_ns"]
        out = self.out or self.folder
        target = parse_target(manifest.target, api_key=key_from(os.environ))
        plan = plan_of(manifest, timetable, self.part)
        needed = descriptors.most_at_once(manifest.workload["arrival"], len(timetable), self.limits)
        descriptors.ensure(needed, closed=bool(plan.slots), say=self.say)
        descriptors.reserve(min(needed, MOST_RESERVED))
        with ExitStack() as stack:
            samples = stack.enter_context((out.path / "server.jsonl").open("a", encoding="utf-8"))
            connections = Connections.to(target, connect_timeout_s=self.limits.connect_s)
            stack.callback(connections.close)
            order = Order(out.path / "spool", out.records_path, origin_ns, slo_of(manifest), self.part.worker)
            recorder = self._recorder = Recorder(order, self._hear)
            urls = manifest.metrics_urls if self.scrapes else ()
            scraper = Scraper(urls, origin_ns=origin_ns, sink=_line_writer(samples))
            cpu = _CpuMeter()

            def between() -> None:
                cpu.mark()
                scraper.edge()

            dispatcher = self._dispatcher = Dispatcher(
                plan,
                send=_sender(connections, target, manifest, timetable),
                sink=self._take,
                between=between,
                starts_at_ns=self.starts_at_ns,
                limits=self.limits,
            )
            if self._stopped:
                gevent.spawn(dispatcher.stop)
            # What exists now lives as long as the run: the collector need not look at it while streams run.
            gc.collect()
            gc.freeze()
            recorder.start()
            scraper.start()
            ended = dispatcher.run()
            scraper.stop()
            recorder.finish()
            if self._is_gone() or not connections.answers():
                ended = "target_gone"
            account = Account(
                measure_start_ns=dispatcher.measure_start_ns - origin_ns,
                ended=ended,
                sent=dispatcher.sent,
                cpu_ratio=cpu.ratio(),
                cpu_s=cpu.seconds(),
                reading_s=recorder.reading_s,
                workers=self.part.workers,
            )
            out.write_json("dispatch.json", asdict(account))
        return ended

    def _take(self, planned: Planned, capture: Capture, measure_start_ns: int) -> None:
        assert self._recorder is not None  # it is there before anything is sent
        self._recorder.take(planned, capture, measure_start_ns)
        if capture.parts or capture.cut:
            self._unanswered.clear()
            return
        self._unanswered.append(capture.t_end_ns)
        if self._is_gone() and self._dispatcher is not None:
            gevent.spawn(self._dispatcher.stop)

    def _is_gone(self) -> bool:
        unanswered = self._unanswered
        return len(unanswered) >= GIVE_UP_REQUESTS and unanswered[-1] - unanswered[0] >= GIVE_UP_S * NS

    def _hear(self, heard: Heard) -> None:
        if heard.tally is None:
            self._live.warmup += 1
        else:
            self._live.add((heard.kind, heard.stage), heard.tally)
        self.heard(heard)


def slo_of(manifest: Manifest) -> Slo:
    """The objectives of a normalized workload."""
    slo = manifest.workload.get("slo") or {}
    return Slo(ttft_s=slo.get("ttft"), tpot_s=slo.get("tpot"), e2e_s=slo.get("e2e"))


def plan_of(manifest: Manifest, timetable: Sequence[Planned], part: Part = ALL) -> Plan:
    """A worker's timetable by phase, with its share of the slots of a closed loop."""
    arrival = manifest.workload["arrival"]

    def mine(number: int) -> int:
        return share(number, part.worker, part.workers)

    slots: tuple[Slots, ...] = ()
    if arrival.get("concurrency"):
        slots = (Slots(mine(arrival["concurrency"]), arrival.get("duration")),)
    elif any(stage.get("concurrency") for stage in arrival.get("stages", ())):
        slots = tuple(Slots(mine(stage["concurrency"]), stage["duration"]) for stage in arrival["stages"])
    return Plan(
        warmup=[planned for planned in timetable if planned.phase == "warmup"],
        measured=[planned for planned in timetable if planned.phase == "measure"],
        slots=slots,
        warmup_concurrency=max(1, mine(4)),
    )


def _sender(
    connections: Connections, target: Target, manifest: Manifest, timetable: Sequence[Planned]
) -> Callable[[Planned, Capture, Sequence[str]], None]:
    """A function that sends one planned request. Bytes are made here, before the run, where nothing in
    them waits for an answer."""

    def bytes_of(planned: Planned, answers: Sequence[str]) -> bytes:
        body = body_of_turn(planned.body, answers) if planned.turn else planned.body
        return request_bytes(target, planned.path, body, request_id=f"{manifest.salt}-{planned.index}")

    made = {planned.index: bytes_of(planned, ()) for planned in timetable if not planned.turn}

    def send(planned: Planned, capture: Capture, answers: Sequence[str]) -> None:
        exchange(connections, made.get(planned.index) or bytes_of(planned, answers), capture)

    return send


def _line_writer(file: TextIO) -> Callable[[ServerSample], None]:
    def write(sample: ServerSample) -> None:
        file.write(sample.to_json() + "\n")
        file.flush()

    return write


class _CpuMeter:
    """This process's share of one core between the last two marks."""

    def __init__(self) -> None:
        self._marks: list[tuple[float, int]] = []

    def mark(self) -> None:
        self._marks.append((time.process_time(), time.perf_counter_ns()))

    def seconds(self) -> float:
        return self._marks[-1][0] - self._marks[-2][0] if len(self._marks) > 1 else 0.0

    def ratio(self) -> float:
        """0 of less than a tenth of a second: a run that was stopped at once is not what kept a core busy."""
        if len(self._marks) < 2:
            return 0.0
        (cpu_a, wall_a), (cpu_b, wall_b) = self._marks[-2:]
        return (cpu_b - cpu_a) * NS / (wall_b - wall_a) if wall_b - wall_a > NS // 10 else 0.0


def as_locust_row(heard: Heard) -> dict[str, Any]:
    """The fields of locust's request event: e2e in ms, not rounded, under the name of the prompt's kind."""
    return {
        "request_type": "POST",
        "name": heard.kind,
        "response_time": heard.e2e_s * 1e3,
        "response_length": heard.bytes_in,
        "exception": None if heard.error is None else RuntimeError(heard.error),
        "context": {},
    }
