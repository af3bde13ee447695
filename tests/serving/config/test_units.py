"""Durations, sizes and rates: what is read, what is refused, and how it is shown."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from serving.config.units import (
    Duration,
    Rate,
    Size,
    UnitError,
    format_duration,
    format_rate,
    format_size,
    parse_duration,
    parse_rate,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("50ms", 0.05), ("30s", 30.0), ("2m", 120.0), ("15min", 900.0), ("1h", 3600.0),
     ("1.5 s", 1.5), ("0s", 0.0), ("250us", 0.00025), ("1d", 86400.0)],
)  # fmt: skip
def test_a_duration_is_read_as_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GiB", 2147483648), ("10MiB", 10485760), ("512KiB", 524288), ("1GB", 1000000000), ("100B", 100),
     ("1.5GiB", 1610612736), ("64kB", 64000), ("0.1KiB", 102)],
)  # fmt: skip
def test_a_size_is_read_as_whole_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(("text", "per_s"), [("4/s", 4.0), ("120/min", 2.0), ("0.5/s", 0.5), ("36/h", 0.01)])
def test_a_rate_is_read_per_second(text: str, per_s: float) -> None:
    assert parse_rate(text) == per_s


def test_a_number_without_a_unit_is_refused_with_its_likely_meaning() -> None:
    with pytest.raises(UnitError, match=r"500 has no unit; .*probably 500ms \(or 500s\)"):
        parse_duration(500)
    with pytest.raises(UnitError, match=r"2 has no unit; .*probably 2s"):
        parse_duration(2)
    with pytest.raises(UnitError, match=r"2 has no unit; .*probably 2GiB"):
        parse_size(2)
    with pytest.raises(UnitError, match=r"10485760 has no unit; .*probably 10485760B"):
        parse_size(10485760)
    with pytest.raises(UnitError, match=r"'4' has no unit; .*probably 4/s"):
        parse_rate("4")


def test_a_unit_in_another_spelling_is_suggested() -> None:
    with pytest.raises(UnitError, match=r"'2gib' has the unknown unit 'gib'; did you mean 2GiB\?"):
        parse_size("2gib")
    with pytest.raises(UnitError, match=r"did you mean 2GiB\?"):
        parse_size("2G")
    with pytest.raises(UnitError, match=r"did you mean 30s\?"):
        parse_duration("30sec")
    with pytest.raises(UnitError, match=r"did you mean 4/s\?"):
        parse_rate("4rps")


def test_an_unknown_unit_lists_the_known_ones() -> None:
    with pytest.raises(UnitError, match=r"unit 'GiB'; units of a duration are us, ms, s, m, min, h, d"):
        parse_duration("2GiB")


@pytest.mark.parametrize("value", ["", "fast", "1h30m", "s", "1e3s", None, True, [1], {"s": 1}])
def test_what_is_no_duration_is_refused_with_the_form_wanted(value: object) -> None:
    with pytest.raises(UnitError, match="write a duration like 500ms"):
        parse_duration(value)


def test_negative_quantities_are_refused() -> None:
    with pytest.raises(UnitError, match="'-5s' is negative"):
        parse_duration("-5s")


def test_the_annotated_types_work_in_a_strict_model() -> None:
    class Sample(BaseModel):
        model_config = ConfigDict(strict=True)
        after: Duration
        size: Size
        rate: Rate

    assert Sample.model_validate({"after": "2m", "size": "1KiB", "rate": "6/min"}) == Sample.model_construct(
        after=120.0, size=1024, rate=0.1
    )
    with pytest.raises(ValidationError, match="has no unit"):
        Sample.model_validate({"after": 1, "size": "1KiB", "rate": "6/min"})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (0.00085, "850 us"), (0.0423, "42.3 ms"), (1.5, "1.5 s"), (30.0, "30 s"),
     (125.0, "2 min 5 s"), (120.0, "2 min"), (4200.0, "1 h 10 min"), (3599.9, "1 h")],
)  # fmt: skip
def test_a_duration_is_shown_for_people(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(512, "512 B"), (10485760, "10 MiB"), (2147483648, "2 GiB"), (1610612736, "1.5 GiB"), (0, "0 B")],
)
def test_a_size_is_shown_for_people(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(("per_s", "text"), [(4.0, "4/s"), (0.1, "6/min"), (0.0, "0/s")])
def test_a_rate_is_shown_for_people(per_s: float, text: str) -> None:
    assert format_rate(per_s) == text
