"""Several sending processes as one run: who sends which part, when all begin, and what they bring back.

Owns: the leading side of the conversation with the workers (`loadgen.follow` is the other), the scraping
of servers, and the merging of records. Knows nothing about locust beyond sending a message to a worker
and being told of one. Workers on this machine share its clock and the run folder; others get the
timetable by message, send their records back, and only intervals within these are exact.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import gevent

from loadgen.dispatch import Ended
from loadgen.limits import Limits
from loadgen.live import Live, together
from loadgen.messages import DONE, GIVEN, GO, NEED, PLAY, READY, RECORDS, STOP, machine
from loadgen.patience import TELL_S, Patience
from loadgen.run_folder import Account, RunFolder
from loadgen.scrape import Scraper
from loadgen.server_metrics import ServerSample

LEAD_S = 0.3
"""From the word to begin until the first intended time: messages take a moment."""
POLL_S = 0.02

Tell = Callable[[str, Mapping[str, Any], str], None]
"""Sends a message of a kind to a worker."""


@dataclass(slots=True)
class _Worker:
    number: int
    live: Live = field(default_factory=Live)
    ready: bool = False
    account: Account | None = None
    error: str | None = None
    done: bool = False
    changed_s: float = 0.0
    """When it last said something new."""

    def show(self, live: Live, now_s: float) -> None:
        """Take its figures."""
        if _progress(live) != _progress(self.live):
            self.changed_s = now_s
        self.live = live


def _progress(live: Live) -> tuple[int, ...]:
    return live.sent, live.in_flight, live.unread, live.warmup


@dataclass(slots=True)
class Lead:
    """Leads the workers through one run. `hear` takes their messages; it has `run`, `stop` and `live` as a
    session has."""

    folder: RunFolder
    workers: Sequence[str]
    """Their ids, in the order of their numbers."""
    tell: Tell
    alive: Callable[[str], bool] = lambda _: True
    limits: Limits = field(default_factory=Limits)
    tell_s: float = TELL_S
    """What a worker gets beyond all limits before it counts as lost; see `loadgen.patience`."""
    now_s: Callable[[], float] = time.monotonic
    errors: list[str] = field(default_factory=list)
    _by_id: dict[str, _Worker] = field(default_factory=dict)
    _mail: deque[tuple[str, str, Mapping[str, Any]]] = field(default_factory=deque)
    _stops: int = 0
    _stopped_s: float = 0.0
    _done: bool = False
    _other_clocks: int = 0

    def __post_init__(self) -> None:
        self._by_id = {each: _Worker(number) for number, each in enumerate(self.workers)}

    def hear(self, kind: str, worker: str, data: Mapping[str, Any]) -> None:
        """Take a worker's message."""
        one = self._by_id.get(worker)
        if one is None or one.done:
            return
        one.changed_s = self.now_s()
        if kind == READY:
            one.ready = True
        elif kind == NEED:
            self._give(worker)
        elif kind == RECORDS:
            with self._out(one).records_path.open("a", encoding="utf-8") as file:
                file.write(data["lines"])
        elif kind == DONE:
            one.live = Live.from_wire(data["live"])
            one.account = Account(**data["account"]) if data["account"] else None
            one.error = data["error"]
            one.done = True

    def hear_live(self, worker: str, wire: Mapping[str, Any]) -> None:
        """Take what a worker has come to so far."""
        if worker in self._by_id and not self._by_id[worker].done:
            self._by_id[worker].show(Live.from_wire(wire), self.now_s())

    def live(self) -> Live:
        """All workers together."""
        return together(worker.live for worker in self._by_id.values())

    def stop(self, *, wait: bool = True) -> None:
        """End the sending; a second call cuts what is in flight."""
        self._stops += 1
        self._stopped_s = self.now_s()
        for worker in self.workers:
            self.tell(STOP, {"cut": self._stops > 1}, worker)
        while wait and not self._done:
            gevent.sleep(POLL_S)

    def run(self) -> Ended:
        """Play the run folder's timetable on all workers; it is whole when this returns."""
        try:
            return self._run()
        finally:
            self._done = True

    def _run(self) -> Ended:
        manifest = self.folder.manifest()
        with (self.folder.path / "server.jsonl").open("a", encoding="utf-8") as samples:

            def keep(sample: ServerSample) -> None:
                samples.write(sample.to_json() + "\n")
                samples.flush()

            origin_ns = manifest.clock["perf_counter_ns"]
            scraper = Scraper(manifest.metrics_urls, origin_ns=origin_ns, sink=keep)
            patience = Patience.of(
                manifest.workload["arrival"], self.folder.timetable(), self.limits, tell_s=self.tell_s
            )
            self._begin()
            if self._stops:
                self.stop(wait=False)
            self._wait_for(lambda worker: worker.ready, patience)
            scraper.edge()
            scraper.start()
            start_ns = time.perf_counter_ns() + round(LEAD_S * 1e9)
            for worker in self.workers:
                self.tell(GO, {"start_ns": start_ns}, worker)
            self._wait_for(lambda worker: worker.done, patience, started_s=self.now_s() + LEAD_S)
            scraper.edge()
            scraper.stop()
        account = self._account(start_ns - origin_ns)
        self._merge()
        self.folder.write_json("dispatch.json", asdict(account))
        ended: Ended = account.ended  # type: ignore[assignment]  # what workers tell are dispatcher's words
        return ended

    def _begin(self) -> None:
        for worker, one in self._by_id.items():
            self._out(one).path.mkdir(exist_ok=True)
            one.changed_s = self.now_s()
            order = {
                "folder": str(self.folder.path.resolve()),
                "worker": one.number,
                "workers": len(self.workers),
                "machine": machine(),
                "now_ns": time.perf_counter_ns(),
            }
            self.tell(PLAY, order, worker)

    def _give(self, worker: str) -> None:
        """Send the run to a worker that cannot see the folder."""
        self._other_clocks += 1
        texts = {name: (self.folder.path / name).read_text() for name in ("manifest.json", "timetable.jsonl")}
        self.tell(GIVEN, texts, worker)

    def _wait_for(
        self, there: Callable[[_Worker], bool], patience: Patience, *, started_s: float | None = None
    ) -> None:
        """Wait until it is so for every worker; one that is gone, or overdue, is done with an error."""
        while waiting := [each for each in self._by_id.items() if not (each[1].done or there(each[1]))]:
            gevent.sleep(POLL_S)
            now_s = self.now_s()
            for worker, one in waiting:
                if one.done:
                    continue
                if not self.alive(worker):
                    one.done, one.error = True, f"worker {one.number} is gone"
                elif now_s > self._due_s(one, patience, started_s):
                    silent_s = now_s - one.changed_s
                    one.done = True
                    one.error = (
                        f"worker {one.number} lives, but has got no further for {silent_s:.0f} s and is not"
                        " waited for; its own log may say why, and it should be started anew"
                    )
                    self.tell(STOP, {"cut": True}, worker)

    def _due_s(self, one: _Worker, patience: Patience, started_s: float | None) -> float:
        if self._stops:
            return patience.due_after_stop_s(one.changed_s, stopped_s=self._stopped_s, cut=self._stops > 1)
        if started_s is None:
            return patience.due_before_start_s(one.changed_s)
        return patience.due_s(one.changed_s, started_s=started_s)

    def _account(self, measure_start_ns: int) -> Account:
        """All workers' accounts as one: the sum of what was sent, the worst of everything else."""
        self.errors += [worker.error for worker in self._by_id.values() if worker.error]
        accounts = [worker.account for worker in self._by_id.values() if worker.account is not None]
        ended = {account.ended for account in accounts}
        if len(accounts) < len(self.workers):
            ended.add("worker_lost")
        order: tuple[Ended, ...] = ("worker_lost", "target_gone", "interrupted", "used_up")
        return Account(
            measure_start_ns=measure_start_ns,
            ended=next((word for word in order if word in ended), "complete"),
            sent=sum(account.sent for account in accounts),
            cpu_ratio=max((account.cpu_ratio for account in accounts), default=0.0),
            cpu_s=sum(account.cpu_s for account in accounts),
            reading_s=max((account.reading_s for account in accounts), default=0.0),
            workers=len(self.workers),
            other_clocks=self._other_clocks,
        )

    def _merge(self) -> None:
        """Put the workers' records into one file; theirs stay, as what they sent."""
        with self.folder.records_path.open("a", encoding="utf-8") as whole:
            for worker in self._by_id.values():
                path = self._out(worker).records_path
                text = path.read_text(encoding="utf-8") if path.exists() else ""
                whole.write(text[: text.rfind("\n") + 1])
            whole.flush()
            os.fsync(whole.fileno())

    def _out(self, worker: _Worker) -> RunFolder:
        return worker_folder(self.folder, worker.number)


def worker_folder(folder: RunFolder, number: int) -> RunFolder:
    """Where a worker's own files are."""
    return RunFolder(folder.path / f"worker-{number}")
