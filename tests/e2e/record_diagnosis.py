"""Records what a real engine's /metrics says under loads whose bottleneck is known by how they are made.

    PYTHONPATH=.:tests .venv/bin/python -m e2e.record_diagnosis [CASE ...] [--out FOLDER]

Each case becomes a text file in tests/golden/diagnose/, on which `teapot diagnose` is tested. Two starts of
the embedded model: `roomy` has cache for all of its eight seats, `tight` has sixteen blocks of cache. A file
holds readings under `# at SECONDS`: the first and the last whole but for buckets, those between only what
moves within a window.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml
from e2e.deployments import free_port, serve

from loadgen.run import run_load
from loadgen.workload import Workload
from serving.console import Console

GOLDEN = Path(__file__).parents[1] / "golden" / "diagnose"
EVERY_S = 2.0
RUNNING = "vllm:num_requests_running"
KEPT_BETWEEN = (
    RUNNING,
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
    "vllm:generation_tokens_total",
    "process_start_time_seconds",
)
ENGINES: Mapping[str, Mapping[str, Any]] = {
    "roomy": {"max_model_len": 2048, "max_num_seqs": 8, "kv_cache_memory": "512MiB"},
    "tight": {"max_model_len": 1024, "max_num_seqs": 8, "kv_cache_memory": "46MiB"},
}


@dataclass(frozen=True, slots=True)
class Case:
    """A load whose bottleneck is known."""

    engine: str
    why: str
    """How it is known."""
    tokens: tuple[int, int] = (0, 0)
    """Of prompt and answer."""
    arrival: Mapping[str, Any] = field(default_factory=dict)
    """Empty: nothing is sent."""


def _closed(users: int) -> Mapping[str, Any]:
    return {"process": "closed", "concurrency": users, "duration": "45s"}


CASES: Mapping[str, Case] = {
    "low-traffic": Case("roomy", "a short request every 1.6 s", (32, 8),
                        {"process": "constant", "rate": "0.6/s", "duration": "45s"}),
    "decode": Case("roomy", "6 users in 8 seats: short prompts, long answers", (32, 96), _closed(6)),
    "prefill": Case("roomy", "2 users in 8 seats: long prompts, answers of 4 tokens", (1024, 4), _closed(2)),
    "prefill-among-answers": Case("roomy", "6 users in 8 seats: long prompts, and answers that wait for them",
                                  (1024, 16), _closed(6)),
    "seats": Case("roomy", "24 users for 8 seats, and cache for many more", (32, 24), _closed(24)),
    "no-data": Case("tight", "nothing is sent"),
    "kv-full": Case("tight", "8 users whose prompts take 5 of 15 blocks each; answers stay within them",
                    (600, 12), _closed(8)),
    "kv-preemptions": Case("tight", "8 users who begin with 1 block and grow to 3, of 15", (100, 240),
                           _closed(8)),
}  # fmt: skip


def main() -> None:
    """Record what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--out", type=Path, default=GOLDEN)
    parser.add_argument("--runs", type=Path, help="keep the loads' run folders there (default: nowhere)")
    args = parser.parse_args()
    wanted = {name: CASES[name] for name in args.cases or CASES}
    args.out.mkdir(parents=True, exist_ok=True)
    for engine in ENGINES:
        cases = {name: case for name, case in wanted.items() if case.engine == engine}
        if cases:
            _record(engine, cases, args.out, args.runs)


def _record(engine: str, cases: Mapping[str, Case], out: Path, runs: Path | None) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "deployment.yaml"
        deployment = {
            "name": "recorded",
            "model": "smollm2-135m",
            "engine": {
                "device": "cpu",
                **ENGINES[engine],
                "args": {"enforce-eager": True, "enable-mfu-metrics": True},
            },
        }
        here = {
            "gateway": {"port": free_port(), "admin_port": free_port()},
            "prometheus": {"enabled": False},
        }
        file.write_text(yaml.safe_dump(deployment | here))
        with serve(file) as serving:
            serving.wait_until_ready()
            status = serving.get("/status", admin=True)[1]
            url = status["revisions"][0]["backends"][0]["url"]
            for name, case in cases.items():
                readings = _case(case, serving.url, url, (runs or Path(scratch)) / name)
                (out / f"{name}.txt").write_text(_text(readings))
                (out / f"{name}.json").write_text(json.dumps(_about(case, deployment), indent=1) + "\n")
                sys.stderr.write(f"{name}: {len(readings)} readings\n")


def _case(case: Case, target: str, engine: str, folder: Path) -> Sequence[tuple[float, str]]:
    """The readings from just before the load to just after it."""
    readings: list[tuple[float, str]] = []
    over = threading.Event()
    began = time.monotonic()
    metrics = f"{engine.removesuffix('/v1')}/metrics"

    def watch() -> None:
        while True:
            readings.append((time.monotonic() - began, _page(metrics)))
            if over.wait(EVERY_S):
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        if case.arrival:
            run_load(
                workload=_workload(case),
                target=target,
                console=Console(out=sys.stderr),
                out=folder,
                metrics_urls=[metrics],
            )
        else:
            time.sleep(30)
    finally:
        time.sleep(EVERY_S)
        over.set()
        thread.join()
    busy = [number for number, (_, page) in enumerate(readings) if _running(page)]
    return readings[max(0, busy[0] - 1) : busy[-1] + 2] if busy else readings


def _workload(case: Case) -> Workload:
    prompt, answer = case.tokens
    return Workload.model_validate(
        {
            "name": "recorded",
            "endpoint": "completions",
            "arrival": dict(case.arrival),
            "prompts": {"kind": "random_tokens", "input_tokens": prompt, "output_tokens": answer},
            "sampling": {"temperature": 0.0, "ignore_eos": True},
            "seed": 1,
        }
    )


def _page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        text: str = answer.read().decode()
        return text


def _running(page: str) -> bool:
    return any(line.startswith(RUNNING) and float(line.rsplit(" ", 1)[1]) > 0 for line in page.splitlines())


def _text(readings: Sequence[tuple[float, str]]) -> str:
    def lines() -> Iterator[str]:
        for number, (at_s, page) in enumerate(readings):
            edge = number in (0, len(readings) - 1)
            yield f"# at {at_s - readings[0][0]:.3f}"
            yield from (line for line in page.splitlines() if _kept(line, edge=edge))

    return "\n".join(lines()) + "\n"


def _kept(line: str, *, edge: bool) -> bool:
    name = line.replace("{", " ").split(" ", 1)[0]
    if name.startswith("#") or name.endswith(("_bucket", "_created")):
        return False
    return name.startswith(KEPT_BETWEEN) or (edge and name.startswith("vllm:"))


def _about(case: Case, deployment: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "case": asdict(case),
        "deployment": deployment,
        "recorded": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": platform.machine(),
    }


if __name__ == "__main__":
    main()
