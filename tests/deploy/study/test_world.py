from __future__ import annotations

from datetime import UTC, datetime

from deploy.study.world import Times


def test_stamps_are_in_utc_to_the_second():
    times = Times(now=lambda: datetime(2026, 11, 29, 23, 5, 7, 999, tzinfo=UTC))
    assert times.stamp() == "2026-11-29T23:05:07+00:00"
