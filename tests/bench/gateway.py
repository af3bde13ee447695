"""`make bench-gateway`: this gateway beside no proxy and other proxies, in one run, against one engine.

Owns: what is measured and how it is shown. Knows nothing about how a peer is started. Costs are a process's
own CPU time (user and system), so that they mean the same on a busy machine; rates "per core" are by that
CPU time. Only the added time to the first token is by the wall clock: medians of interleaved requests.
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
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.clients import Client, close, connect, open_streams, small_answers, ttft_s
from bench.peers import Peer, peer

NAMES = ("none", "teapot", "vllm-router", "nginx", "litellm")
STREAMS, RATE = 200, 50
HELD = 500
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


def rss_bytes(pid: int) -> int:
    """Resident memory of a process and its descendants."""
    pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in family(pid))
    return pages * os.sysconf("SC_PAGE_SIZE")


async def added_ttft(peers: list[Peer], rounds: int) -> dict[str, list[float]]:
    """Times to the first event, each peer asked once a round."""
    seen: dict[str, list[float]] = {one.name: [] for one in peers}
    clients = {one.name: await connect(one.url) for one in peers}
    for round_ in range(rounds + 5):
        for name, client in clients.items():
            took = await ttft_s(client)
            if round_ >= 5:
                seen[name].append(took)
            # Low load: nobody is still busy with the last request.
            await asyncio.sleep(0.005)
    close(list(clients.values()))
    return seen


async def streamed(one: Peer, model: str, seconds: float) -> dict[str, float]:
    """Events and CPU of 200 streams over a while, once they all run."""
    clients = await open_streams(one.url, model, 10_000_000, STREAMS)
    await asyncio.sleep(1.0)
    events, cpu = count(clients), cpu_s(one.pid) if one.pid else 0.0
    began = asyncio.get_running_loop().time()
    await asyncio.sleep(seconds)
    took = asyncio.get_running_loop().time() - began
    events, cpu = count(clients) - events, (cpu_s(one.pid) if one.pid else 0.0) - cpu
    close(clients)
    return {"events_per_s": events / took, "cpu_us_per_event": 1e6 * cpu / events if events else float("nan"),
            "cores": cpu / took}  # fmt: skip


def count(clients: list[Client]) -> int:
    return sum(client.events for client in clients)


async def small(one: Peer, seconds: float) -> dict[str, float]:
    """One-token answers over 32 connections."""
    await small_answers(one.url, 0.5, 32)
    cpu = cpu_s(one.pid) if one.pid else 0.0
    answers = await small_answers(one.url, seconds, 32)
    cpu = (cpu_s(one.pid) if one.pid else 0.0) - cpu
    return {"per_s": answers / seconds, "per_cpu_s": answers / cpu if cpu else float("nan")}


async def held(one: Peer) -> float:
    """Bytes of memory by which a process grows for each of many open, silent streams."""
    assert one.pid is not None
    before, most = rss_bytes(one.pid), 0
    for _ in range(2):
        clients = await open_streams(one.url, "hold", 2, HELD)
        await asyncio.sleep(0.5)
        most = max(most, rss_bytes(one.pid) - before)
        close(clients)
        await asyncio.sleep(0.5)
    return most / HELD


async def measure(peers: list[Peer], options: argparse.Namespace) -> dict[str, Any]:
    """All figures of all peers."""
    results: dict[str, Any] = {one.name: {"version": one.version} for one in peers}
    say(f"time to the first token, {options.rounds} rounds")
    for name, times in (await added_ttft(peers, options.rounds)).items():
        results[name]["ttft_s"] = statistics.median(times)
    for one in peers:
        result = results[one.name]
        steps: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
            ("paced", partial(streamed, one, "pace", options.seconds)),
            ("saturated", partial(streamed, one, "flood", options.seconds)),
            ("small", partial(small, one, options.seconds)),
        ]
        if one.pid:
            # First of all, for later the process has memory left over from other loads.
            steps.insert(0, ("held_bytes", partial(held, one)))
        for key, step in steps:
            say(f"{one.name}: {key}")
            try:
                result[key] = await step()
                say(f"{one.name}: {key} {json.dumps(result[key])}")
            except (TimeoutError, OSError) as error:
                result[key] = None
                say(f"{one.name}: {key} failed: {error!r}")
            await asyncio.sleep(0.5)
    return results


def table(results: dict[str, Any]) -> str:
    """The figures, and how they relate to vllm-router's."""
    base = results["none"]["ttft_s"]
    head = (
        "| | added TTFT, median | CPU per event, paced | events per CPU-second, saturated "
        "| 1-token answers per CPU-second | memory per stream |"
    )
    rows = [head, "|---|---|---|---|---|---|"]
    for name, row in results.items():
        if name == "none":
            continue
        paced, flood, one, kept = (row.get(key) for key in ("paced", "saturated", "small", "held_bytes"))
        rows.append(
            f"| {name} {row['version']} | {1e3 * (row['ttft_s'] - base):.2f} ms | "
            + (f"{paced['cpu_us_per_event']:.1f} us" if paced else "-") + " | "
            + (f"{1e6 / flood['cpu_us_per_event']:,.0f}" if flood else "-") + " | "
            + (f"{one['per_cpu_s']:,.0f}" if one else "-") + " | "
            + (f"{kept / 1024:.0f} KiB" if kept is not None else "-") + " |"
        )  # fmt: skip
    return "\n".join(rows)


def say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=",".join(NAMES), help="which, in this order")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each load")
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
