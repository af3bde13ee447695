"""This load generator beside others, on one scripted server: what an event costs, and how far off they are.

    PYTHONPATH=.:tests .venv/bin/python -m bench.loadgen [--streams 100,400] [--scratch DIR] [--only NAME]

Owns: the order of the runs, the truth they are held against, and the table. Knows nothing about how a tool
is called (`bench.generators`). The server is on a core of its own and notes every write, the tool has the
others. CPU is that of a tool's whole tree of processes, from the first request's arrival to the last write.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.cpu import CpuOverTime
from bench.generators import TOOLS, CannotRun, Job, Said, Tool

from loadgen.priority import go_first
from loadgen.run_folder import RunFolder
from loadgen.selftest import GAP_S, Server, other_cores, scripted_server
from loadgen.stats.quantiles import sample_quantile
from serving.engine.environments import installed
from serving.engine.folders import data_folder

RUN_LIMIT_S = 240.0
NOTHING = Said(None)


@dataclass(frozen=True, slots=True)
class Row:
    """One tool at one number of streams; `reason` says why there are no numbers."""

    tool: str
    version: str
    streams: int
    reason: str | None = None
    most_at_once: int = 0
    events: int = 0
    us_per_event: float = 0.0
    said: Said = NOTHING
    true_ttft_p50_s: float = 0.0
    true_ttft_p99_s: float = 0.0
    true_gap_p99_s: float = 0.0
    """20 ms where the server kept its pace: what it wrote late is not the tool's doing."""
    server_cpu_ratio: float = 0.0
    sending_us_per_event: float | None = None
    """Of the process that stamps alone; known of ours."""
    late_p99_s: float | None = None
    """Stamp minus write, over all events; known of ours, whose stamps are in its records."""
    steady_late_p99_s: float | None = None
    """The same over what was written while all streams were open: without the rush of their beginning."""


def measure(tool: Tool, job: Job, server: Server, place: Path, version: str) -> Row:
    """Run a tool once and hold what it says against what the server wrote."""
    server.get("/_forget")
    log = (job.out / "log").open("w")
    with log, other_cores():
        process = subprocess.Popen(
            [*tool.command(place, job)],
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"OPENAI_API_KEY": "none"},
            cwd=Path.cwd() if tool.name == "teapot" else job.out,
            start_new_session=True,
            # All alike, and their children: what a busy machine does to them is no property of theirs. No
            # thread runs here. Ours takes the real-time class for its sending process, as it always does.
            preexec_fn=partial(go_first, real_time=False),  # noqa: PLW1509
        )
        with CpuOverTime(process.pid) as cpu, CpuOverTime(server.pid) as server_cpu:
            try:
                process.wait(RUN_LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                return Row(tool.name, version, job.streams, f"no end within {RUN_LIMIT_S:.0f} s")
    said = _said(tool, job, process.returncode)
    if isinstance(said, str):
        return Row(tool.name, version, job.streams, said)
    return _row(tool, job, version, said, server, (cpu, server_cpu))


def _said(tool: Tool, job: Job, code: int) -> Said | str:
    try:
        return tool.read(job)
    except (OSError, ValueError, KeyError, TypeError) as error:
        lines = [line for line in (job.out / "log").read_text(errors="replace").splitlines() if line.strip()]
        last = lines[-1].strip()[:160] if lines else "it said nothing"
        return f"exit code {code}, no result ({type(error).__name__}: {error}); last words: {last}"


def _row(
    tool: Tool, job: Job, version: str, said: Said, server: Server, cpus: tuple[CpuOverTime, CpuOverTime]
) -> Row:
    cpu, server_cpu = cpus
    # Tools send probes and warm-ups of their own before: the requests that count are the last long ones.
    whole = [row for row in server.get("/_served") if len(row["writes_ns"]) == job.tokens]
    served = sorted(whole, key=lambda row: row["t_received_ns"])[-job.streams :]
    if not served:
        return Row(tool.name, version, job.streams, f"no answer of {job.tokens} tokens was asked for")
    events = sum(len(row["writes_ns"]) for row in served)
    ttfts = sorted(row["writes_ns"][0] - row["t_received_ns"] for row in served)
    gaps = sorted(
        b - a for row in served for a, b in zip(row["writes_ns"], row["writes_ns"][1:], strict=False)
    )
    first = min(row["t_received_ns"] for row in served)
    last = max(row["writes_ns"][-1] for row in served)
    ours = _of_ours(job, served) if tool.name == "teapot" else {}
    return Row(
        tool=tool.name,
        version=version,
        streams=job.streams,
        most_at_once=server.get("/_marks")["most_open"],
        events=events,
        us_per_event=cpu.between_s(first, last) * 1e6 / events,
        said=said,
        true_ttft_p50_s=sample_quantile(ttfts, 50) / 1e9,
        true_ttft_p99_s=sample_quantile(ttfts, 99) / 1e9,
        true_gap_p99_s=sample_quantile(gaps, 99) / 1e9,
        server_cpu_ratio=server_cpu.between_s(first, last) * 1e9 / (last - first),
        **ours,
    )


def _of_ours(job: Job, served: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    folder = RunFolder(job.out / "run")
    manifest, account = folder.manifest(), folder.account()
    assert account is not None  # the run has a summary
    wrote = {row["request_id"]: row["writes_ns"] for row in served}
    origin_ns = manifest.clock["perf_counter_ns"]
    late: list[int] = []
    steady: list[int] = []
    opened = max(row["writes_ns"][0] for row in served)
    ended = min(row["writes_ns"][-1] for row in served)
    events = 0
    for record in folder.records():
        writes = wrote.get(f"{manifest.salt}-{record.index}")
        if record.phase == "measure" and writes is not None:
            events += len(writes)
            each = [(at, seen + origin_ns - at) for seen, at in zip(record.output_ns, writes, strict=False)]
            late += [lag for _, lag in each]
            steady += [lag for at, lag in each if opened <= at <= ended]
    return {
        "sending_us_per_event": account.cpu_s * 1e6 / max(1, events),
        "late_p99_s": sample_quantile(sorted(late), 99) / 1e9,
        "steady_late_p99_s": sample_quantile(sorted(steady), 99) / 1e9 if steady else None,
    }


def table(rows: Sequence[Row]) -> str:
    """Markdown."""
    lines = [
        "| streams | tool | us/event | at once | TTFT p50 off, ms | p99 off | gap p99 off |"
        " late p99: all, steady |"
        " server: CPU, gap p99 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row.reason is not None:
            lines.append(f"| {row.streams} | {row.tool} {row.version} | {row.reason} |||||||")
            continue
        own = "" if row.sending_us_per_event is None else f" ({row.sending_us_per_event:.1f} where it stamps)"
        cells = [
            f"{row.us_per_event:.1f}{own}",
            str(row.most_at_once),
            _off(row.said.ttft_p50_s, row.true_ttft_p50_s),
            _off(row.said.ttft_p99_s, row.true_ttft_p99_s),
            _off(row.said.itl_p99_s, row.true_gap_p99_s),
            f"{_ms(row.late_p99_s)}, {_ms(row.steady_late_p99_s)}" if row.late_p99_s is not None else "-",
            f"{row.server_cpu_ratio:.0%}, {row.true_gap_p99_s * 1e3:.1f} ms",
        ]
        lines.append(f"| {row.streams} | {row.tool} {row.version} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.2f}"


def _off(said_s: float | None, true_s: float) -> str:
    return "-" if said_s is None else f"{(said_s - true_s) * 1e3:+.2f}"


def main(args: argparse.Namespace) -> None:
    """Install what is missing, take turns, print the table. With --json an interrupted run is taken up."""
    folder = data_folder(os.environ, Path.home())
    environments = installed(folder)
    tokenizer = args.tokenizer or next(
        (p.parent for p in folder.models.glob("*/tokenizer.json")), Path("none")
    )
    engine_python = environments[-1].python if environments else Path("none")
    scratch = args.scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    rows = (
        [_row_of(each) for each in json.loads(args.json.read_text())]
        if args.json and args.json.exists()
        else []
    )
    done = {(row.tool, row.streams) for row in rows}
    for streams in args.streams:
        for tool in TOOLS:
            if (args.only and tool.name not in args.only) or (tool.name, streams) in done:
                continue
            rows.append(_turn(tool, streams, args, scratch, engine_python, tokenizer))
            sys.stderr.write(table(rows[-1:]).splitlines()[-1] + "\n")
            if args.json is not None:
                args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    sys.stdout.write(table(rows) + "\n\n")
    sys.stdout.write(
        f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load};"
        f" {args.tokens} tokens a stream, one every {GAP_S * 1e3:.0f} ms, one run each\n"
    )


def _turn(
    tool: Tool, streams: int, args: argparse.Namespace, scratch: Path, engine_python: Path, tokenizer: Path
) -> Row:
    try:
        place, version = tool.bin(scratch, engine_python)
    except CannotRun as reason:
        return Row(tool.name, (tool.requirement or "").partition("==")[2], streams, str(reason))
    with tempfile.TemporaryDirectory(dir=scratch) as out, scripted_server() as server:
        job = Job(server.url, streams, args.tokens, tokenizer, Path(out))
        row = measure(tool, job, server, place, version)
        if args.keep_logs:
            (scratch / f"{tool.name}-{streams}.log").write_text((job.out / "log").read_text(errors="replace"))
        return row


def _row_of(document: dict[str, Any]) -> Row:
    return Row(**{**document, "said": Said(**document["said"])})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--streams", type=lambda text: [int(n) for n in text.split(",")], default=[100, 400, 1000]
    )
    parser.add_argument("--tokens", type=int, default=300, help="tokens a stream (default: 300, six seconds)")
    parser.add_argument("--scratch", type=Path, default=Path("build/bench-loadgen"))
    parser.add_argument(
        "--tokenizer", type=Path, help="a folder with a tokenizer (default: an installed model's)"
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep-logs", action="store_true")
    main(parser.parse_args())
