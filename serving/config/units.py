"""Durations, sizes and rates as people write them: `500ms`, `2GiB`, `4/s`.

Owns: the units, how they are read and how they are shown. Knows nothing about files, keys or lines.
Inside teapot a duration is a float in seconds, a size an integer in bytes, a rate a float per second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, NoReturn

from pydantic import BeforeValidator

DURATION_UNITS: Mapping[str, Fraction] = {
    "us": Fraction(1, 1_000_000),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
SIZE_UNITS: Mapping[str, Fraction] = {
    "B": Fraction(1),
    "kB": Fraction(10**3),
    "KB": Fraction(10**3),
    "MB": Fraction(10**6),
    "GB": Fraction(10**9),
    "TB": Fraction(10**12),
    "KiB": Fraction(2**10),
    "MiB": Fraction(2**20),
    "GiB": Fraction(2**30),
    "TiB": Fraction(2**40),
}
RATE_UNITS: Mapping[str, Fraction] = {
    "/s": Fraction(1),
    "/min": Fraction(1, 60),
    "/h": Fraction(1, 3600),
}
_LOOSE = {
    **{"sec": "s", "second": "s", "seconds": "s", "mins": "min", "minute": "min", "minutes": "min"},
    **{"hour": "h", "hours": "h", "day": "d", "days": "d", "b": "B", "bytes": "B"},
    **{"k": "KiB", "m": "MiB", "g": "GiB", "t": "TiB", "ki": "KiB", "mi": "MiB", "gi": "GiB", "ti": "TiB"},
    **{"rps": "/s", "qps": "/s", "req/s": "/s", "/sec": "/s", "/m": "/min", "/minute": "/min", "/hour": "/h"},
}
"""Spellings that are not accepted but tell what was meant."""
_QUANTITY = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?|\.\d+)\s*(?P<unit>[A-Za-z/]*)\s*")


class UnitError(ValueError):
    """A quantity that cannot be read: `what` is wrong with it, and the form wanted (`fix`)."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}; {fix}")
        self.what = what
        self.fix = fix


def parse_duration(value: object) -> float:
    """Read `500ms`, `30s`, `15min`, `1h` as seconds. Raises: UnitError."""
    return float(_parse(value, "duration", DURATION_UNITS, forms="500ms, 30s, 15min or 1h"))


def parse_size(value: object) -> int:
    """Read `512KiB`, `2GiB`, `1GB`, `100B` as bytes, rounded to a whole byte. Raises: UnitError."""
    return round(_parse(value, "size", SIZE_UNITS, forms="512KiB, 10MiB, 2GiB or 1GB"))


def parse_rate(value: object) -> float:
    """Read `4/s`, `120/min` as events per second. Raises: UnitError."""
    return float(_parse(value, "rate", RATE_UNITS, forms="4/s, 0.5/s or 120/min"))


Duration = Annotated[float, BeforeValidator(parse_duration)]
"""A pydantic field in seconds, written as `500ms`, `30s`, `2m`, `15min`, `1h`."""
Size = Annotated[int, BeforeValidator(parse_size)]
"""A pydantic field in bytes, written as `100B`, `512KiB`, `10MiB`, `2GiB`, `1GB`."""
Rate = Annotated[float, BeforeValidator(parse_rate)]
"""A pydantic field in events per second, written as `4/s`, `120/min`."""


def _parse(value: object, quantity: str, units: Mapping[str, Fraction], *, forms: str) -> Fraction:
    form = f"write a {quantity} like {forms}"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UnitError(f"{value!r} is not a {quantity}", form)
    if isinstance(value, int | float):
        raise UnitError(f"{value} has no unit", _likely(value, quantity, forms))
    if value.strip().startswith("-"):
        raise UnitError(f"'{value}' is negative", form)
    match = _QUANTITY.fullmatch(value)
    if match is None:
        raise UnitError(f"'{value}' is not a {quantity}", form)
    number, unit = match["number"], match["unit"]
    if not unit:
        raise UnitError(f"'{value}' has no unit", _likely(float(number), quantity, forms))
    if unit not in units:
        _unknown_unit(number, unit, quantity, units)
    return Fraction(number) * units[unit]


def _likely(number: float, quantity: str, forms: str) -> str:
    """Say what a bare number may have meant: habits differ, so it is offered, never assumed."""
    if number < 0 or number != number:
        return f"write a {quantity} like {forms}"
    said = int(number) if isinstance(number, float) and number.is_integer() else number
    if quantity == "duration":
        guess = f"{said}ms (or {said}s)" if number >= 50 else f"{said}s (or {said}ms)"
    elif quantity == "size":
        guess = f"{said}B" if number >= 1024 else f"{said}GiB (or {said}MiB)"
    else:
        guess = f"{said}/s"
    return f"write it with its unit, probably {guess}"


def _unknown_unit(number: str, unit: str, quantity: str, units: Mapping[str, Fraction]) -> NoReturn:
    same = [known for known in units if known.lower() == unit.lower()]
    loose = _LOOSE.get(unit.lower())
    meant = same[0] if same else loose if loose in units else None
    fix = f"did you mean {number}{meant}?" if meant else f"units of a {quantity} are {', '.join(units)}"
    raise UnitError(f"'{number}{unit}' has the unknown unit '{unit}'", fix)


def format_duration(seconds: float) -> str:
    """Show seconds for people: `850 us`, `42.3 ms`, `1.5 s`, `2 min 5 s`, `1 h 10 min`."""
    magnitude = abs(seconds)
    if magnitude >= 3600:
        hours, minutes = divmod(round(seconds / 60), 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if magnitude >= 60:
        minutes, rest = divmod(round(seconds), 60)
        if minutes == 60:
            return "1 h"
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if magnitude >= 1 or seconds == 0:
        return f"{_short(seconds)} s"
    if magnitude >= 1e-3:
        return f"{_short(seconds * 1e3)} ms"
    return f"{_short(seconds * 1e6)} us"


def format_size(size_bytes: int) -> str:
    """Show bytes for people in binary units: `512 B`, `10 MiB`, `2 GiB`, `1.5 GiB`."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        scale = int(SIZE_UNITS[unit])
        if abs(size_bytes) >= scale:
            return f"{_short(size_bytes / scale)} {unit}"
    return f"{size_bytes} B"


def format_rate(per_s: float) -> str:
    """Show events per second for people: `4/s`, and `6/min` below one per second."""
    if 0 < abs(per_s) < 1:
        return f"{_short(per_s * 60)}/min"
    return f"{_short(per_s)}/s"


def _short(number: float) -> str:
    """Three significant digits at most after the point, none wasted: 1.5, 42.3, 100, 1234."""
    if abs(number) >= 100:
        return f"{number:.0f}"
    return f"{number:.3g}"
