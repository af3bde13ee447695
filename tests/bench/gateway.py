"""`make bench-gateway`: this gateway beside no proxy and other proxies, in one run, against one engine.

Owns: what is measured and how it is shown. Knows nothing about how a peer is started. Costs are a process's
own CPU time (user and system), so that they mean the same on a busy machine; rates "per core" are by that
CPU time. Only the added time to the first token is by the wall clock: medians of interleaved requests.
Another checkout of this gateway (`teapot@FOLDER`) is a peer too: a change is measured beside what was before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.clients import Client, close, connect, open_streams, small_answers, ttft_s
from bench.peers import Peer, peer

NAMES = ("none", "teapot", "vllm-router", "nginx", "litellm")


@dataclass(frozen=True, slots=True)
class Load:
    """How much is asked of a peer at once; each stream of the paced load has 50 events/s."""

    streams: int = 200
    connections: int = 32
    held: int = 500


LOADS = {"litellm": Load(streams=5, connections=4, held=20)}
"""It answers nothing in time under the others' load. Costs are by event and by answer, so they compare."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            todo += [int(child) for child in task.read_text().split()]
    return found


def cpu_s(pid: int) -> float:
    """CPU seconds of a process and its descendants."""
    total = 0
    for one in family(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total * _TICK_S


def busy_ns(pid: int | None) -> int:
    """CPU time of a process and its descendants, to the nanosecond, but without threads that have ended."""
    if pid is None:
        return 0
    tasks = [task for one in family(pid) for task in Path(f"/proc/{one}/task").iterdir()]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def rss_bytes(pid: int) -> int:
    """Resident memory of a process and its descendants."""
    pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in family(pid))
    return pages * os.sysconf("SC_PAGE_SIZE")


async def lone_requests(peers: list[Peer], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds to the first event and of the peer's CPU, each peer asked once a round."""
    seen: dict[str, list[tuple[float, float]]] = {one.name: [] for one in peers}
    clients = [(one, await connect(one.url)) for one in peers]
    for round_ in range(rounds + 5):
        for one, client in clients:
            cpu = busy_ns(one.pid)
            took = await ttft_s(client)
            # Low load: nobody is still busy with the last request.
            await asyncio.sleep(0.005)
            if round_ >= 5:
                seen[one.name].append((took, (busy_ns(one.pid) - cpu) / 1e9))
    close([client for _, client in clients])
    return seen


async def streamed(one: Peer, model: str, load: Load, seconds: float) -> dict[str, float]:
    """Events and CPU of many streams over a while, once they all run."""
    clients = await open_streams(one.url, model, 10_000_000, load.streams)
    await asyncio.sleep(1.0)
    events, cpu = count(clients), cpu_s(one.pid) if one.pid else 0.0
    began = asyncio.get_running_loop().time()
    await asyncio.sleep(seconds)
    took = asyncio.get_running_loop().time() - began
    events, cpu = count(clients) - events, (cpu_s(one.pid) if one.pid else 0.0) - cpu
    close(clients)
    return {"events_per_s": events / took, "cpu_us_per_event": 1e6 * cpu / events if events else float("nan"),
            "events_per_cpu_s": events / cpu if cpu else float("nan"), "cores": cpu / took}  # fmt: skip


def count(clients: list[Client]) -> int:
    return sum(client.events for client in clients)


async def small(one: Peer, load: Load, seconds: float) -> dict[str, float]:
    """One-token answers over some connections."""
    await small_answers(one.url, 0.5, load.connections)
    cpu = cpu_s(one.pid) if one.pid else 0.0
    answers = await small_answers(one.url, seconds, load.connections)
    cpu = (cpu_s(one.pid) if one.pid else 0.0) - cpu
    return {"per_s": answers / seconds, "per_cpu_s": answers / cpu if cpu else float("nan")}


async def held(one: Peer, load: Load) -> dict[str, float]:
    """Bytes of memory by which a process grows for each of many open, silent streams."""
    assert one.pid is not None
    before, most = rss_bytes(one.pid), 0
    for _ in range(2):
        clients = await open_streams(one.url, "hold", 2, load.held)
        await asyncio.sleep(0.5)
        most = max(most, rss_bytes(one.pid) - before)
        close(clients)
        await asyncio.sleep(0.5)
    return {"bytes": most / load.held}


async def measure(peers: list[Peer], options: argparse.Namespace) -> dict[str, Any]:
    """All figures of all peers: every load `repeats` times, the peers in turn."""
    results: dict[str, Any] = {one.name: {"version": one.version, "runs": {}} for one in peers}
    for one in peers:
        if one.pid:
            # First of all, for later the process has memory left over from other loads.
            await step(one, "held", partial(held, one, LOADS.get(one.name, Load())), results)
    say(f"time to the first token, {options.rounds} rounds")
    for name, seen in (await lone_requests(peers, options.rounds)).items():
        for key, figures in zip(("ttft_s", "lone_cpu_s"), zip(*seen, strict=True), strict=True):
            results[name][key] = statistics.quantiles(figures, n=4)
            say(f"{name}: {key} {[round(1e3 * quartile, 3) for quartile in results[name][key]]} ms")
    for _ in range(options.repeats):
        for one in peers:
            load = LOADS.get(one.name, Load())
            await step(one, "paced", partial(streamed, one, "pace", load, options.seconds), results)
            await step(one, "saturated", partial(streamed, one, "flood", load, options.seconds), results)
            await step(one, "small", partial(small, one, load, options.seconds), results)
    return results


async def step(one: Peer, key: str, do: Callable[[], Awaitable[Any]], results: dict[str, Any]) -> None:
    try:
        seen = await do()
    except (TimeoutError, OSError) as error:
        say(f"{one.name}: {key} failed: {error!r}")
        return
    results[one.name]["runs"].setdefault(key, []).append(seen)
    say(f"{one.name}: {key} {json.dumps(seen)}")
    await asyncio.sleep(0.5)


COLUMNS: dict[str, tuple[str, str, Callable[[float], str]]] = {
    "CPU per event, paced": ("paced", "cpu_us_per_event", lambda us: f"{us:.1f} us"),
    "events per CPU-second, saturated": ("saturated", "events_per_cpu_s", lambda n: f"{n:,.0f}"),
    "1-token answers per CPU-second": ("small", "per_cpu_s", lambda n: f"{n:,.0f}"),
    "memory per stream": ("held", "bytes", lambda size: f"{size / 1024:.0f} KiB"),
}


def table(results: dict[str, Any]) -> str:
    """Medians, with the lowest and the highest in brackets; of lone requests the quartiles."""
    base = results["none"]["ttft_s"][1]
    heads = ["added TTFT", "CPU of a lone request", *COLUMNS]
    rows = ["| | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for name, row in results.items():
        if name != "none":
            low, middle, high = (1e3 * (quartile - base) for quartile in row["ttft_s"])
            cells = [f"{middle:.2f} ms ({low:.2f} to {high:.2f})"]
            low, middle, high = (1e6 * quartile for quartile in row["lone_cpu_s"])
            cells.append(f"{middle:.0f} us ({low:.0f} to {high:.0f})")
            cells += [cell(row["runs"].get(key, []), figure, show) for key, figure, show in COLUMNS.values()]
            rows.append(f"| {name} {row['version']} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def cell(runs: list[dict[str, float]], figure: str, show: Callable[[float], str]) -> str:
    values = [run[figure] for run in runs]
    if not values:
        return "-"
    middle = show(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({show(min(values))} to {show(max(values))})"


def say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=",".join(NAMES), help="which, in this order")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each load")
    parser.add_argument("--repeats", type=int, default=3, help="of each load")
    parser.add_argument("--rounds", type=int, default=200, help="of requests for the time to the first token")
    parser.add_argument("--scratch", type=Path, help="where peers are installed; default: a temporary folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    # Leaving the block ends the engine and the peers, which are not in this process group.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    with ExitStack() as stack:
        scratch = options.scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        scratch.mkdir(exist_ok=True, parents=True)
        engine = subprocess.Popen(
            [sys.executable, Path(__file__).parent / "engine.py"], stdout=subprocess.PIPE, text=True
        )
        stack.callback(engine.kill)
        assert engine.stdout is not None
        url = f"http://127.0.0.1:{int(engine.stdout.readline())}"
        peers = []
        for name in ["none", *(name for name in options.peers.split(",") if name != "none")]:
            found = stack.enter_context(peer(name, url, scratch))
            if found is None:
                say(f"{name}: not to be had here, or it does not answer; left out")
            else:
                peers.append(found)
        results = asyncio.run(measure(peers, options))
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    if options.json:
        sys.stdout.write(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    else:
        sys.stdout.write(f"{machine}\n\n{table(results)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
