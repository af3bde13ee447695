"""What `teapot serve` adds to the start of bare vLLM with the same flags and caches: `make bench-start`.

    PYTHONPATH=.:tests .venv/bin/python -m e2e.start_cost [FILE] [--times N] [--set KEY=VALUE ...]

Bare: from the start of the process to its first token. teapot: from the start of the command to 200 of
/health/ready, which includes the probes of the modes. They take turns. On a busy machine two starts differ by
more than teapot adds, so that is also taken within each start: all its time but the engine's and the probes'.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from e2e.deployments import free_port, serve

from deploy.prepared import prepare
from serving.console import Console
from serving.engine.process import EngineSpec

POLL_S = 0.05
WITHIN_S = 600
PROBED = re.compile(r"modes probed in (?P<number>[\d.]+) ?(?P<unit>ms|s)")
FIRST_TOKEN = re.compile(r"^ *(?P<at>[\d.]+) s  ready$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Start:
    """One start by teapot, in seconds."""

    ready: float
    probes: float
    first_token: float
    """From the start of the engine's process."""
    cpu: float
    """Of teapot's own process until it is ready: what it costs on any machine, however busy."""


def bare(spec: EngineSpec, model: str, log: Path) -> float:
    """Seconds until a bare vLLM has generated its first token; it is ended afterwards."""
    began = time.monotonic()
    with log.open("wb") as out:
        engine = subprocess.Popen(
            list(spec.argv), stdout=out, stderr=out, env={**os.environ, **spec.environment},
            start_new_session=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        while not _generates(f"http://127.0.0.1:{spec.port}", model):
            if engine.poll() is not None or time.monotonic() - began > WITHIN_S:
                raise SystemExit(f"bare vLLM did not start: see {log}")
            time.sleep(POLL_S)
        return time.monotonic() - began
    finally:
        engine.send_signal(signal.SIGTERM)
        engine.wait(120)


def served(path: Path, *extra: str) -> Start:
    """Start by `teapot serve`, and end it."""
    began = time.monotonic()
    with serve(path, *extra) as running:
        while running.get("/health/ready")[0] != 200:
            if running.process.poll() is not None or time.monotonic() - began > WITHIN_S:
                raise SystemExit(f"teapot did not start: {running.said.read_text()}")
            time.sleep(POLL_S)
        took = time.monotonic() - began
        cpu = _cpu_s(running.process.pid)
        said = running.said.read_text()
    found = PROBED.search(said)
    scale = 0.001 if found and found["unit"] == "ms" else 1.0
    token = FIRST_TOKEN.search(said)
    if found is None or token is None:
        raise SystemExit(f"teapot did not say how long it took: {said}")
    return Start(took, float(found["number"]) * scale, float(token["at"]), cpu)


def _cpu_s(pid: int) -> float:
    """User and system seconds of a process, without its children's."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _generates(url: str, model: str) -> bool:
    body = {"model": model, "prompt": "The capital of France is", "max_tokens": 1, "temperature": 0}
    request = urllib.request.Request(
        f"{url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5):
            pass
        with urllib.request.urlopen(request, timeout=120) as answer:
            return bool(json.load(answer)["choices"])
    except (urllib.error.URLError, OSError):
        return False


def line(name: str, seconds: Sequence[float]) -> str:
    """A row of the table."""
    each = ", ".join(f"{value:.1f}" for value in seconds)
    return f"| {name} | {len(seconds)} | {statistics.median(seconds):.1f} | {each} |"


def main(file: Path, times: int, overrides: Sequence[str]) -> None:
    """Take turns, and print the table."""
    with tempfile.TemporaryDirectory(prefix="teapot-start-") as scratch:
        path = Path(scratch) / file.name
        document = yaml.safe_load(file.read_text())
        document["gateway"] = {"port": free_port(), "admin_port": free_port()}
        path.write_text(yaml.safe_dump(document))
        extra = [word for override in overrides for word in ("--set", override)]
        alone: list[float] = []
        starts: list[Start] = []
        for number in range(times):
            prepared = prepare(str(path), overrides, Console())
            [engine] = prepared.engines
            alone.append(bare(engine.spec, prepared.model.name, Path(scratch) / f"bare-{number}.log"))
            starts.append(served(path, *extra))
            sys.stderr.write(f"{alone[-1]:.1f} s bare; {starts[-1]}\n")
    sys.stdout.write("| seconds | n | median | each |\n|---|---|---|---|\n")
    pairs = zip(starts, alone, strict=True)
    rows = {
        "bare vLLM to its first token": alone,
        "teapot serve to ready": [start.ready for start in starts],
        "of which probes": [start.probes for start in starts],
        "more than bare, beside the probes": [s.ready - s.probes - without for s, without in pairs],
        "neither engine nor probes, within a start": [s.ready - s.probes - s.first_token for s in starts],
        "teapot's own processor time": [start.cpu for start in starts],
    }
    sys.stdout.write("".join(line(name, values) + "\n" for name, values in rows.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=Path("deploy/configs/everything-on.yaml"))
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    args = parser.parse_args()
    main(args.file, args.times, args.overrides)
