"""The file of the token: who can read it, and what is said where it cannot be had."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from deploy.admin_token import make_token, read_token, remove_token, write_token
from serving.errors import Failed


def test_only_this_user_can_read_it_whatever_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "state" / "demo.token"
    path.parent.mkdir()
    path.write_text("old")
    path.chmod(0o644)
    write_token(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_token(str(path)) == "new"


def test_every_start_has_another_that_cannot_be_guessed() -> None:
    tokens = {make_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) >= 43 for token in tokens)  # 32 bytes in base64


def test_without_it_the_user_is_told_whose_it_is(tmp_path: Path) -> None:
    path = tmp_path / "demo.token"
    with pytest.raises(Failed, match="as the user who runs `teapot serve`"):
        read_token(str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(Failed, match="it is no text"):
        read_token(str(path))


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(Failed, match="the admin token cannot be written"):
        write_token(tmp_path / "state" / "demo.token", "new")


def test_none_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "demo.token"
    write_token(path, "new")
    remove_token(str(path))
    remove_token(str(path))
    remove_token(None)
    assert not path.exists()
