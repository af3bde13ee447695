"""How many streams this machine measures truly: the generator against a server that notes every write.

Owns: the steps, and what makes one true. Knows nothing about command lines. Server and generator are
processes of their own; what one wrote when is compared with what the other says, event by event.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from loadgen.run import LoadResult, run_load
from loadgen.run_folder import RunFolder
from loadgen.stats.quantiles import sample_quantile
from loadgen.workload import Workload
from serving.console import Console
from serving.errors import EXIT_FAILED, EXIT_OK, Failed

STEPS = (50, 100, 200, 400, 700, 1000, 1500, 2000)
GAP_S = 0.02
TTFT_S = 0.2
RAMP_S = 1.0
SECONDS = 6.0
MAX_LATE_P99_S = 0.005
MAX_TTFT_ERROR_S = 0.005
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Step:
    """One number of streams. `late` is our stamp minus the server's write, over all events."""

    streams: int
    most_at_once: int
    requests: int
    events: int
    late_p50_s: float
    late_p99_s: float
    ttft_error_p99_s: float
    """TTFT as we say minus as the server wrote, from the request's arrival there."""
    lag_p99_s: float
    cpu_ratio: float
    us_per_event: float
    """CPU time of the sending processes."""
    problems: tuple[str, ...]

    @property
    def true(self) -> bool:
        """Whether a measurement at this number may be believed."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class SelftestResult:
    """Every step, and the most streams that were measured truly (None: not even the fewest)."""

    steps: tuple[Step, ...]
    processes: int
    cpus: int = field(default_factory=lambda: os.cpu_count() or 1)

    @property
    def streams(self) -> int | None:
        """The largest number that was true with all smaller ones."""
        return max((step.streams for step in self.steps if step.true), default=None)

    @property
    def exit_code(self) -> int:
        """0 where at least the smallest number is measured truly."""
        return EXIT_OK if self.streams is not None else EXIT_FAILED

    @property
    def table(self) -> str:
        """For a terminal."""
        head = (
            f"{'streams':>8}{'events/s':>10}{'us/event':>10}{'CPU':>7}"
            f"{'late p50':>11}{'late p99':>11}{'TTFT off p99':>14}{'lag p99':>10}"
        )
        lines = [head, *(_line(step) for step in self.steps)]
        found = "not even the fewest" if self.streams is None else f"{self.streams} streams"
        sending = "process" if self.processes == 1 else "processes"
        lines.append(
            f"measured truly: {found} of {1 / GAP_S:.0f} events/s, {self.processes} sending {sending}"
        )
        return "\n".join(lines)

    def document(self) -> dict[str, Any]:
        """For --json."""
        steps = [asdict(step) | {"true": step.true} for step in self.steps]
        return {"streams": self.streams, "processes": self.processes, "cpus": self.cpus, "steps": steps}


def _line(step: Step) -> str:
    told = "" if step.true else f"  {'; '.join(step.problems)}"
    return (
        f"{step.streams:>8}{step.streams / GAP_S:>10.0f}{step.us_per_event:>10.1f}{step.cpu_ratio:>7.0%}"
        f"{step.late_p50_s * 1e3:>8.2f} ms{step.late_p99_s * 1e3:>8.2f} ms"
        f"{step.ttft_error_p99_s * 1e3:>11.2f} ms{step.lag_p99_s * 1e3:>7.2f} ms{told}"
    )


def run_selftest(
    console: Console,
    *,
    steps: Sequence[int] = STEPS,
    seconds: float = SECONDS,
    processes: int = 1,
    tries: int = 2,
) -> SelftestResult:
    """Measure with more and more streams until one step is not true in any of its `tries`.

    A busy machine can only make a step worse: one good try is proof. Raises: Failed, UsageError.
    """
    done: list[Step] = []
    for streams in steps:
        for _ in range(tries):
            step = measure(console, streams=streams, seconds=seconds, processes=processes)
            if step.true:
                break
        done.append(step)
        if not step.true:
            break
    return SelftestResult(tuple(done), processes)


def measure(console: Console, *, streams: int, seconds: float, processes: int = 1) -> Step:
    """One step: so many streams in flight for so long, against a server of its own."""
    with scripted_server() as server, tempfile.TemporaryDirectory() as place, other_cores():
        result = run_load(
            workload=workload(streams, seconds),
            target=server.url,
            console=console,
            out=Path(place) / "run",
            processes=processes,
            exporter_port="off",
        )
        return compare(
            result, server.get("/_served"), most_at_once=server.get("/_marks")["most_open"], streams=streams
        )


def workload(streams: int, seconds: float) -> Workload:
    """So many answers that begin within RAMP_S and then last so long, with a token each GAP_S."""
    fields = {
        "name": f"selftest-{streams}",
        "arrival": {"process": "constant", "rate": f"{streams / RAMP_S:g}/s", "requests": streams},
        "warmup": {"requests": 2},
        "prompts": {"kind": "prompt_set", "output_tokens": round(seconds / GAP_S)},
    }
    return Workload.model_validate(fields)


def compare(
    result: LoadResult, served: Sequence[Mapping[str, Any]], *, most_at_once: int, streams: int
) -> Step:
    """Hold the records against what the server wrote."""
    folder = RunFolder(result.folder)
    manifest, account = folder.manifest(), folder.account()
    if account is None:
        raise Failed("the sending process did not come to its end", where=str(folder.log_path), fix="read it")
    origin_ns = manifest.clock["perf_counter_ns"]
    wrote = {row["request_id"]: row for row in served}
    late: list[int] = []
    ttft_errors: list[int] = []
    events = 0
    records = [record for record in folder.records() if record.phase == "measure"]
    for record in records:
        row = wrote.get(f"{manifest.salt}-{record.index}")
        events += sum(record.events.values())
        if record.outcome != "ok" or row is None or len(row["writes_ns"]) != len(record.output_ns):
            continue
        late += [seen + origin_ns - at for seen, at in zip(record.output_ns, row["writes_ns"], strict=True)]
        ours = record.output_ns[0] - record.t_sent_ns
        ttft_errors.append(ours - (row["writes_ns"][0] - row["t_received_ns"]))
    lags = sorted(r.t_sent_ns - r.t_intended_ns for r in records if r.t_intended_ns is not None)
    whole = len(ttft_errors)
    step = Step(
        streams=streams,
        most_at_once=most_at_once,
        requests=len(records),
        events=events,
        late_p50_s=_quantile_s(late, 50),
        late_p99_s=_quantile_s(late, 99),
        ttft_error_p99_s=_quantile_s(ttft_errors, 99),
        lag_p99_s=_quantile_s(lags, 99),
        cpu_ratio=account.cpu_ratio,
        us_per_event=account.cpu_s * 1e6 / max(1, events),
        problems=(),
    )
    missing = len(records) - whole
    return Step(**{**_fields(step), "problems": tuple(_problems(step, missing, result.summary["reasons"]))})


def _fields(step: Step) -> dict[str, Any]:
    return {name: getattr(step, name) for name in step.__slots__}


def _problems(step: Step, missing: int, reasons: Sequence[str]) -> Iterator[str]:
    if missing:
        yield f"{missing} of {step.requests} answers are not as they were sent"
    if step.late_p99_s > MAX_LATE_P99_S:
        yield f"stamps are late: p99 over {MAX_LATE_P99_S * 1e3:.0f} ms"
    if step.ttft_error_p99_s > MAX_TTFT_ERROR_S:
        yield f"TTFT is off: p99 over {MAX_TTFT_ERROR_S * 1e3:.0f} ms"
    yield from reasons


def _quantile_s(values_ns: Sequence[int], percent: float) -> float:
    return sample_quantile(sorted(values_ns), percent) / 1e9 if values_ns else float("inf")


@dataclass(frozen=True, slots=True)
class Server:
    """A running scripted server."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str) -> Any:
        """A JSON document of it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


@contextmanager
def scripted_server(*arguments: str, python: str = sys.executable) -> Iterator[Server]:
    """The built-in server, for the length of a `with`; on a core of its own where there are two."""
    pinned = ["--cpu", str(_cores()[0])] if len(_cores()) > 1 else []
    command = [python, "-m", "loadgen.scripted_server", "--ttft", str(TTFT_S), "--gap", str(GAP_S)]
    process = subprocess.Popen(
        [*command, *pinned, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        if not said.startswith("listening on "):
            raise Failed(f"the scripted server ended with {process.wait()}", where="loadgen.scripted_server")
        yield Server(int(said.rsplit(":", 1)[1]), process.pid)
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def other_cores() -> Iterator[None]:
    """Keep this process, and those it starts, off the server's core."""
    cores = _cores()
    if len(cores) < 2:
        yield
        return
    os.sched_setaffinity(0, cores[1:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def _cores() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
