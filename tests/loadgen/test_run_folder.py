from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from loadgen.records import Planned, RequestRecord
from loadgen.run_folder import Account, Manifest, RunFolder, first_free
from serving.errors import Failed, UsageError


def manifest() -> Manifest:
    return Manifest(
        name="n",
        started="2026-11-29 12:00:00 UTC",
        workload={"seed": 1},
        fingerprint="f",
        seed=1,
        salt="s",
        target="http://h:1",
        model="m",
        metrics_urls=("http://h:1/metrics",),
        exact_prompts=True,
        continuous_usage=False,
        clock={"perf_counter_ns": 5, "unix_ns": 6},
        versions={"python": "3.11"},
        machine={"cpus": 2},
    )


def test_what_was_prepared_is_read_again(run_dir: Path) -> None:
    folder = RunFolder(run_dir)
    folder.create()
    odd = Planned(0, "measure", 0, "any", "/", {"prompt": "a\u2028b\nc"})
    folder.prepare(manifest(), [odd, Planned(1, "measure", 7, "any", "/", {})])
    assert folder.manifest() == manifest()
    assert folder.timetable()[0] == odd
    assert len(folder.timetable()) == 2


def test_a_folder_that_holds_a_run_is_not_written_over(run_dir: Path) -> None:
    folder = RunFolder(run_dir)
    folder.create()
    folder.create()
    folder.prepare(manifest(), [])
    with pytest.raises(UsageError, match="holds a run already"):
        folder.create()


def test_the_first_free_folder_is_the_one_asked_for_or_one_beside_it(run_dir: Path) -> None:
    assert first_free(run_dir) == run_dir
    for name in ("run", "run-2"):
        folder = RunFolder(run_dir.with_name(name))
        folder.create()
        assert first_free(run_dir) == folder.path  # made, and no run in it
        folder.prepare(manifest(), [])
    assert first_free(run_dir) == run_dir.with_name("run-3")


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Failed, match="cannot make the folder"):
        RunFolder(tmp_path / "file" / "run").create()


def test_a_line_cut_off_by_a_crash_is_left_out(run_dir: Path) -> None:
    folder = RunFolder(run_dir)
    folder.create()
    line = RequestRecord(1, "measure", "code", "ok", None, 10, 30).to_json()
    folder.records_path.write_text(f"{line}\n{line}\n{line[:40]}")
    assert len(folder.records()) == 2


def test_files_of_a_run_that_did_not_come_so_far_are_empty_or_none(run_dir: Path) -> None:
    folder = RunFolder(run_dir)
    folder.create()
    assert folder.records() == ()
    assert folder.server_samples() == ()
    assert folder.account() is None


def test_a_folder_without_a_run_says_what_a_run_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no manifest.json; give the folder of a run"):
        RunFolder(tmp_path).manifest()
    with pytest.raises(UsageError, match=r"there is no timetable.jsonl"):
        RunFolder(tmp_path).timetable()


def test_a_broken_document_is_said(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(UsageError, match="not a JSON document"):
        RunFolder(tmp_path).summary()


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("manifest.json", "[]", RunFolder.manifest),
        ("manifest.json", "{}", RunFolder.manifest),
        ("manifest.json", '{"schema": 99, "metrics_urls": []}', RunFolder.manifest),
        ("dispatch.json", "{}", RunFolder.account),
        ("timetable.jsonl", '{"index": 1}\n', RunFolder.timetable),
        ("records.jsonl", '{"a": 1}\n', RunFolder.records),
        ("records.jsonl", "garbage\n", RunFolder.records),
        ("server.jsonl", "x}\n", RunFolder.server_samples),
    ],
)
def test_a_file_that_no_run_wrote_is_named(
    tmp_path: Path, name: str, text: str, read: Callable[[RunFolder], object]
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=name):
        read(RunFolder(tmp_path))


def test_a_file_of_bytes_and_one_in_place_of_a_folder_are_said(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"records.jsonl: is not UTF-8"):
        RunFolder(tmp_path).records()
    with pytest.raises(UsageError, match=r"there is no summary.json"):
        RunFolder(tmp_path / "records.jsonl").summary()


def test_a_written_file_is_whole_and_leaves_nothing_beside_it(run_dir: Path) -> None:
    folder = RunFolder(run_dir)
    folder.create()
    account = Account(1, "complete", 2, 0.5, 0.001)
    folder.write_json("dispatch.json", {"old": True})
    folder.write_json("dispatch.json", asdict(account))
    assert folder.account() == account
    assert [file.name for file in run_dir.iterdir()] == ["dispatch.json"]


def test_metrics_call_a_run_by_its_folder_and_the_load_of_a_cell_by_the_cells(tmp_path: Path) -> None:
    assert RunFolder(tmp_path / "20261129-chat").label == "20261129-chat"
    assert RunFolder(tmp_path / "001-fp8-chat" / "load").label == "001-fp8-chat"
