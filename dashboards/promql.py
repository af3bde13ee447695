"""PromQL as text, put together in one way so that the usual mistakes cannot be written.

Owns: matchers, rates, ratios, quantiles and means. Knows nothing about which metrics exist or what they mean.

A rate always has a window, a quantile is always summed by `le` first, and a ratio of nothing is no sample
and not 0 (`or vector(0)` is for numerators only, of counters that are born with their first event).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

RATE_INTERVAL = "$__rate_interval"
"""Grafana puts in a window that holds at least four scrapes."""
RANGE = "$__range"
"""The whole range that a board shows."""
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<plain>\w+))")


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose samples: matchers as PromQL writes them, labels to keep apart, and the window of rates."""

    matchers: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    window: str = RATE_INTERVAL

    def only(self, *matchers: str) -> Scope:
        """The same, narrowed by more matchers."""
        return replace(self, matchers=self.matchers + matchers)

    def split(self, *labels: str) -> Scope:
        """The same, kept apart by more labels."""
        return replace(self, by=self.by + tuple(label for label in labels if label not in self.by))

    def over(self, window: str) -> Scope:
        """The same over another window."""
        return replace(self, window=window)


EVERYTHING = Scope()


def series(name: str, scope: Scope = EVERYTHING, **labels: str) -> str:
    """A selector of instant samples; `labels` are equalities beside the scope's matchers."""
    matchers = [f'{label}="{value}"' for label, value in labels.items()] + list(scope.matchers)
    return f"{name}{{{', '.join(matchers)}}}" if matchers else name


def rate(name: str, scope: Scope, **labels: str) -> str:
    """Events a second of a counter."""
    return f"rate({series(name, scope, **labels)}[{scope.window}])"


def increase(name: str, scope: Scope, **labels: str) -> str:
    """Events of a counter within the window."""
    return f"increase({series(name, scope, **labels)}[{scope.window}])"


def over_time(function: str, name: str, scope: Scope, **labels: str) -> str:
    """What `min`, `max`, `avg` or `present` says of a gauge's samples within the window, series by series."""
    return f"{function}_over_time({series(name, scope, **labels)}[{scope.window}])"


def total(expression: str, scope: Scope, function: str = "sum") -> str:
    """Sum (or `max`, `min`, `avg`) over all that the scope does not keep apart."""
    by = f" by ({', '.join(scope.by)})" if scope.by else ""
    return f"{function}{by} ({expression})"


def total_rate(name: str, scope: Scope, **labels: str) -> str:
    """Events a second of a counter, over all that the scope does not keep apart."""
    return total(rate(name, scope, **labels), scope)


def ratio(above: str, below: str) -> str:
    """One sum by another; without a sample where there is nothing to divide by."""
    return f"{above} / ({below} > 0)"


def or_zero(expression: str, alive: str) -> str:
    """Zero where a counter is not born yet although what `alive` selects is there (with equal labels)."""
    return f"({expression} or 0 * {alive})"


def quantile(q: float, name: str, scope: Scope, **labels: str) -> str:
    """A quantile of a classic histogram, over everything that the scope does not keep apart."""
    inner = total(rate(f"{name}_bucket", scope, **labels), scope.split("le"))
    return f"histogram_quantile({q:g}, {inner})"


def mean(name: str, scope: Scope, **labels: str) -> str:
    """The true mean of a histogram: the sum of what was seen by how often."""
    return ratio(total_rate(f"{name}_sum", scope, **labels), total_rate(f"{name}_count", scope, **labels))


def substitute(expression: str, values: Mapping[str, str]) -> str:
    """Put values in for `$name` and `${name}`, as Grafana would.

    Raises: KeyError with the name of a variable that has no value.
    """
    return _VARIABLE.sub(lambda found: values[found["braced"] or found["plain"]], expression)


def variables(expression: str) -> frozenset[str]:
    """The variables that an expression uses, Grafana's own (`__rate_interval`) included."""
    return frozenset(found["braced"] or found["plain"] for found in _VARIABLE.finditer(expression))
