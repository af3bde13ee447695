from __future__ import annotations

import json
import sys
from pathlib import Path

from serving.engine.environments import installed, read_environment, write_record
from serving.engine.folders import DataFolder

RECORD = {"device": "cpu", "version": "0.32.0", "installed": "2026-11-29T12:00:00+00:00"}


def make(folder: DataFolder, name: str) -> Path:
    path = folder.environments / name
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "python").symlink_to(sys.executable)
    return path


def test_a_recorded_environment_is_found_with_its_python(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    path = make(folder, "vllm-0.32.0-cpu-py311")
    write_record(path, RECORD)
    (found,) = installed(folder)
    assert (found.name, found.device, found.version) == ("vllm-0.32.0-cpu-py311", "cpu", "0.32.0")
    assert found.python == path / "bin" / "python"
    assert found.record == RECORD


def test_one_without_a_record_is_not_whole(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    path = make(folder, "half-made")
    (path / "teapot-environment.json.draft").write_text(json.dumps(RECORD))
    assert installed(folder) == []


def test_a_record_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    path = make(DataFolder(tmp_path), "broken")
    for text in ("", "[]", '{"device": "cpu"}'):
        (path / "teapot-environment.json").write_text(text)
        assert read_environment(path) is None


def test_one_whose_python_was_removed_from_the_machine_is_not_whole(tmp_path: Path) -> None:
    path = make(DataFolder(tmp_path), "old")
    write_record(path, RECORD)
    (path / "bin" / "python").unlink()
    (path / "bin" / "python").symlink_to(tmp_path / "gone")
    assert read_environment(path) is None


def test_a_data_folder_without_environments_has_none(tmp_path: Path) -> None:
    assert installed(DataFolder(tmp_path)) == []
