"""Run folders that were never run: latencies drawn from a seed, for what reads folders again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from loadgen.records import Planned, RequestRecord
from loadgen.run_folder import Account, Manifest, RunFolder

NS = 1_000_000_000
WORKLOAD: dict[str, Any] = {
    "name": "fake",
    "arrival": {"process": "constant", "rate": 4.0, "duration": None, "requests": 100},
    "prompts": {"kind": "random_tokens", "input_tokens": 8},
    "slo": {"ttft": 0.5, "tpot": None, "e2e": None},
    "seed": 1,
}


def manifest(workload: Mapping[str, Any] = WORKLOAD, **changes: Any) -> Manifest:
    """A manifest with `workload`; keyword arguments replace its fields."""
    fields: dict[str, Any] = {
        "name": "fake",
        "started": "2026-11-29 12:00:00 UTC",
        "workload": workload,
        "fingerprint": "f",
        "seed": workload["seed"],
        "salt": "s",
        "target": "http://127.0.0.1:1",
        "model": "m",
        "metrics_urls": (),
        "exact_prompts": True,
        "continuous_usage": True,
        "clock": {"perf_counter_ns": 0, "unix_ns": 0},
        "versions": {},
        "machine": {"cpus": 2},
    }
    return Manifest(**fields | changes)


def write_run(
    path: Path, *, n: int = 100, slow: float = 1.0, seed: int = 1, lag_ms: float = 0.0, **changes: Any
) -> RunFolder:
    """A run of n requests, 4 a second, TTFT about 100 ms and TPOT about 20 ms, both times `slow`."""
    rng = random.Random(seed)
    folder = RunFolder(path)
    folder.create()
    planned = [Planned(i, "measure", i * NS // 4, "any", "/v1/chat/completions", {}) for i in range(n)]
    folder.prepare(manifest(**changes), planned)
    folder.records_path.write_text("".join(_record(p, rng, slow, lag_ms).to_json() + "\n" for p in planned))
    account = Account(measure_start_ns=0, ended="complete", sent=n, cpu_ratio=0.1)
    folder.write_json("dispatch.json", asdict(account))
    return folder


def _record(planned: Planned, rng: random.Random, slow: float, lag_ms: float) -> RequestRecord:
    intended = planned.t_intended_ns or 0
    sent = intended + round(lag_ms * 1e6)
    stamps = [sent + round(0.1 * slow * rng.uniform(0.8, 1.2) * NS)]
    tpot = 0.02 * slow * rng.uniform(0.9, 1.1) * NS
    stamps += [stamps[0] + round(tpot * k) for k in range(1, 8)]
    return RequestRecord(
        planned.index,
        "measure",
        planned.kind,
        "ok",
        intended,
        sent,
        stamps[-1],
        output_ns=tuple(stamps),
        output_tokens=8,
        output_tokens_source="usage",
    )
