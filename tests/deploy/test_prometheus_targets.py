"""The target files as a reader finds them while engines come and go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy.prometheus_targets import TargetFiles, replace
from deploy.scrape_config import EngineTarget, StateFiles
from serving.engine.states import EngineState

A = EngineTarget("http://127.0.0.1:4000", "main", "any")
B = EngineTarget("http://127.0.0.1:4001", "main", "any")


@pytest.fixture
def files(tmp_path: Path) -> StateFiles:
    return StateFiles(tmp_path / "prometheus" / "demo", tmp_path / "load")


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def targets(files: StateFiles, said: list[str]) -> TargetFiles:
    found = TargetFiles("demo", files, said.append)
    found.begin("http://127.0.0.1:8001")
    return found


def engines(files: StateFiles) -> list[str]:
    return [
        address for group in json.loads(files.targets("engine").read_text()) for address in group["targets"]
    ]


def test_at_the_start_there_is_the_gateway_and_no_engine_of_the_last_time(
    files: StateFiles, targets: TargetFiles
) -> None:
    targets.see("demo-0", A, EngineState.READY)
    TargetFiles("demo", files, lambda _: None).begin("http://127.0.0.1:9001")
    assert json.loads(files.targets("gateway").read_text())[0]["targets"] == ["127.0.0.1:9001"]
    assert engines(files) == []
    assert files.load.is_dir()


def test_an_engine_is_scraped_from_its_first_token_until_it_is_stopped(
    files: StateFiles, targets: TargetFiles
) -> None:
    seen = []
    for state in (
        "starting",
        "proving",
        "ready",
        "crashed",
        "waiting",
        "starting",
        "ready",
        "draining",
        "stopped",
    ):
        targets.see("demo-0", A, EngineState(state))
        seen.append((state, len(engines(files))))
    assert seen == [
        ("starting", 0), ("proving", 1), ("ready", 1), ("crashed", 1), ("waiting", 1),
        ("starting", 1), ("ready", 1), ("draining", 1), ("stopped", 0),
    ]  # fmt: skip


def test_one_that_was_given_up_stays_and_so_shows_as_down(files: StateFiles, targets: TargetFiles) -> None:
    targets.see("demo-0", A, EngineState.READY)
    targets.see("demo-0", A, EngineState.FAILED)
    assert engines(files) == ["127.0.0.1:4000"]


def test_one_that_comes_up_elsewhere_moves(files: StateFiles, targets: TargetFiles) -> None:
    targets.see("demo-0", A, EngineState.READY)
    targets.see("demo-0", B, EngineState.READY)
    assert engines(files) == ["127.0.0.1:4001"]


def test_a_file_is_replaced_whole_and_only_when_it_changes(files: StateFiles, targets: TargetFiles) -> None:
    targets.see("demo-0", A, EngineState.PROVING)
    before = files.targets("engine").stat().st_ino
    targets.see("demo-0", A, EngineState.READY)
    assert files.targets("engine").stat().st_ino == before
    with files.targets("engine").open() as reading:
        targets.see("demo-1", B, EngineState.READY)
        assert len(json.loads(reading.read())) == 1  # who had it open reads the old one to its end
    assert engines(files) == ["127.0.0.1:4000", "127.0.0.1:4001"]
    assert [path.name for path in files.targets("engine").parent.iterdir() if path.name.startswith(".")] == []


def test_a_disk_that_refuses_is_said_once(files: StateFiles, targets: TargetFiles, said: list[str]) -> None:
    folder = files.targets("engine").parent
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("in the way")
    targets.see("demo-0", A, EngineState.READY)
    targets.see("demo-1", B, EngineState.READY)
    assert len(said) == 1
    assert str(folder) in said[0]


def test_what_could_not_be_written_leaves_no_part_behind(tmp_path: Path) -> None:
    (tmp_path / "x.json").mkdir()
    with pytest.raises(OSError, match=r"x\.json"):
        replace(tmp_path / "x.json", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
