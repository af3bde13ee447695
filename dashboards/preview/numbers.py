"""Numbers with their unit, as people read them on a tile or an axis.

Owns: prefixes, digits and words. Knows nothing about where a number stands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from dashboards.panels import Unit

Scale = tuple[float, str]
"""From which size on, what one of it is called; smallest first."""
_TIME: Sequence[Scale] = (
    (1e-9, " ns"), (1e-6, " µs"), (1e-3, " ms"), (1.0, " s"), (60.0, " min"), (3600.0, " h"), (86400.0, " d"),
)  # fmt: skip
_PLAIN: Sequence[Scale] = ((1.0, ""), (1e3, " k"), (1e6, " M"), (1e9, " G"), (1e12, " T"))
_BYTES: Sequence[Scale] = (
    (1.0, " B"),
    (2.0**10, " KiB"),
    (2.0**20, " MiB"),
    (2.0**30, " GiB"),
    (2.0**40, " TiB"),
)
_SCALES: Mapping[Unit, Sequence[Scale]] = {
    "seconds": _TIME,
    "ratio": ((0.01, " %"),),
    "bytes": _BYTES,
    "bytes/s": _BYTES,
    "factor": ((1.0, " ×"),),
}
_AFTER: Mapping[Unit, str] = {
    "bytes/s": "/s", "tokens/s": " tok/s", "requests/s": " req/s", "events/s": " /s",
}  # fmt: skip
_BEFORE: Mapping[Unit, str] = {"dollars": "$"}
DIGITS = 3


def number(value: float, unit: Unit, decimals: int | None = None) -> str:
    """A number with its unit, to three digits or so many decimals."""
    return _put(value, unit, scale_of(abs(value), unit), decimals)


def tick_labels(ticks: Sequence[float], unit: Unit) -> tuple[str, ...]:
    """Labels of an axis: all in the same scale, with as many decimals as tell them apart."""
    largest = max((abs(tick) for tick in ticks), default=0.0)
    scale = scale_of(largest, unit)
    step = min((b - a for a, b in pairwise(ticks)), default=0.0) / scale[0]
    decimals = max(0, math.ceil(-math.log10(step) - 1e-9)) if step > 0 else 0
    if step > 0 and not math.isclose(step, round(step, decimals), rel_tol=1e-6):
        decimals += 1
    return tuple(_put(tick, unit, scale, decimals) for tick in ticks)


def scale_of(magnitude: float, unit: Unit) -> Scale:
    """The largest scale of which there is at least one; 0 is in the unit itself."""
    scales = _SCALES.get(unit, _PLAIN)
    if magnitude == 0:
        return next((scale for scale in scales if scale[0] == 1.0), scales[0])
    # 59.99 s are a minute, and 999.9 ms a second, as soon as they would be shown so.
    shown = magnitude * (1 + 0.5 * 10**-DIGITS)
    return next((scale for scale in reversed(scales) if scale[0] <= shown), scales[0])


def _put(value: float, unit: Unit, scale: Scale, decimals: int | None) -> str:
    scaled = value / scale[0]
    if decimals is None:
        decimals = _decimals(abs(scaled))
        text = f"{scaled:,.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = f"{scaled:,.{decimals}f}"
    if float(text.replace(",", "")) == 0:
        text = text.removeprefix("-")
    return f"{_BEFORE.get(unit, '')}{text}{scale[1]}{_AFTER.get(unit, '')}".replace("-", "−")


def _decimals(scaled: float) -> int:
    """That give three digits; of numbers below one, three digits after the zeros, but at most five."""
    if scaled == 0:
        return 0
    return min(5, max(0, DIGITS - 1 - math.floor(math.log10(scaled))))
