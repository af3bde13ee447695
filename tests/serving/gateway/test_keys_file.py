"""The file of keys: what is wrong with it by line, and that it is watched."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from serving.errors import Failed, UsageError
from serving.gateway.keys import KeyEntry, digest_of
from serving.gateway.keys_file import LOOK_EVERY_S, WatchedKeys, open_to_others, read_keys, write_keys

ONE, TWO = digest_of("one"), digest_of("two")


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    entries = (KeyEntry("alice", ONE), KeyEntry("bob", TWO, 60, 1000))
    write_keys(tmp_path / "keys.yaml", entries)
    assert read_keys(tmp_path / "keys.yaml") == entries
    assert [file.name for file in tmp_path.iterdir()] == ["keys.yaml"]


def test_a_new_file_is_for_its_owner_only_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "keys.yaml"
    write_keys(path, [])
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    write_keys(path, [])
    assert path.stat().st_mode & 0o777 == 0o640


def test_all_that_is_wrong_is_said_by_line(tmp_path: Path) -> None:
    path = written(
        tmp_path / "keys.yaml",
        f"keys:\n- name: a b\n  hash: sha256:{ONE}\n- name: bob\n  hash: tp-secret\n  request_per_minute: 3\n"
        f"- name: eve\n  hash: sha256:{TWO}\n  tokens_per_minute: 0\n",
    )
    with pytest.raises(UsageError) as caught:
        read_keys(path)
    first, second, third, fourth = (str(problem) for problem in caught.value.problems)
    assert first.startswith(f"{path}:2: keys[0].name: 'a b' is not allowed")
    assert second.startswith(f"{path}:5: keys[1].hash: ")
    assert "`teapot keys add NAME`" in second or "teapot keys add NAME" in second
    assert third.startswith(f"{path}:6: keys[1].request_per_minute: unknown key; did you mean 'requests_per_")
    assert fourth.startswith(f"{path}:9: keys[2].tokens_per_minute: ")


def test_a_key_or_a_name_given_twice_is_said(tmp_path: Path) -> None:
    path = written(
        tmp_path / "k", f"keys:\n- {{name: a, hash: 'sha256:{ONE}'}}\n- {{name: a, hash: 'sha256:{ONE}'}}\n"
    )
    with pytest.raises(UsageError) as caught:
        read_keys(path)
    assert [str(problem) for problem in caught.value.problems] == [
        f"{path}:3: keys[1].name: the name is already keys[0]; remove one of them",
        f"{path}:3: keys[1].hash: the hash is already keys[0]; remove one of them",
    ]


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="cannot be written"):
        write_keys(tmp_path / "nowhere" / "keys.yaml", [])


def test_a_file_that_all_can_read_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "keys.yaml"
    write_keys(path, [])
    assert open_to_others(path) is None
    path.chmod(0o644)
    WatchedKeys(path, lambda: 0.0)
    assert f"{path}: every user of this machine can read it (mode 0644); chmod 600 it" in caplog.text
    assert open_to_others(tmp_path / "nowhere") is None


def test_a_changed_file_is_in_force_after_a_second_at_most(tmp_path: Path) -> None:
    path, now = tmp_path / "keys.yaml", 0.0
    write_keys(path, [KeyEntry("alice", ONE)])
    watched = WatchedKeys(path, lambda: now)
    write_keys(path, [KeyEntry("bob", TWO)])
    assert watched.current().find("one")
    now = LOOK_EVERY_S
    assert watched.current().find("one") is None
    assert watched.current().find("two")


def test_a_file_that_turned_wrong_is_reported_once_and_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, now = tmp_path / "keys.yaml", 0.0
    write_keys(path, [KeyEntry("alice", ONE)])
    watched = WatchedKeys(path, lambda: now)
    written(path, "keys: [{nam: x}]\n")
    for _ in range(5):
        now += LOOK_EVERY_S
        assert watched.current().find("one")
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert f"{path}:1: keys[0].nam: unknown key; did you mean 'name'?" in record.getMessage()
    path.unlink()
    now += LOOK_EVERY_S
    assert watched.current().find("one")
    write_keys(path, [])
    now += LOOK_EVERY_S
    assert watched.current().find("one") is None


def test_a_missing_file_is_said_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        WatchedKeys(tmp_path / "keys.yaml", lambda: 0.0)
