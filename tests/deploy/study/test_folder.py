from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fakes.studies import made

from deploy.study.conclude import conclude
from deploy.study.folder import StudyFolder, default_folder
from deploy.study.rows import CellRow, ShownMode, StartRow
from serving.errors import Failed, UsageError


@pytest.fixture
def folder(tmp_path):
    return StudyFolder(tmp_path / "out")


def test_a_folder_is_named_after_its_time_and_its_study():
    now = datetime(2026, 11, 29, 23, 5, 7, tzinfo=UTC)
    assert default_folder("quick", now) == Path("runs/20261129-230507-study-quick")


def test_what_was_designed_comes_back_as_it_was(tmp_path, folder):
    design = made(tmp_path)[1].design
    folder.create(design)
    assert folder.design() == design


def test_a_folder_holds_one_study(tmp_path, folder):
    design = made(tmp_path)[1].design
    folder.create(design)
    with pytest.raises(UsageError, match="holds a study already; give another --out, or go on with it"):
        folder.create(design)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Failed, match="cannot write the folder"):
        StudyFolder(tmp_path / "file" / "out").create(made(tmp_path)[1].design)


def test_starts_and_cells_come_back_in_the_order_of_the_design(tmp_path, folder):
    design = made(tmp_path)[1].design
    folder.create(design)
    shown = ShownMode(kind="quantized_kv", asked="fp8", in_effect=None, evidence="none")
    rows = [
        StartRow(start=start.number, arm=start.arm, state="ended", began="t", verdicts=(shown,))
        for start in design.starts
    ]
    for start, row in reversed(list(zip(design.starts, rows, strict=True))):
        folder.write_start(start, row)
    assert folder.starts(design) == tuple(rows)
    cell = design.cells[1]
    row = CellRow(
        cell=cell.id, start=cell.start, arm=cell.arm, block=cell.block, workload=cell.workload,
        state="done", began="t", took_s=1.0, counters={"vllm:x{0}": 2.0},
    )  # fmt: skip
    folder.write_cell(cell, row)
    assert folder.cells(design) == (row,)


def test_what_a_broken_off_cell_left_is_moved_aside_under_a_name_of_its_own(tmp_path, folder):
    cell = made(tmp_path)[1].design.cells[0]
    for _ in range(2):
        folder.cell_folder(cell).mkdir(parents=True)
        folder.set_aside(cell)
    folder.set_aside(cell)
    names = sorted(path.name for path in (folder.path / "cells").iterdir())
    assert names == [f"{cell.id}.broken-off-1", f"{cell.id}.broken-off-2"]


def test_a_file_that_no_study_wrote_is_told_with_its_key(tmp_path, folder):
    design = made(tmp_path)[1].design
    folder.create(design)
    text = json.loads((folder.path / "study.json").read_text())
    text["arms"][0]["model"] = 3
    (folder.path / "study.json").write_text(json.dumps(text))
    with pytest.raises(UsageError, match=r"study.json: arms\[0\].model: is not what a study writes"):
        folder.design()


def test_a_folder_without_a_study_is_told(folder):
    with pytest.raises(UsageError, match=r"there is no study\.json; give the folder of a study"):
        folder.design()


def test_a_cell_without_a_load_has_no_summary_and_no_quality(tmp_path, folder):
    cell = made(tmp_path)[1].design.cells[0]
    assert folder.load_summary(cell) is None
    assert folder.quality(cell) is None


def test_a_quality_record_of_another_schema_or_cut_short_is_told_with_its_file(tmp_path, folder):
    cell = made(tmp_path)[1].design.cells[0]
    file = folder.cell_folder(cell) / "quality.json"
    folder.write_quality(cell, {"schema": 2, "kind": "quality"})
    with pytest.raises(UsageError, match=f"{file}: not a quality record of schema 1; give the quality.json"):
        folder.quality(cell)
    file.write_text('{"schema": 1, "kind": "qual')
    with pytest.raises(UsageError, match=f"{file}: is not what a study writes"):
        folder.quality(cell)


def test_files_are_written_whole(tmp_path, folder):
    folder.create(made(tmp_path)[1].design)
    assert [path.name for path in folder.path.iterdir()] == ["study.json"]


def test_a_cell_that_lies_where_another_one_was_is_told(tmp_path, folder):
    design = made(tmp_path)[1].design
    folder.create(design)
    cell, other = design.cells[:2]
    row = CellRow(
        cell=other.id, start=other.start, arm=other.arm, block=other.block, workload=other.workload,
        state="done", began="t", took_s=1.0,
    )  # fmt: skip
    folder.write_cell(cell, row)
    with pytest.raises(UsageError, match=f"is of the cell {other.id} .* and lies at that of {cell.id}"):
        folder.cells(design)


def test_a_summary_that_cannot_be_written_is_told(tmp_path, folder):
    folder.create(made(tmp_path)[1].design)
    summary = conclude(folder)
    (folder.path / "summary.json").unlink()
    (folder.path / "summary.json").mkdir()
    with pytest.raises(Failed, match=r"summary\.json: cannot be written: .*; free space"):
        folder.write_summary(summary)


def test_a_folder_is_held_by_one_until_it_lets_go(tmp_path, folder):
    folder.create(made(tmp_path)[1].design)
    with folder.held():
        with pytest.raises(Failed, match="another process runs this study"), folder.held():
            pytest.fail("both have it")
        with pytest.raises(Failed, match="another process runs this study"), folder.held():
            pytest.fail("the first lost it")
    with folder.held():
        pass
