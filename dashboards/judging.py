"""Whether a panel tells anything, and whether that can be true.

Owns: what counts as alive, idle, not in use or dead, and which magnitudes a unit may have. Knows nothing
about Prometheus or how a verdict is shown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dashboards.panels import Panel, Query, Unit
from dashboards.samples import Series

Status = Literal["alive", "not in use", "idle", "dead", "implausible", "broken"]
"""`idle`: optional, and its metrics are there. `dead`: nothing to show. `broken`: it cannot be evaluated."""
GOOD: tuple[Status, ...] = ("alive", "not in use", "idle")
ROUNDING = 1e-6
"""`1 - x` and sums of rates miss 0 and 1 by as little."""
LIMITS: Mapping[Unit, tuple[float, float]] = {
    "seconds": (0, 1e4),
    "ratio": (0, 1),
    "bytes": (0, 1e15),
    "bytes/s": (0, 1e13),
    "tokens": (0, 1e12),
    "tokens/s": (0, 1e8),
    "requests": (0, 1e9),
    "requests/s": (0, 1e6),
    "count": (0, 1e12),
    "events/s": (0, 1e9),
    "dollars": (0, 1e9),
    "factor": (0, 1e6),
}
"""Beyond these something is in another unit (milliseconds, percent) or subtracted the wrong way."""
_METRIC = re.compile(r"\b(?:vllm:|teapot[_:])[\w:]+")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one query of a panel got. An instant query's samples are series of one point."""

    query: Query
    expression: str
    """With all variables put in."""
    series: tuple[Series, ...] = ()
    error: str | None = None
    """Why Prometheus could not evaluate it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of a panel; `detail` says why, or which optional part of it is not there."""

    panel: str
    title: str
    status: Status
    detail: str = ""
    expression: str | None = None
    """The query that is to blame."""
    lowest: float | None = None
    highest: float | None = None

    @property
    def good(self) -> bool:
        """Whether it passes."""
        return self.status in GOOD


def judge(panel: Panel, answers: Sequence[Answer], metrics: Collection[str]) -> Verdict:
    """The verdict on a panel, from what its queries gave and the names of all metrics there are."""
    values = [value for one in answers for series in one.series for _, value in series.finite()]
    lowest, highest = (min(values), max(values)) if values else (None, None)

    def verdict(status: Status, detail: str = "", blamed: Answer | None = None) -> Verdict:
        expression = blamed.expression if blamed else None
        return Verdict(panel.key, panel.title, status, detail, expression, lowest, highest)

    for one in answers:
        if one.error:
            return verdict("broken", one.error, one)
    for one in answers:
        problem = next(_implausible(panel, one), None)
        if problem:
            return verdict("implausible", problem, one)
    empty = [one for one in answers if not any(series.finite() for series in one.series)]
    for one in empty:
        if not (panel.optional or one.query.optional):
            return verdict("dead", _why_dead(one, metrics), one)
    reasons = "; ".join(dict.fromkeys(one.query.optional or panel.optional or "" for one in empty))
    if len(empty) < len(answers):
        return verdict("alive", reasons)
    unused = any(_missing(one, metrics) for one in empty)
    return verdict("not in use" if unused else "idle", reasons)


def _why_dead(one: Answer, metrics: Collection[str]) -> str:
    missing = _missing(one, metrics)
    if missing:
        return f"there is no {', '.join(missing)}"
    what = "only values that are no numbers" if one.series else "no series"
    return f"{what}, although its metrics are there"


def _missing(one: Answer, metrics: Collection[str]) -> list[str]:
    return sorted(set(_METRIC.findall(one.expression)) - set(metrics))


def _implausible(panel: Panel, one: Answer) -> Iterator[str]:
    words = {value for value, _, _ in panel.words}
    low, high = LIMITS.get(panel.unit, (float("-inf"), float("inf")))
    low = min(low, panel.lowest if panel.lowest is not None else low)
    for series in one.series:
        for _, value in series.finite():
            if words and value not in words:
                yield f"{value:g} has no word (there are {', '.join(f'{word:g}' for word in sorted(words))})"
            if not low - ROUNDING <= value <= high + ROUNDING:
                yield f"{value:g} is no plausible number of {panel.unit} ({low:g} to {high:g})"
