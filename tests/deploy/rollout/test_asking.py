"""What a person asks of a process that carries a rollout out."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.rollout.asking import ask, take, take_back, waits
from serving.errors import Failed


def test_a_request_is_heard_once(tmp_path: Path) -> None:
    assert take(tmp_path) is None
    ask(tmp_path, "promote")
    ask(tmp_path, "abort")
    assert waits(tmp_path)
    assert take(tmp_path) == "abort"
    assert take(tmp_path) is None
    assert not waits(tmp_path)


def test_one_that_nobody_heard_can_be_taken_back(tmp_path: Path) -> None:
    ask(tmp_path, "promote")
    take_back(tmp_path)
    take_back(tmp_path)
    assert take(tmp_path) is None


@pytest.mark.parametrize("said", [b"", b"reboot", b"\xff"])
def test_anything_else_in_the_file_is_no_request(tmp_path: Path, said: bytes) -> None:
    (tmp_path / "asked").write_bytes(said)
    assert take(tmp_path) is None


def test_where_nothing_can_be_written_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="the rollout cannot be asked"):
        ask(tmp_path / "gone", "abort")
