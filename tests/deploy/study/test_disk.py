from __future__ import annotations

import errno
from pathlib import Path

import pytest

from deploy.study.disk import DiskEnd, disk_end, free_bytes, require_room

FOLDER = Path("runs/it")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_what_a_full_or_broken_disk_answers_is_told_with_what_to_do(number):
    end = disk_end(OSError(number, "no"), FOLDER)
    words = "the study stops, for the disk takes no more: no; make room (a cell needs 64 MiB) and go on with"
    assert str(end) == f"runs/it: {words} --resume"


def test_what_is_no_disks_fault_is_not_called_one_and_names_the_file():
    end = disk_end(PermissionError(errno.EACCES, "Permission denied", "runs/it/cells"), FOLDER)
    what = "a file of it cannot be written or read: Permission denied; mend that and go on with --resume"
    assert str(end) == f"runs/it/cells: the study stops, for {what}"


def test_an_error_without_a_number_keeps_its_words():
    assert "cannot be written or read: odd;" in str(disk_end(OSError("odd"), FOLDER))


def test_room_for_a_cell_is_enough(tmp_path):
    require_room(64 * 2**20, FOLDER)
    with pytest.raises(DiskEnd, match=r"runs/it: .*63 MiB are free"):
        require_room(64 * 2**20 - 1, FOLDER)
    assert free_bytes(tmp_path) > 0
