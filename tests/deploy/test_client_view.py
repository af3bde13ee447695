"""A run folder, made up, as the dashboards compare it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.run_folders import write_run

from deploy.client_view import client_view
from loadgen.run_folder import RunFolder
from serving.errors import Failed, UsageError

SECOND_NS = 1_000_000_000
ORIGIN_S = 1_795_970_055
SUMMARY = {
    "requests": {"ok": 97, "failed": 2, "cut": 1},
    "ttft_s": {
        "mean": 0.125, "p50": 0.1, "p95": 0.25, "p99": None,
        "ci95": {"p50": [0.09, 0.11], "p95": None, "p99": None},
    },
    "tpot_s": {"mean": None},
    "e2e_s": {
        "mean": 2.5, "p50": None, "p95": None, "p99": None, "ci95": {"p50": None, "p95": None, "p99": None},
    },
}  # fmt: skip


def folder(path, *, warmup: int = 4) -> RunFolder:
    made = write_run(path, n=100, clock={"perf_counter_ns": 5, "unix_ns": ORIGIN_S * SECOND_NS})
    records = [
        replace(record, phase="warmup" if record.index < warmup else "measure") for record in made.records()
    ]
    made.records_path.write_text("".join(f"{record.to_json()}\n" for record in records))
    made.write_json("summary.json", SUMMARY)
    return made


def test_a_run_tells_when_it_was_and_what_it_measured(tmp_path):
    made = folder(tmp_path / "r7")
    view = client_view(made.path)
    assert (view.run, view.sent, len(view.ends_s)) == ("r7", 100, 96)
    assert view.paths == ("/v1/chat/completions",)
    assert view.began_s == pytest.approx(ORIGIN_S, abs=0.05)
    assert view.measured_s == pytest.approx(ORIGIN_S + 1.0, abs=0.05)  # the fifth, four a second
    assert view.ended_s == pytest.approx(ORIGIN_S + max(r.t_end_ns for r in made.records()) / SECOND_NS)


def test_percentiles_come_with_their_interval_where_there_is_one(tmp_path):
    latencies = client_view(folder(tmp_path / "r").path).latencies
    found = [(p.q, p.value, p.low, p.high) for p in latencies["ttft"].percentiles]
    assert found == [(0.5, 0.1, 0.09, 0.11), (0.95, 0.25, 0.25, 0.25)]
    assert (latencies["e2e"].mean, latencies["e2e"].percentiles) == (2.5, ())


def test_what_nobody_measured_is_not_compared(tmp_path):
    assert "tpot" not in client_view(folder(tmp_path / "r").path).latencies


def test_a_run_of_nothing_but_warm_up_is_refused(tmp_path):
    with pytest.raises(Failed, match="no measured request"):
        client_view(folder(tmp_path / "r", warmup=100).path)


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"manifest\.json"):
        client_view(tmp_path)
