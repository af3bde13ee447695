"""How finely a range is looked at, and what Grafana's own variables are then.

Owns: the step between points and the window of rates. Knows nothing about who asks, or of what.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

NICE_S = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
"""Steps that people can read off an axis."""
SCRAPES_IN_A_RATE = 4
"""A rate needs two samples; with four scrapes in its window one may be missed, and another late.
Source: Grafana's documentation of $__rate_interval, max($__interval + scrape interval, 4 x scrape interval).
"""


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when (Unix time), and how far apart the samples are."""

    start_s: float
    end_s: float
    scrape_s: float

    @property
    def length_s(self) -> float:
        """How long it is."""
        return self.end_s - self.start_s

    def step_s(self, points: int) -> float:
        """The smallest nice step that gives at most so many points, and none finer than the scrapes."""
        least = max(self.length_s / points, self.scrape_s)
        return next((float(step) for step in NICE_S if step >= least), float(math.ceil(least)))

    def builtins(self, step_s: float) -> Mapping[str, str]:
        """Grafana's own variables at this step."""
        rate_s = max(step_s + self.scrape_s, SCRAPES_IN_A_RATE * self.scrape_s)
        return {
            "__interval": _seconds(step_s),
            "__rate_interval": _seconds(rate_s),
            "__range": _seconds(self.length_s),
            "__range_s": str(math.ceil(self.length_s)),
        }


def _seconds(seconds: float) -> str:
    """As PromQL writes a duration; in milliseconds where it is no whole number of seconds."""
    return f"{seconds:.0f}s" if seconds == int(seconds) else f"{math.ceil(seconds * 1000)}ms"
