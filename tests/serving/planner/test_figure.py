"""A figure as JSON."""

from __future__ import annotations

from serving.planner.figure import Figure


def test_a_band_is_told_only_where_there_is_one() -> None:
    plain = Figure(3, "bytes", "exact", "counted").document()
    assert plain == {"value": 3, "unit": "bytes", "kind": "exact", "source": "counted"}
    assert Figure(3, "bytes", "fitted", "x", 2, 4).document()["high"] == 4
