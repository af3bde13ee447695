"""`teapot dashboards build`."""

from __future__ import annotations

import json

import pytest

from deploy.cli import main


@pytest.mark.slow
def test_check_says_that_the_committed_files_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboards", "build", "--check"]) == 0
    assert "files are as their sources make them" in capsys.readouterr().out


@pytest.mark.slow
def test_check_with_json_names_what_is_stale(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboards", "build", "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stale"] == []
