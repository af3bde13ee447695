"""The steps' judgement is tested on numbers made by hand; one small real step shows that the parts fit."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadgen.records import RequestRecord
from loadgen.run import LoadResult
from loadgen.run_folder import Account, Manifest, RunFolder
from loadgen.selftest import SelftestResult, Step, compare, measure, workload
from serving.console import Console

MS = 1_000_000
ORIGIN = 7_000 * MS


def folder(path: Path, records: list[RequestRecord]) -> LoadResult:
    """A run folder as a run leaves it, with these records."""
    made = RunFolder(path)
    made.create()
    manifest = Manifest(
        name="selftest",
        started="",
        workload={},
        fingerprint="",
        seed=1,
        salt="s",
        target="",
        model="",
        metrics_urls=(),
        exact_prompts=True,
        continuous_usage=True,
        clock={"perf_counter_ns": ORIGIN, "unix_ns": 0},
        versions={},
        machine={},
    )
    made.prepare(manifest, ())
    made.records_path.write_text("".join(record.to_json() + "\n" for record in records))
    account = Account(measure_start_ns=0, ended="complete", sent=len(records), cpu_ratio=0.25, cpu_s=0.0009)
    made.write_json("dispatch.json", {name: getattr(account, name) for name in account.__slots__})
    return LoadResult({"valid": True, "reasons": []}, path, 0, "")


def record(index: int, *seen_ms: float, intended_ms: float = 0, sent_ms: float = 1) -> RequestRecord:
    return RequestRecord(
        index,
        "measure",
        "any",
        "ok",
        round(intended_ms * MS),
        round(sent_ms * MS),
        99 * MS,
        output_ns=tuple(round(ms * MS) for ms in seen_ms),
        events={"content": len(seen_ms)},
    )


def served(index: int, received_ms: float, *wrote_ms: float) -> dict[str, Any]:
    return {
        "request_id": f"s-{index}",
        "t_received_ns": ORIGIN + round(received_ms * MS),
        "writes_ns": [ORIGIN + round(ms * MS) for ms in wrote_ms],
        "whole": True,
    }


def test_a_step_holds_every_stamp_against_its_write(tmp_path: Path) -> None:
    # Events come 1 and 2 ms late; TTFT is 12 by us, 10 by the server; sent 1 ms late.
    result = folder(tmp_path / "run", [record(0, 13, 24)])
    step = compare(result, [served(0, 2, 12, 22)], most_at_once=1, streams=1)
    assert (step.late_p50_s, step.ttft_error_p99_s, step.lag_p99_s) == (0.0015, 0.002, 0.001)
    assert (step.events, step.requests, step.cpu_ratio, step.us_per_event) == (2, 1, 0.25, 450)
    assert step.true


def test_a_step_with_late_stamps_or_missing_events_is_not_true(tmp_path: Path) -> None:
    late = compare(
        folder(tmp_path / "a", [record(0, 19, 29)]), [served(0, 2, 12, 22)], most_at_once=1, streams=1
    )
    assert not late.true
    assert "stamps are late" in late.problems[0]
    missing = compare(
        folder(tmp_path / "b", [record(0, 12)]), [served(0, 2, 12, 22)], most_at_once=1, streams=1
    )
    assert "1 of 1 answers are not as they were sent" in missing.problems


def step(streams: int, *problems: str) -> Step:
    return Step(streams, streams, streams, streams * 100, 0.0001, 0.001, 0.001, 0.001, 0.3, 7.0, problems)


def test_the_most_streams_are_those_of_the_last_true_step() -> None:
    result = SelftestResult((step(50), step(100), step(200, "stamps are late")), 1)
    assert (result.streams, result.exit_code) == (100, 0)
    assert "measured truly: 100 streams of 50 events/s, 1 sending process" in result.table
    assert "stamps are late" in result.table
    assert result.document()["streams"] == 100


def test_a_machine_that_measures_nothing_truly_says_so() -> None:
    result = SelftestResult((step(50, "the load generator was late"),), 2)
    assert (result.streams, result.exit_code) == (None, 1)
    assert "not even the fewest" in result.table


def test_the_workload_has_all_streams_at_once_once_they_have_begun() -> None:
    arrival = workload(300, 6.0).normalized()["arrival"]
    assert (arrival["requests"], arrival["rate"]) == (300, 300)
    # Each answer lasts six seconds, so that none has ended when the last begins after one.
    assert workload(300, 6.0).normalized()["prompts"]["output_tokens"] == 300


@pytest.mark.slow
def test_a_small_step_is_measured_for_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    seen = measure(Console(err=io.StringIO()), streams=4, seconds=0.5)
    assert (seen.streams, seen.most_at_once, seen.requests) == (4, seen.most_at_once, 4)
    assert seen.events >= 100
    assert not any("not as they were sent" in problem for problem in seen.problems)
    # A stamp is never before its write; how late it is, a busy machine decides.
    assert seen.late_p50_s >= 0
    assert replace(seen, problems=()).true
