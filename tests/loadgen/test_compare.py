from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.run_folders import WORKLOAD, write_run

from loadgen.compare import Comparison, Options, compare_folders
from serving.errors import UsageError


def changed(**arrival: Any) -> dict[str, Any]:
    return WORKLOAD | {"arrival": WORKLOAD["arrival"] | arrival}


def compared(a: Path, b: Path, **options: Any) -> Comparison:
    return compare_folders([a], [b], Options(**options))


@pytest.mark.slow
def test_two_runs_that_are_alike_are_no_regression(tmp_path: Path) -> None:
    write_run(tmp_path / "a", seed=1)
    write_run(tmp_path / "b", seed=2)

    found = compared(tmp_path / "a", tmp_path / "b")

    assert (found.verdict, found.exit_code, found.paired) == ("no regression", 0, True)
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["verdict"] == "no regression"


@pytest.mark.slow
def test_a_slower_run_is_a_regression(tmp_path: Path) -> None:
    write_run(tmp_path / "a", seed=1)
    write_run(tmp_path / "b", seed=2, slow=1.2)

    found = compared(tmp_path / "a", tmp_path / "b")

    assert (found.verdict, found.exit_code) == ("regression", 1)
    rows = {row["metric"]: row for row in found.as_dict()["metrics"]}
    assert rows["tpot.p50"]["verdict"] == "worse"
    assert rows["tpot.p50"]["change_ratio"] == pytest.approx(0.2, abs=0.03)
    assert rows["failed"]["change"] == 0.0


def test_another_workload_is_refused_and_what_differs_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", workload=changed(rate=8.0), fingerprint="g")

    found = compared(tmp_path / "a", tmp_path / "b")

    assert (found.verdict, found.exit_code, found.changes) == ("not comparable", 3, ())
    assert "ran different workloads: arrival.rate (4.0 and 8.0)" in found.reasons[0]


def test_workloads_that_differ_only_in_what_a_file_held_are_refused_too(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", fingerprint="g")

    assert "another input file" in compared(tmp_path / "a", tmp_path / "b").reasons[0]


@pytest.mark.slow
def test_other_seeds_are_compared_only_if_asked_for_and_not_paired(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", workload=WORKLOAD | {"seed": 2}, fingerprint="g")

    refused = compared(tmp_path / "a", tmp_path / "b")
    found = compared(tmp_path / "a", tmp_path / "b", other_seeds=True)

    assert (refused.verdict, refused.exit_code) == ("not comparable", 3)
    assert "--other-seeds" in refused.reasons[0]
    assert (found.verdict, found.paired) == ("no regression", False)
    assert any("not paired" in note for note in found.notes)


@pytest.mark.slow
def test_a_run_that_is_no_measurement_makes_the_comparison_inconclusive(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", slow=1.5, lag_ms=30.0)

    found = compared(tmp_path / "a", tmp_path / "b")

    assert (found.verdict, found.exit_code) == ("inconclusive", 3)
    assert any("b is not a valid measurement: schedule lag" in reason for reason in found.reasons)


def test_several_runs_a_side_are_compared_by_how_they_differ(tmp_path: Path) -> None:
    for side, slow in (("a", 1.0), ("b", 1.25)):
        for repeat in range(3):
            seed = 10 * repeat + (side == "b")
            write_run(tmp_path / f"{side}{repeat}", seed=seed, slow=slow + 0.01 * repeat)

    found = compare_folders(
        [tmp_path / f"a{i}" for i in range(3)], [tmp_path / f"b{i}" for i in range(3)], Options()
    )

    assert (found.verdict, found.exit_code) == ("regression", 1)
    assert not any("one run on a side" in note for note in found.notes)


@pytest.mark.slow
def test_one_run_a_side_is_said_to_know_nothing_of_the_next(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b")

    assert any("one run on a side" in note for note in compared(tmp_path / "a", tmp_path / "b").notes)


@pytest.mark.slow
def test_what_differs_beside_the_workload_is_noted(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", model="other", target="http://127.0.0.1:2", machine={"cpus": 8})

    notes = " ".join(compared(tmp_path / "a", tmp_path / "b").notes)

    assert "model differs: m, other" in notes
    assert "target differs" in notes
    assert "different machines" in notes


def test_a_metric_that_was_asked_for_and_cannot_be_judged_is_no_pass(tmp_path: Path) -> None:
    write_run(tmp_path / "a", n=40)
    write_run(tmp_path / "b", n=40)

    found = compared(tmp_path / "a", tmp_path / "b", metrics=("ttft.p50", "ttft.p95"))

    assert (found.verdict, found.exit_code) == ("inconclusive", 3)
    assert {change.metric.name for change in found.changes} == {"ttft.p50", "ttft.p95"}


def test_floors_of_the_users_own_are_used(tmp_path: Path) -> None:
    write_run(tmp_path / "a", seed=1)
    write_run(tmp_path / "b", seed=1, slow=1.2)

    found = compared(tmp_path / "a", tmp_path / "b", metrics=("tpot.p50",), floors={"tpot.p50": (0.5, 0.0)})

    assert found.verdict == "no regression"


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "a")

    with pytest.raises(UsageError, match=r"there is no manifest\.json"):
        compared(tmp_path / "a", tmp_path)
