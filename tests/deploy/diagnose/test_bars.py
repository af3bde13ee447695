"""Bars by their length."""

from __future__ import annotations

import pytest

from deploy.diagnose.bars import bar


@pytest.mark.parametrize(
    ("ratio", "drawn"),
    [
        (0.0, "····"),
        (0.5, "██··"),
        (1.0, "████"),
        (1.7, "████"),
        (0.01, "▏···"),
        (0.001, "····"),
        (0.28, "█▏··"),
    ],
)
def test_a_share_is_as_long_as_it_is(ratio: float, drawn: str) -> None:
    assert bar(ratio, 4) == drawn
