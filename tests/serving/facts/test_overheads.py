"""Overheads by version."""

from __future__ import annotations

import pytest

from serving.facts.load import overheads


@pytest.mark.parametrize(
    ("version", "copies", "utilization"),
    [
        ("0.16.0", 9.73, 0.90),
        ("0.17.0", 3.9, 0.90),
        ("0.20.2", 3.9, 0.90),
        ("0.32.0+cpu", 3.9, 0.92),
        ("x", 3.9, 0.92),
    ],
)
def test_the_row_is_that_of_the_version(version: str, copies: float, utilization: float) -> None:
    row = overheads().of(version)
    assert (row.logits_copies, row.utilization) == (copies, utilization)


def test_every_constant_has_a_source_and_a_band() -> None:
    found = overheads()
    assert all(row.source and 0 < row.logits_band < 1 for row in found.versions)
    assert found.versions[-1].until is None
    assert found.graphs_low_bytes < found.graphs_bytes < found.graphs_high_bytes
    assert found.efficiency_low < found.efficiency_high
