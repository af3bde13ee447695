"""What a check is asked: whom the canary is held against."""

from __future__ import annotations

from dataclasses import replace

from fakes.canaries import asked, evidence


def test_a_baseline_at_the_same_time_is_the_other_side() -> None:
    found = asked(evidence())
    assert (found.concurrent, found.baseline.revision, found.baseline.n) == (True, "old", 2000)


def test_where_there_never_was_a_baseline_the_other_side_did_nothing_at_no_time() -> None:
    found = asked(replace(evidence(), baseline=None))
    assert (found.concurrent, found.baseline.n, found.baseline.finished) == (False, 0, {})
