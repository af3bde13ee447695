"""One sending of a prepared run folder, inside a gevent process.

Owns: putting the pieces together (connections, dispatcher, recorder, scraper), and the order in which
they end. Knows nothing about locust, the command line or summaries.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

import gevent
from gevent.event import Event

from loadgen.dispatch import NS, Dispatcher, Ended, Plan
from loadgen.limits import Limits
from loadgen.parse import Capture
from loadgen.recorder import Recorder
from loadgen.records import Planned, RequestRecord
from loadgen.run_folder import Account, Manifest, RunFolder
from loadgen.scrape import Scraper
from loadgen.server_metrics import ServerSample
from loadgen.stream import Connections, exchange
from loadgen.target import Target, key_from, parse_target, request_bytes


@dataclass(slots=True)
class Session:
    """Sends a folder's timetable. `stop` may be called from any greenlet, at any time, more than once."""

    folder: RunFolder
    heard: Callable[[RequestRecord], None] = lambda _: None
    limits: Limits = field(default_factory=Limits)
    _dispatcher: Dispatcher | None = None
    _stopped: bool = False
    _done: Event = field(default_factory=Event)

    def run(self) -> Ended:
        """Send, record and scrape until the end; the folder is whole when this returns."""
        try:
            return self._run()
        finally:
            self._done.set()

    def stop(self) -> None:
        """End the sending, drain, and return when the folder is whole. A second call cuts what is left."""
        again, self._stopped = self._stopped, True
        if self._dispatcher is not None:
            self._dispatcher.stop(cut=again)
        self._done.wait()

    def _run(self) -> Ended:
        manifest, timetable = self.folder.manifest(), self.folder.timetable()
        origin_ns = manifest.clock["perf_counter_ns"]
        target = parse_target(manifest.target, api_key=key_from(os.environ))
        with ExitStack() as stack:
            records = stack.enter_context(self.folder.records_path.open("a", encoding="utf-8"))
            samples = stack.enter_context((self.folder.path / "server.jsonl").open("a", encoding="utf-8"))
            connections = Connections.to(target, connect_timeout_s=self.limits.connect_s)
            stack.callback(connections.close)
            recorder = Recorder(records, origin_ns, self.heard)
            scraper = Scraper(manifest.metrics_urls, origin_ns=origin_ns, sink=_line_writer(samples))
            cpu = _CpuMeter()

            def between() -> None:
                cpu.mark()
                scraper.edge()

            dispatcher = Dispatcher(
                plan_of(manifest, timetable),
                send=_sender(connections, target, manifest, timetable),
                sink=recorder.take,
                between=between,
                limits=self.limits,
            )
            self._dispatcher = dispatcher
            if self._stopped:
                gevent.spawn(dispatcher.stop)
            # What exists now lives as long as the run: the collector need not look at it while streams run.
            gc.collect()
            gc.freeze()
            recorder.start()
            scraper.start()
            ended = dispatcher.run()
            recorder.finish()
            scraper.stop()
            account = Account(
                measure_start_ns=dispatcher.measure_start_ns - origin_ns,
                ended=ended,
                sent=dispatcher.sent,
                cpu_ratio=cpu.ratio(),
                parse_slice_max_s=recorder.slice_max_s,
            )
            self.folder.write_json("dispatch.json", asdict(account))
        return ended


def plan_of(manifest: Manifest, timetable: tuple[Planned, ...]) -> Plan:
    """The timetable by phase, with the bounds of a closed loop."""
    arrival = manifest.workload["arrival"]
    return Plan(
        warmup=[planned for planned in timetable if planned.phase == "warmup"],
        measured=[planned for planned in timetable if planned.phase == "measure"],
        concurrency=arrival.get("concurrency"),
        duration_s=arrival.get("duration"),
    )


def _sender(
    connections: Connections, target: Target, manifest: Manifest, timetable: tuple[Planned, ...]
) -> Callable[[Planned, Capture], None]:
    """A function that sends one planned request; every request's bytes are made here, before the run."""
    made = {
        planned.index: request_bytes(
            target, planned.path, planned.body, request_id=f"{manifest.salt}-{planned.index}"
        )
        for planned in timetable
    }
    return lambda planned, capture: exchange(connections, made[planned.index], capture)


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

    def ratio(self) -> float:
        if len(self._marks) < 2:
            return 0.0
        (cpu_a, wall_a), (cpu_b, wall_b) = self._marks[-2:]
        return (cpu_b - cpu_a) * NS / max(1, wall_b - wall_a)


def as_locust_row(record: RequestRecord) -> dict[str, Any]:
    """The fields of locust's request event for a record: e2e in ms under the name of the prompt's kind."""
    end_ns = record.output_ns[-1] if record.output_ns else record.t_end_ns
    return {
        "request_type": "POST",
        "name": record.kind,
        "response_time": (end_ns - record.t_sent_ns) / 1e6,
        "response_length": record.bytes_in,
        "exception": None if record.outcome == "ok" else RuntimeError(record.error or record.outcome),
        "context": {},
    }
