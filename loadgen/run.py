"""One load run from workload to report, out of an ordinary process.

Owns: the order of the stages and what the user is told of them. Knows nothing about gevent: the
sending is a child process, and only files lie between.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from loadgen.live_view import View, line
from loadgen.moments import Moment, Moments
from loadgen.prepare import Request, default_folder, prepare
from loadgen.results import Result, conclude
from loadgen.run_folder import RunFolder
from loadgen.sender import Sender
from loadgen.target import parse_target
from loadgen.workload import Workload
from serving.config.units import format_duration
from serving.console import Console
from serving.errors import EXIT_SIGINT, EXIT_SIGTERM, Interrupted

SAY_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What a run came to. The folder holds everything else."""

    summary: dict[str, Any]
    folder: Path
    exit_code: int
    table: str


def run_load(  # noqa: PLR0913 - what `teapot load run` offers, each by its name
    *,
    workload: Workload,
    target: str,
    console: Console,
    out: Path | None = None,
    metrics_urls: Sequence[str] = (),
    api_key: str | None = None,
    processes: int = 1,
    exporter_port: str = "auto",
    discovery: Path | None = None,
    stopped: Callable[[], bool] = lambda: False,
    told: Callable[[Moment], None] = lambda moment: None,
) -> LoadResult:
    """Probe, prepare, send, summarize. Ctrl-C, SIGTERM or `stopped` end the sending, not the summary.

    `processes` is how many send; `exporter_port` is a number, `auto` or `off`; `discovery` is the folder
    where Prometheus is told of it; `told` hears of begin, stages and end as they come, and must not block.
    Exit codes of the result: 0, 3 (invalid), 130 and 143 (ended by a signal; 130 also by `stopped`).
    Raises: TeapotError where nothing could be measured.
    """
    console.say(f"preparing {workload.name} for {target}")
    began = time.monotonic()
    request = Request(
        workload=workload,
        target=parse_target(target, api_key=api_key),
        out=out or default_folder(workload),
        metrics_urls=tuple(metrics_urls),
    )
    folder = prepare(request, say=console.say)
    timetable = folder.timetable()
    console.say(
        f"{len(timetable)} requests prepared in {format_duration(time.monotonic() - began)},"
        f" sending: {folder.path}"
    )
    moments = Moments.of(workload, request.target.url, timetable)
    del timetable  # it may be large, and the run long
    told(moments.begin(time.time()))
    result = None
    try:
        with _sigterm_raises():
            sender = Sender(
                folder,
                api_key=request.target.api_key,
                processes=processes,
                exporter_port=exporter_port,
                discovery=discovery,
            )
            progress = _Progress(console, lambda shown: _tell(moments.seen(shown, time.time()), told))
            signalled = _send(sender, progress, stopped=stopped)
        moments.sent(time.time())
        result = conclude(folder)
    finally:
        told(moments.ended(result.summary if result else None, time.time()))
    return _load_result(folder, result, signalled)


def _load_result(folder: RunFolder, result: Result, signalled: int | None) -> LoadResult:
    return LoadResult(result.summary, folder.path, signalled or result.exit_code, result.table)


def _tell(moments: Iterator[Moment], told: Callable[[Moment], None]) -> None:
    for moment in moments:
        told(moment)


def _send(sender: Sender, progress: _Progress, *, stopped: Callable[[], bool]) -> int | None:
    """Wait for the child; the exit code of the signal that ended it early, None if nothing did."""
    try:
        return None if sender.wait(stopped=stopped, progress=progress.show) else EXIT_SIGINT
    except KeyboardInterrupt:
        progress.console.say("stopping: requests in flight may end (once more Ctrl-C cuts them)")
        return EXIT_SIGINT
    except Interrupted as interrupted:
        return interrupted.exit_code
    finally:
        sender.stop()


@dataclass(slots=True)
class _Progress:
    """A line rewritten on a terminal; elsewhere one every ten seconds."""

    console: Console
    seen: Callable[[View], None]
    _said: float = field(default_factory=time.monotonic)

    def show(self, shown: View) -> None:
        """Tell how the run goes."""
        self.seen(shown)
        self.console.progress(line(shown))
        if time.monotonic() - self._said >= SAY_EVERY_S and not self.console.err.isatty():
            self._said = time.monotonic()
            self.console.say(line(shown))


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Make SIGTERM an exception, as SIGINT is one, so that the child is ended on the way out."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise Interrupted(exit_code=EXIT_SIGTERM)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
