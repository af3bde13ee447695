"""`teapot render`: writing, comparing, and saying what is not carried over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy.cli import main

TEXT = "name: d\nmodel: a/b\n"


def files(tmp_path: Path) -> tuple[str, str]:
    file = tmp_path / "d.yaml"
    file.write_text(TEXT)
    return str(file), str(tmp_path / "out")


def test_files_are_written_once_and_then_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = files(tmp_path)
    assert main(["render", "compose", file, "--out", out, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "docker-compose.yml" in told["written"]
    assert any("not proven" in note for note in told["not_carried_over"])
    assert (Path(out) / "docker-compose.yml").is_file()
    assert main(["render", "compose", file, "--out", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] == []


def test_check_writes_nothing_and_fails_where_a_file_would_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = files(tmp_path)
    assert main(["render", "compose", file, "--out", out, "--check"]) == 1
    assert "docker-compose.yml" in capsys.readouterr().err
    assert not Path(out).exists()
    assert main(["render", "compose", file, "--out", out]) == 0
    assert main(["render", "compose", file, "--out", out, "--check"]) == 0


def test_a_folder_that_cannot_be_written_to_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, _ = files(tmp_path)
    (tmp_path / "taken").write_text("")
    assert main(["render", "compose", file, "--out", str(tmp_path / "taken")]) == 1
    assert "cannot be written" in capsys.readouterr().err
