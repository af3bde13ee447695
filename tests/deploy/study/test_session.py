from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from fakes.scripted_world import ScriptedWorld
from fakes.studies import CHAT, STUDY, machine, study

from deploy.study.estimate import start_key
from deploy.study.session import Session, run_document
from serving.console import Console
from serving.errors import Failed, UsageError


def session(folder: Path, world: ScriptedWorld | None = None, **changes: object) -> Session:
    console = Console(out=io.StringIO(), err=io.StringIO())
    return Session(study(folder, **changes), console, machine(folder), world or ScriptedWorld())


@pytest.mark.slow
def test_a_study_ends_with_0_and_a_summary_in_its_folder(tmp_path):
    one = session(tmp_path)
    folder, made = one.begin(tmp_path / "out")
    code, summary = one.run(folder, made)
    assert code == 0
    assert folder.summary() == summary
    assert folder.report_path.exists()


def test_something_that_is_missing_makes_it_a_3(tmp_path):
    def fail(arm: str) -> None:
        if arm == "fp8":
            raise Failed("no memory")

    one = session(tmp_path, ScriptedWorld(starting=fail))
    assert one.run(*one.begin(tmp_path / "out"))[0] == 3


@pytest.mark.slow
def test_what_was_ruled_out_beforehand_is_a_row_and_no_failure(tmp_path):
    arms = {"plain": {}, "tensor": {"modes": [{"kind": "parallel", "tensor": 2}]}}
    one = session(tmp_path, arms=arms)
    code, summary = one.run(*one.begin(tmp_path / "out"))
    assert code == 0
    assert [each.what for each in summary.missing] == ["arm"]


@pytest.mark.slow
def test_going_on_with_what_is_done_starts_nothing(tmp_path):
    one = session(tmp_path)
    one.run(*one.begin(tmp_path / "out"))
    again = session(tmp_path)
    code, _ = again.run(*again.resume(tmp_path / "out"))
    assert code == 0
    assert isinstance(again.world, ScriptedWorld)
    assert again.world.said == []


def test_going_on_is_not_refused_where_starts_turned_out_slower_than_the_budget_allows(tmp_path):
    one = session(tmp_path, budget="15min")
    one.begin(tmp_path / "out")
    for arm in one.study.arms:
        key = start_key(arm.deployment, "cpu")
        one.history.start(key, 600.0)
    with pytest.raises(UsageError, match="its budget is 15 min"):
        one.made()
    assert one.resume(tmp_path / "out")[1].design.budget_s == 900.0


def test_going_on_with_another_study_is_refused(tmp_path):
    session(tmp_path).begin(tmp_path / "out")
    with pytest.raises(UsageError, match="measures something else than this file says now"):
        session(tmp_path, repeats=5).resume(tmp_path / "out")


@pytest.mark.slow
def test_costs_are_remembered_for_the_next_estimate(tmp_path):
    one = session(tmp_path)
    before = one.made().design.estimate.total_s
    one.run(*one.begin(tmp_path / "out"))
    after = one.made().design.estimate
    assert after.total_s < before
    assert after.sources == ("2 earlier starts alike",)


@pytest.mark.slow
def test_a_study_that_is_no_file_runs_too(tmp_path, monkeypatch):
    monkeypatch.setenv("TEAPOT_HOME", str(tmp_path / "home"))
    data = {**STUDY, "workloads": {"chat": CHAT}, "repeats": 1}
    console = Console(out=io.StringIO(), err=io.StringIO())
    world = ScriptedWorld(slow={"fp8": 2.0})
    code, summary = run_document(data, beside=tmp_path, out=tmp_path / "out", console=console, world=world)
    assert code == 0
    assert summary.ratio("tpot_mean_s", arm="fp8", workload="chat") is not None
    assert json.loads((tmp_path / "out" / "study.json").read_text())["file"] == "study"


@pytest.mark.slow
def test_a_summary_is_written_also_where_the_disk_ends_the_study(tmp_path):
    def full(arm: str, workload: str, dead: object) -> None:
        raise OSError(28, "No space left on device")

    one = session(tmp_path, ScriptedWorld(loading=full))
    folder, made = one.begin(tmp_path / "out")
    with pytest.raises(Failed, match="No space left"):
        one.run(folder, made)
    assert not folder.summary().complete


def test_a_full_disk_is_told_also_where_there_is_no_room_for_the_summary(tmp_path):
    def full(arm: str, workload: str, dead: object) -> None:
        (tmp_path / "out" / "summary.json").mkdir()  # It can then not be written, as on a full disk.
        raise OSError(28, "No space left on device")

    one = session(tmp_path, ScriptedWorld(loading=full))
    with pytest.raises(
        Failed, match=r"the disk takes no more: No space left on device; make room .* --resume"
    ):
        one.run(*one.begin(tmp_path / "out"))


@pytest.mark.slow
def test_a_study_that_is_being_run_is_not_gone_on_with_by_another(tmp_path):
    one = session(tmp_path)
    folder, _ = one.begin(tmp_path / "out")
    again = session(tmp_path)
    with (
        folder.held(),
        pytest.raises(Failed, match="out: another process runs this study; wait until it ends"),
    ):
        again.run(*again.resume(tmp_path / "out"))
    assert isinstance(again.world, ScriptedWorld)
    assert again.world.said == []
    assert [path.name for path in folder.path.iterdir()] == ["study.json"]
    assert again.run(*again.resume(tmp_path / "out"))[0] == 0
