"""Errors say what, where and what to do, several at once."""

from __future__ import annotations

import pytest

from serving.errors import Failed, InvalidMeasurement, Problem, TeapotError, UsageError


def test_a_problem_reads_where_what_and_what_to_do() -> None:
    problem = Problem("unknown key", "demo.yaml:8: modes[1].formt", "did you mean 'format'?")
    assert str(problem) == "demo.yaml:8: modes[1].formt: unknown key; did you mean 'format'?"


def test_a_problem_without_place_or_cure_is_just_what_happened() -> None:
    assert str(Problem("engine died")) == "engine died"


def test_several_problems_make_one_error_with_a_line_each() -> None:
    error = UsageError.of([Problem("a", "f:1"), Problem("b", "f:2")])
    assert str(error) == "f:1: a\nf:2: b"
    assert isinstance(error, UsageError)


def test_an_error_of_no_problems_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        TeapotError.of([])


@pytest.mark.parametrize(("kind", "code"), [(Failed, 1), (UsageError, 2), (InvalidMeasurement, 3)])
def test_each_kind_has_the_exit_code_of_the_contract(kind: type[TeapotError], code: int) -> None:
    assert kind("x").exit_code == code
