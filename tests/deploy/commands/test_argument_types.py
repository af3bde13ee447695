"""What is typed after options: read, or refused with the value."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest

from deploy.commands.argument_types import count, duration, positive, share, size, whole


def test_numbers_and_times_are_read() -> None:
    assert (count("3"), positive("0.5"), duration("90s"), duration("2m")) == (3, 0.5, 90.0, 120.0)
    assert (share("0.92"), size("2GiB")) == (0.92, 2 * 1024**3)


@pytest.mark.parametrize(
    ("read", "text", "told"),
    [
        (count, "0", "'0' is no whole number from 1"),
        (count, "٣", "'٣' is no whole number from 1"),
        (count, "1.5", "'1.5' is no whole number from 1"),
        (positive, "-1", "'-1' is no number above 0"),
        (positive, "inf", "'inf' is no number above 0"),
        (positive, "many", "'many' is no number above 0"),
        (share, "1.5", "'1.5' is above 1"),
        (size, "7", "'7' has no unit"),
        (duration, "60", "'60' has no unit"),
    ],
)
def test_what_is_none_is_refused_with_the_value(read: Callable[[str], object], text: str, told: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=told):
        read(text)


def test_a_whole_number_may_be_none_but_nothing_less() -> None:
    assert (whole("0"), whole("12")) == (0, 12)
    for text in ("-1", "1.5", "", "\u0663", "1_000"):
        with pytest.raises(argparse.ArgumentTypeError, match="no whole number from 0"):
            whole(text)
