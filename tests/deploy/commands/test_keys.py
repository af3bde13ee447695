"""`teapot keys`: a key is printed once, and only its hash is kept."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from deploy.cli import main
from serving.gateway.keys import KeySet
from serving.gateway.keys_file import read_keys


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.yaml"


def teapot(*words: str, file: Path) -> int:
    return main(["keys", *words, "--file", str(file)])


def test_a_new_key_is_the_only_thing_on_stdout_and_opens(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert teapot("add", "alice", "--requests-per-minute", "60", file=file) == 0
    key = capsys.readouterr().out.strip()
    found = KeySet(read_keys(file)).find(key)
    assert found is not None
    assert (found.name, found.requests_per_minute, found.tokens_per_minute) == ("alice", 60, None)
    text = file.read_text()
    assert key not in text
    assert hashlib.sha256(key.encode()).hexdigest() in text
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_second_key_leaves_the_first_as_it_was(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = []
    for name in ("alice", "bob"):
        assert teapot("add", name, file=file) == 0
        keys.append(capsys.readouterr().out.strip())
    found = [KeySet(read_keys(file)).find(key) for key in keys]
    assert [entry and entry.name for entry in found] == ["alice", "bob"]
    assert len(set(keys)) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("add", "alice"),
            "there is a key for 'alice' already; choose another name, or first: teapot keys rem",
        ),
        (("add", "a b"), "'a b' cannot be a key's name"),
        (("remove", "bob"), "there is no key for 'bob'; names: alice"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_code_2(
    file: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    teapot("add", "alice", file=file)
    before = file.read_text()
    assert teapot(*words, file=file) == 2
    assert said in capsys.readouterr().err
    assert file.read_text() == before


def test_a_removed_key_opens_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    teapot("add", "alice", file=file)
    key = capsys.readouterr().out.strip()
    assert teapot("remove", "alice", file=file) == 0
    assert KeySet(read_keys(file)).find(key) is None


def test_the_list_shows_no_key(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    teapot("add", "alice", "--tokens-per-minute", "1000", file=file)
    key = capsys.readouterr().out.strip()
    assert teapot("list", file=file) == 0
    out = capsys.readouterr().out
    key_id = hashlib.sha256(key.encode()).hexdigest()[:12]
    assert out == f"alice  {key_id}  any number of requests  1000 tokens/min\n"
    assert teapot("list", "--json", file=file) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["tokens_per_minute"]) == ("alice", 1000)


def test_a_file_that_is_not_there_is_said(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert teapot("list", file=file) == 2
    assert "no such file" in capsys.readouterr().err
    assert teapot("add", "alice", file=file.parent / "nowhere" / "keys.yaml") == 2
    assert "no such folder" in capsys.readouterr().err


@pytest.mark.parametrize("rate", ["0", "-1", "x", "1.5", "²"])
def test_a_rate_is_a_whole_number(file: Path, rate: str) -> None:
    with pytest.raises(SystemExit) as caught:
        teapot("add", "alice", "--requests-per-minute", rate, file=file)
    assert caught.value.code == 2
