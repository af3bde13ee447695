from __future__ import annotations

import pytest

from dashboards.preview.clock import at_utc, marks

NOON = 1_795_953_600  # 2026-11-29 12:00:00 UTC


@pytest.mark.parametrize(
    ("length_s", "most", "labels"),
    [
        (300, 5, ["12:00", "12:01", "12:02", "12:03", "12:04", "12:05"]),
        (900, 3, ["12:00", "12:05", "12:10", "12:15"]),
        (20, 4, ["12:00:00", "12:00:05", "12:00:10", "12:00:15", "12:00:20"]),
        (2 * 86400, 2, ["11-30", "12-01"]),
    ],
)
def test_marks_stand_at_whole_steps(length_s, most, labels):
    assert [words for _, words in marks(NOON, NOON + length_s, most)] == labels


def test_a_range_that_begins_anywhere_has_its_first_mark_at_the_next_step():
    assert marks(NOON + 7.5, NOON + 130, 3)[0] == (NOON + 60.0, "12:01")


def test_a_time_is_told_in_utc():
    assert at_utc(NOON + 61.9) == "2026-11-29 12:01:01"
