from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from fakes.scripted_world import ScriptedWorld
from fakes.studies import made

from deploy.study.conclude import conclude
from deploy.study.folder import StudyFolder
from deploy.study.run import Runner
from deploy.study.world import Times
from serving.errors import Failed, UsageError


async def ran(folder, world, **changes):
    """The folder of a study that a scripted world has run; each look at the wall clock takes ten seconds."""
    one, design = made(folder, **changes)
    at = iter(datetime(2026, 11, 29, 12, tzinfo=UTC) + timedelta(seconds=10) * n for n in range(1000))
    study = StudyFolder(folder / "out")
    study.create(design.design)
    runner = Runner(
        study=one, design=design.design, folder=study, world=world, pace=design.pace,
        say=lambda line: None, times=Times(now=lambda: next(at)),
    )  # fmt: skip
    await runner.run()
    return study


@pytest.mark.slow
async def test_an_arm_twice_as_slow_has_half_of_the_speed_in_every_block(tmp_path):
    """The scripted runs have a TPOT of 20 ms within 10 %; this arm's is twice that with the same seed."""
    summary = conclude(await ran(tmp_path, ScriptedWorld(slow={"fp8": 2.0}), repeats=3))
    ratio = summary.ratio("tpot_mean_s", arm="fp8", workload="chat")
    assert ratio is not None
    assert ratio.figure.value == pytest.approx(2.0, rel=1e-6)
    assert (ratio.figure.n, ratio.better) == (3, False)
    plain = summary.find("tpot_mean_s", arm="plain", workload="chat")
    assert plain is not None
    assert 0.018 < plain.figure.value < 0.022


@pytest.mark.slow
async def test_capacity_is_told_against_what_the_planner_said(tmp_path):
    summary = conclude(await ran(tmp_path, ScriptedWorld(tokens={"plain": 93_184, "fp8": 186_368})))
    assert (
        "fp8 doubled capacity: 93,184 -> 186,368 tokens; predicted 2.00x (projected): it held."
        in summary.words
    )


@pytest.mark.slow
async def test_a_summary_can_be_worked_out_again_and_is_the_same(tmp_path):
    folder = await ran(tmp_path, ScriptedWorld())
    assert conclude(folder) == conclude(folder) == folder.summary()


@pytest.mark.slow
async def test_a_failed_start_leaves_a_study_complete_and_its_arm_failed_with_the_reason(tmp_path):
    def fail(arm):
        if arm == "fp8":
            raise Failed("no memory")

    summary = conclude(await ran(tmp_path, ScriptedWorld(starting=fail)))
    assert summary.complete
    assert [(arm.name, arm.state, arm.reason) for arm in summary.arms] == [
        ("plain", "done", None), ("fp8", "failed", "no memory"),
    ]  # fmt: skip
    assert [each.what for each in summary.missing] == ["start", "start"]
    assert summary.ratios == ()


@pytest.mark.slow
async def test_a_study_that_was_broken_off_is_summarized_as_far_as_it_came(tmp_path):
    folder = await ran(tmp_path, ScriptedWorld())
    last = folder.design().cells[-1]
    (folder.cell_folder(last) / "cell.json").unlink()
    summary = conclude(folder)
    assert not summary.complete
    assert [(each.id, each.reason) for each in summary.missing] == [(last.id, "not reached")]
    assert sum(arm.cells_done for arm in summary.arms) == 3


@pytest.mark.slow
async def test_runs_that_are_not_valid_are_counted_and_doubted(tmp_path):
    folder = await ran(tmp_path, ScriptedWorld())
    design = folder.design()
    row = folder.cells(design)[0]
    folder.write_cell(design.cells[0], replace(row, valid=False, reasons=("the generator was slow",)))
    summary = conclude(folder)
    assert summary.doubts == (f"{row.cell}: the generator was slow",)
    assert sum(arm.cells_done for arm in summary.arms) == 4


@pytest.mark.slow
async def test_what_limits_the_whole_is_noted(tmp_path):
    held = conclude(await ran(tmp_path / "held", ScriptedWorld(), hold=True))
    assert any("engines were held" in note for note in held.notes)
    once = conclude(await ran(tmp_path / "once", ScriptedWorld(), repeats=1))
    assert any("one repeat" in note for note in once.notes)


@pytest.mark.slow
async def test_time_between_two_sittings_does_not_count(tmp_path):
    folder = await ran(tmp_path, ScriptedWorld())
    took = conclude(folder).cost["wall_s"]
    with folder.journal_path.open("a") as file:
        for at, event in (("2026-12-01T00:00:00", "study-resumed"), ("2026-12-01T00:01:00", "done")):
            file.write(json.dumps({"at": f"{at}+00:00", "event": event}) + "\n")
    assert conclude(folder).cost["wall_s"] == took + 60


@pytest.mark.slow
async def test_quality_that_the_control_gave_once_only_is_not_compared(tmp_path):
    folder = await ran(tmp_path, ScriptedWorld(), quality=True, repeats=1)
    cells = [cell for cell in folder.design().cells if cell.workload.startswith("quality")]
    assert len(cells) == 3
    for cell in cells:
        assert folder.quality(cell) is not None
        (folder.cell_folder(cell) / "quality.json").unlink()
    assert conclude(folder).quality == ()


@pytest.mark.slow
@pytest.mark.parametrize(("of", "file"), [("chat", "load/summary.json"), ("quality", "quality.json")])
async def test_a_cell_that_is_done_and_whose_records_are_gone_is_missing(tmp_path, of, file):
    folder = await ran(tmp_path, ScriptedWorld(), quality=of == "quality", repeats=1)
    cells = [cell for cell in folder.design().cells if cell.workload.startswith(of)]
    for cell in cells:
        (folder.cell_folder(cell) / file).unlink()
    assert [(each.id, each.reason) for each in conclude(folder).missing] == [
        (cell.id, f"its cells/{cell.id}/{file} is gone: is the folder whole?") for cell in cells
    ]


async def test_quality_that_cannot_be_held_against_the_controls_is_missing(tmp_path):
    world = ScriptedWorld(plans={"fp8": "another"})
    summary = conclude(await ran(tmp_path, world, quality=True, repeats=1))
    assert [row["arm"] for row in summary.quality] == ["plain"]
    missing = summary.missing[0]
    assert (missing.arm, missing.id.endswith("-fp8-quality")) == ("fp8", True)
    assert "its quality was not compared: the quality records come from different texts" in missing.reason
    assert summary.exit_code == 3


@pytest.mark.slow
async def test_a_quality_record_that_cannot_be_read_is_refused_with_its_file(tmp_path):
    folder = await ran(tmp_path, ScriptedWorld(), quality=True, repeats=1)
    cell = next(cell for cell in folder.design().cells if cell.workload == "quality")
    folder.write_quality(cell, {"schema": 2, "kind": "quality"})
    with pytest.raises(UsageError, match=f"{cell.id}/quality.json: not a quality record of schema 1"):
        conclude(folder)
