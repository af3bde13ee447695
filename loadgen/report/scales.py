"""From values to places on a chart, and the round numbers beside its axes.

Owns: linear and logarithmic scales. Knows nothing about SVG. Places are thousandths of the plot, so
that a chart can be stretched to any width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

PLOT = 1000.0
"""Width and height of every plot in its own units."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_LOG_FROM = 30.0
"""A range whose ends differ by more than this factor reads better in decades."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of values, low < high, spread over the plot evenly or by its logarithm."""

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a value: 0 at `low`, 1000 at `high`; values outside are put on the border."""
        inside = min(self.high, max(self.low, value))
        if self.log:
            return PLOT * math.log(inside / self.low) / math.log(self.high / self.low)
        return PLOT * (inside - self.low) / (self.high - self.low)

    def ticks(self) -> tuple[float, ...]:
        """Round values within the range, about six."""
        return _log_ticks(self.low, self.high) if self.log else _linear_ticks(self.low, self.high)


def linear(high: float) -> Scale:
    """From 0 to a little above `high`."""
    return Scale(0.0, high * 1.04 if high > 0 else 1.0)


def fitting(low: float, high: float) -> Scale:
    """From 0 where that shows the values, in decades where they differ too much for it."""
    if low > 0 and high / low > _LOG_FROM:
        return Scale(low / 1.1, high * 1.1, log=True)
    return linear(high)


def _linear_ticks(low: float, high: float) -> tuple[float, ...]:
    rough = (high - low) / 7
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((factor * power for factor in _STEPS if factor * power >= rough), 10 * power)
    first, last = math.ceil(low / step), math.floor(high / step)
    return tuple(count * step for count in range(first, last + 1))


def _log_ticks(low: float, high: float) -> tuple[float, ...]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (
        (1.0,)
        if math.log10(high / low) > 3.5
        else (1.0, 3.0)
        if math.log10(high / low) > 2
        else (1.0, 2.0, 5.0)
    )
    values = (factor * 10.0**decade for decade in decades for factor in factors)
    return tuple(value for value in values if low <= value <= high)
