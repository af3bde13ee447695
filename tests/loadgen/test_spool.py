from __future__ import annotations

from pathlib import Path

import pytest

from loadgen import spool
from loadgen.frames import Frame, pack
from loadgen.parse import Capture
from loadgen.records import Planned
from loadgen.spool import SpoolReader, SpoolWriter


def frame(index: int, size: int = 10) -> bytes:
    return pack(Frame(Planned(index, "measure", 0, "any", "/", {}), Capture(1, 2, [b"x" * size], [1]), 0))


def indices(reader: SpoolReader) -> list[int]:
    return [one.planned.index for one in reader.frames()]


def test_each_frame_is_given_once_as_it_comes(tmp_path: Path) -> None:
    reader = SpoolReader(tmp_path / "spool")
    assert indices(reader) == []
    with SpoolWriter(tmp_path / "spool") as writer:
        writer.append(frame(0))
        assert indices(reader) == [0]
        assert indices(reader) == []
        writer.append(frame(1))
        writer.append(frame(2))
    assert indices(reader) == [1, 2]


def test_a_frame_that_is_half_written_is_waited_for(tmp_path: Path) -> None:
    reader = SpoolReader(tmp_path)
    with SpoolWriter(tmp_path) as writer:
        writer.append(frame(0))
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    assert indices(reader) == []
    path.write_bytes(whole)
    assert indices(reader) == [0]


@pytest.mark.slow
def test_files_that_are_followed_by_another_are_removed_once_read(tmp_path: Path) -> None:
    reader = SpoolReader(tmp_path)
    with SpoolWriter(tmp_path) as writer:
        for index in range(4):
            writer.append(frame(index, size=spool.FILE_BYTES // 2 + 1))
    assert len(list(tmp_path.iterdir())) == 2
    assert indices(reader) == [0, 1, 2, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["000001.spool"]
    reader.remove()
    assert not tmp_path.exists()
