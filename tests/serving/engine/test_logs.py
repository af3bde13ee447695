from __future__ import annotations

from pathlib import Path

from serving.engine.logs import LogTail, end_of_log, size_of_log


def test_only_what_is_new_and_complete_is_read(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    path.write_text("of an earlier run\n")
    tail = LogTail(path)
    with path.open("a") as log:
        log.write("one\ntw")
        log.flush()
        assert tail.new_lines() == ["one"]
        log.write("o\n")
        log.flush()
        assert tail.new_lines() == ["two"]
    assert tail.new_lines() == []
    assert tail.lines == ["one", "two"]


def test_a_bar_that_rewrites_its_line_is_several_lines(tmp_path: Path) -> None:
    tail = LogTail(tmp_path / "engine.log")
    (tmp_path / "engine.log").write_bytes(b"Loading:   0%\rLoading: 100%\n")
    assert tail.new_lines() == ["Loading:   0%", "Loading: 100%"]


def test_the_last_line_of_a_dead_writer_counts_without_its_end(tmp_path: Path) -> None:
    tail = LogTail(tmp_path / "engine.log")
    (tmp_path / "engine.log").write_bytes("ok\nKilled \udc80".encode(errors="surrogateescape"))
    assert tail.finish() == ["ok", "Killed \N{REPLACEMENT CHARACTER}"]


def test_no_file_yet_is_no_lines(tmp_path: Path) -> None:
    assert LogTail(tmp_path / "none").new_lines() == []


def test_the_end_of_a_log_is_what_was_written_since_at_most_so_much(tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert (end_of_log(path, 0), size_of_log(path)) == ([], 0)
    path.write_text("old\n")
    since = size_of_log(path)
    with path.open("a") as file:
        file.write("new\n" * 3 + "unfinished")
    assert end_of_log(path, since) == ["new", "new", "new", "unfinished"]
    assert end_of_log(path, since, at_most_bytes=14) == ["new", "unfinished"]
