"""From options to diagnoses, on run folders."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path

import pytest
from fakes.diagnosed import options
from fakes.run_folders import WORKLOAD, manifest

from deploy.diagnose.gather import NO_FILE, asked, gathered, whose
from deploy.diagnose.rules import Bound
from deploy.diagnose.tried import Trial, Tried
from loadgen.server_metrics import ServerSample
from serving.console import Console
from serving.errors import UsageError

FILE = "name: demo\nengine: {device: cpu, max_num_seqs: 4, kv_cache_memory: 460MiB}\nslo: {ttft: 200ms}\n"
CONSOLE = Console(out=io.StringIO(), err=io.StringIO())
NAMES = ("run", "engine", "prometheus", "deployment", "within", "file")
TRIAL = Trial(
    at="2026-11-29T22:00:00Z", lever="seats", model="smollm2-135m", fragment={},
    measure="output_tokens_per_s", predicted_low=1.0, predicted_high=1.5, measured=1.2, measured_low=1.1,
    measured_high=1.3, repeats=3, study="runs/one",
)  # fmt: skip


def run_folder(folder: Path, requests: int = 100, *, edges: int = 2) -> Path:
    """A run of a minute in which four requests ran and two waited."""
    seen = {
        "vllm:num_requests_running": 4.0,
        "vllm:num_requests_waiting": 2.0,
        "vllm:kv_cache_usage_perc": 0.2,
    }
    count = "vllm:e2e_request_latency_seconds_count"
    samples = [
        ServerSample(at_s * 10**9, "http://e/metrics", seen | {count: float(done)}, {}, number < edges)
        for number, (at_s, done) in enumerate(((0, 0), (60, requests)))
    ]
    folder.mkdir()
    (folder / "server.jsonl").write_text("".join(f"{sample.to_json()}\n" for sample in samples))
    return folder


def test_the_file_adds_what_metrics_do_not_tell_and_what_was_tried(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").write_text(FILE)
    tried = Tried(tmp_path)
    tried.add([TRIAL])
    args = options(
        **dict.fromkeys(NAMES) | {"run": run_folder(tmp_path / "run"), "file": str(tmp_path / "demo.yaml")}
    )
    [found] = gathered(args, CONSOLE, 0.0, tried, asked(args))
    assert found.bound is Bound.SEATS
    assert found.file is not None
    assert "1.20x [1.10, 1.30]" in found.tried["seats"][0]


def test_a_run_tells_how_long_its_clients_waited(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run")
    args = options(**dict.fromkeys(NAMES) | {"run": run})
    [before] = gathered(args, CONSOLE, 0.0, Tried(tmp_path), None)
    (run / "summary.json").write_text('{"ttft_s": {"mean": 0.75}}')
    [after] = gathered(args, CONSOLE, 0.0, Tried(tmp_path), None)
    assert (before.evidence.client_ttft_s, after.evidence.client_ttft_s) == (None, 0.75)


@pytest.mark.parametrize("ttft", ["3", '{"mean": "x"}'])
def test_a_summary_of_another_shape_is_told(tmp_path: Path, ttft: str) -> None:
    run = run_folder(tmp_path / "run")
    (run / "summary.json").write_text(f'{{"ttft_s": {ttft}}}')
    args = options(**dict.fromkeys(NAMES) | {"run": run})
    with pytest.raises(UsageError, match=r"summary\.json: is not what a run writes"):
        gathered(args, CONSOLE, 0.0, Tried(tmp_path), None)


def test_without_the_file_that_is_told(tmp_path: Path) -> None:
    args = options(**dict.fromkeys(NAMES) | {"run": run_folder(tmp_path / "run")})
    [found] = gathered(args, CONSOLE, 0.0, Tried(tmp_path), asked(args))
    assert found.notes == (NO_FILE,)
    assert "seats" in {rule.id for rule in found.silent}


def test_a_run_is_judged_by_its_own_objectives(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run")
    workload = {**WORKLOAD, "slo": {"ttft": 0.5, "tpot": 0.05, "e2e": None}}
    (run / "manifest.json").write_text(json.dumps(asdict(manifest(workload))))
    args = options(**dict.fromkeys(NAMES) | {"run": run})
    [found] = gathered(args, CONSOLE, 0.0, Tried(tmp_path), None)
    assert (found.evidence.ttft_slo_s, found.evidence.tpot_slo_s) == (0.5, 0.05)


def test_with_a_file_only_its_own_engines_are_looked_at_in_prometheus(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").write_text(FILE)
    file = {"file": str(tmp_path / "demo.yaml")}
    found = []
    for given in (file, file | {"deployment": "other"}, {"deployment": "other"}, {}):
        args = options(**dict.fromkeys(NAMES) | given)
        found.append(whose(args, asked(args)))
    assert found == ["demo", "other", "other", None]
