"""Series can be told apart by colour and marker together."""

from __future__ import annotations

from deploy.study.report.looks import MARKERS, colour, marker


def test_no_two_of_the_first_57_look_alike():
    looks = {(colour(number), marker(number)) for number in range(57)}
    assert len(looks) == 57


def test_the_first_eight_have_a_colour_and_a_marker_each():
    assert [colour(number) for number in range(8)] == list(range(8))
    assert "".join(marker(number) for number in range(8)) == MARKERS


def test_grey_is_the_controls_alone():
    assert [number for number in range(57) if colour(number) == 0] == [0]
