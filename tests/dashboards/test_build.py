"""What is committed is what its sources make; a stale file is found, named and mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboards.build import FILES, stale, write


def test_the_committed_files_are_fresh() -> None:
    assert stale() == (), "make them again: teapot dashboards build"


@pytest.mark.slow
def test_everything_is_written_where_nothing_was_and_then_nothing_is_stale(tmp_path: Path) -> None:
    assert set(write(tmp_path)) == set(FILES)
    assert stale(tmp_path) == ()
    assert write(tmp_path) == ()


@pytest.mark.slow
def test_a_file_changed_by_hand_is_stale_and_is_made_again(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "generated/rules.yaml").write_text("groups: []\n")
    assert stale(tmp_path) == ("generated/rules.yaml",)
    write(tmp_path)
    assert stale(tmp_path) == ()


@pytest.mark.slow
def test_a_file_that_nothing_makes_any_more_is_stale_and_goes(tmp_path: Path) -> None:
    write(tmp_path)
    old = tmp_path / "generated/boards/teapot-old.json"
    old.write_text("{}")
    assert stale(tmp_path) == ("generated/boards/teapot-old.json",)
    write(tmp_path)
    assert not old.exists()
