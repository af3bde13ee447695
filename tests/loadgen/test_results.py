from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from loadgen.records import Planned, RequestRecord
from loadgen.results import conclude, plan_of, summarize_folder, write_report
from loadgen.run_folder import Account, Manifest, RunFolder
from loadgen.workload_prompts import OnePrompts

ARRIVAL: dict[str, Any] = {"process": "constant", "rate": 10.0, "duration": None, "requests": 6}


def manifest(**changes: Any) -> Manifest:
    workload: dict[str, Any] = {
        "arrival": ARRIVAL,
        "prompts": {"kind": "random_tokens"},
        "slo": {"ttft": 0.5, "tpot": None, "e2e": None},
    }
    fields: dict[str, Any] = {
        "name": "n",
        "started": "2026-11-29 12:00:00 UTC",
        "workload": workload,
        "fingerprint": "f",
        "seed": 1,
        "salt": "s",
        "target": "http://h:1",
        "model": "m",
        "metrics_urls": (),
        "exact_prompts": True,
        "continuous_usage": True,
        "clock": {"perf_counter_ns": 5, "unix_ns": 6},
        "versions": {},
        "machine": {},
    }
    return Manifest(**fields | changes)


def record(index: int) -> RequestRecord:
    """Sent 1 ms after 100 ms * index, first token 50 ms and last 70 ms after that; 3 tokens in 3 events."""
    intended = index * 100_000_000
    sent = intended + 1_000_000
    return RequestRecord(
        index,
        "measure",
        "any",
        "ok",
        intended,
        sent,
        sent + 75_000_000,
        output_ns=(sent + 50_000_000, sent + 60_000_000, sent + 70_000_000),
        output_tokens_by_event=(1, 1, 1),
        output_tokens=3,
        output_tokens_source="usage",
    )


@pytest.fixture
def folder(run_dir: Path) -> RunFolder:
    made = RunFolder(run_dir)
    made.create()
    made.prepare(manifest(), [Planned(i, "measure", i * 100_000_000, "any", "/", {}) for i in range(6)])
    made.records_path.write_text("".join(record(i).to_json() + "\n" for i in range(6)))
    made.write_json("dispatch.json", asdict(Account(0, "complete", 6, 0.1, 0.0003)))
    return made


def test_a_whole_run_becomes_a_summary_and_a_report(folder: RunFolder) -> None:
    result = conclude(folder)
    assert result.summary["reasons"] == []
    assert result.exit_code == 0
    assert result.summary["requests"]["intended"] == 6
    assert result.summary["ttft_s"]["mean"] == pytest.approx(0.050)
    assert result.summary["tpot_s"]["mean"] == pytest.approx(0.010)
    assert result.summary["slo"]["ttft_s"] == 0.5
    assert json.loads((folder.path / "summary.json").read_text()) == result.summary
    assert "TTFT" in result.table
    assert (folder.path / "report.html").read_text().lstrip().lower().startswith("<!doctype html>")


def test_the_report_can_be_written_again(folder: RunFolder) -> None:
    conclude(folder)
    (folder.path / "report.html").unlink()
    write_report(folder, folder.summary())
    assert (folder.path / "report.html").exists()


@pytest.mark.parametrize(
    ("account", "told"),
    [
        (Account(0, "interrupted", 6, 0.1, 0.0), "the run was interrupted"),
        (Account(0, "complete", 6, 0.93, 0.0), "used 93% of its core"),
    ],
)
def test_what_no_record_shows_makes_a_run_invalid(folder: RunFolder, account: Account, told: str) -> None:
    folder.write_json("dispatch.json", asdict(account))
    result = conclude(folder)
    assert any(told in reason for reason in result.summary["reasons"])
    assert (result.summary["valid"], result.exit_code) == (False, 3)


def test_a_sender_that_died_makes_a_run_invalid(folder: RunFolder) -> None:
    (folder.path / "dispatch.json").unlink()
    assert any("did not come to its end" in reason for reason in summarize_folder(folder)["reasons"])


def notes_of(folder: RunFolder, prompts: dict[str, Any], **changes: Any) -> str:
    workload = {**manifest().workload, "prompts": prompts}
    folder.create()
    folder.prepare(manifest(workload=workload, **changes), [])
    return " ".join(summarize_folder(folder)["notes"])


def test_a_closed_loop_that_ran_out_is_noted(run_dir: Path) -> None:
    folder = RunFolder(run_dir)
    folder.create()
    folder.prepare(manifest(), [])
    folder.write_json("dispatch.json", asdict(Account(0, "used_up", 0, 0.1, 0.0)))
    assert "before the time was over" in " ".join(summarize_folder(folder)["notes"])


PROMPTS = "prompt lengths are approximate"
ANSWERS = "answers were asked to be about as long as the file's"


NOTED: dict[str, set[str]] = {
    "random_tokens": {PROMPTS},
    "shared_prefix": {PROMPTS},
    "multi_turn": {PROMPTS},
    "trace": {PROMPTS},
    "sharegpt": {ANSWERS},
    "prompt_set": set(),
}


@pytest.mark.parametrize(("kind", "told"), NOTED.items())
def test_lengths_that_were_asked_for_and_could_not_be_counted_are_noted(
    run_dir: Path, kind: str, told: set[str]
) -> None:
    prompts = {"kind": kind, "output_tokens": None}
    notes = notes_of(RunFolder(run_dir), prompts, exact_prompts=False)
    assert {words for words in (PROMPTS, ANSWERS) if words in notes} == told
    assert ("no /tokenize" in notes) == bool(told)
    counted = notes_of(RunFolder(run_dir.with_name("counted")), prompts, exact_prompts=True)
    assert "/tokenize" not in counted


def test_every_kind_of_prompts_is_in_the_test_above() -> None:
    (kinds, _) = get_args(OnePrompts)
    assert {one.model_fields["kind"].annotation for one in get_args(kinds)} == {
        Literal[kind] for kind in NOTED
    }


def test_a_mix_notes_what_any_of_its_parts_would(run_dir: Path) -> None:
    parts = [{"kind": "prompt_set"}, {"kind": "sharegpt", "output_tokens": 64}, {"kind": "trace"}]
    mix = {"kind": "mix", "of": [{"weight": 1.0, "prompts": part} for part in parts]}
    notes = notes_of(RunFolder(run_dir), mix, exact_prompts=False)
    assert PROMPTS in notes
    assert ANSWERS not in notes  # the workload says how long they are


def test_a_closed_loop_bounded_by_time_intends_what_it_sent() -> None:
    slo = {"ttft": None, "tpot": None, "e2e": None}
    timetable = [Planned(0, "warmup", None, "a", "/", {}), Planned(1, "measure", None, "a", "/", {})]
    timed = {"process": "closed", "concurrency": 2, "duration": 9.0, "requests": None}
    plan = plan_of({"arrival": timed, "slo": slo}, timetable, Account(77, "complete", 2, 0.0, 0.0))
    assert (plan.intended, plan.concurrency, plan.duration_s, plan.rate_per_s) == (None, 2, 9.0, None)
    assert plan.start_ns == 77
    counted = timed | {"duration": None, "requests": 1}
    assert plan_of({"arrival": counted, "slo": slo}, timetable, None).intended == 1
