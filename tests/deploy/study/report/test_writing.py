"""report.html is written from a study's folder."""

from __future__ import annotations

import pytest
from fakes.study_page import study_folder

from deploy.study.folder import StudyFolder
from deploy.study.report.writing import write_report
from serving.errors import Failed, UsageError


@pytest.mark.slow
def test_the_page_is_drawn_from_the_files_alone(tmp_path):
    written = write_report(study_folder(tmp_path))
    text = written.read_text("utf-8")
    assert written == tmp_path / "report.html"
    assert "FP8 KV doubled capacity" in text
    assert "Meta-Llama-3.1-8B" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "report.html",
        "starts",
        "study.json",
        "summary.json",
    ]


@pytest.mark.slow
def test_it_can_be_drawn_anew(tmp_path):
    folder = study_folder(tmp_path)
    assert write_report(folder).read_bytes() == write_report(folder).read_bytes()


def test_a_folder_without_a_study_is_said_so(tmp_path):
    with pytest.raises(UsageError, match=r"no study\.json"):
        write_report(StudyFolder(tmp_path))


@pytest.mark.slow
def test_a_page_that_cannot_be_written_is_said_so(tmp_path):
    folder = study_folder(tmp_path)
    (tmp_path / ".report.html.unfinished").mkdir()
    with pytest.raises(Failed, match="cannot be written"):
        write_report(folder)
