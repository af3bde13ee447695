"""Whether an expression asks for what there is: every name, type, label and label value, read from its tree.

Owns: the walk over PromQL's syntax tree, and which labels a result has. Knows nothing about panels, or about
which series there are (`catalogue`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import promql_parser as promql

from dashboards.catalogue import JOBS, Catalogue, Series, missing

GROW = frozenset({"rate", "irate", "increase", "resets"})
"""Functions for what only grows."""
CHANGE = frozenset({"delta", "idelta", "deriv", "predict_linear", "holt_winters"})
_ANY = frozenset({"changes", "present_over_time", "count_over_time", "absent_over_time", "last_over_time"})
_TIMELESS = frozenset({"vector", "scalar", "time", "pi"})
_SET = frozenset({"and", "unless"})


@dataclass(slots=True)
class Reading:
    """What was found in an expression."""

    problems: list[str] = field(default_factory=list)
    windows: list[tuple[str, timedelta]] = field(default_factory=list)
    """Each function over a window, and the window."""
    names: set[str] = field(default_factory=set)
    labels: frozenset[str] = frozenset()
    """Those of the result."""


def read(expression: str, catalogue: Catalogue) -> Reading:
    """Read an expression whose variables have values. A syntax error is a problem like others."""
    try:
        tree = promql.parse(expression)
    except ValueError as error:
        return Reading([f"it is no PromQL: {error}"])
    walk = _Walk(catalogue)
    walk.found.labels = walk.labels(tree)
    return walk.found


class _Walk:
    """Goes down the tree and comes back with the labels of each part."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.found = Reading()

    def labels(self, node: Any, function: str = "") -> frozenset[str]:
        """The labels of a part's result, `function` being what is next above it."""
        handler = _HANDLERS.get(type(node))
        return handler(self, node, function) if handler else frozenset()

    def say(self, problem: str) -> None:
        """Note a problem, once."""
        if problem not in self.found.problems:
            self.found.problems.append(problem)

    def _inner(self, node: Any, function: str) -> frozenset[str]:
        return self.labels(node.expr, function)

    def _selector(self, node: Any, function: str) -> frozenset[str]:
        name = node.name
        if not name:
            self.say("a selector without a metric's name reads everything there is")
            return frozenset()
        self.found.names.add(name)
        series = self._catalogue.get(name)
        if series is None:
            self.say(missing(name, self._catalogue))
            return frozenset()
        self._match(name, series, node.matchers.matchers)
        if series.type == "counter" and function not in {*GROW, *_ANY, "absent"}:
            self.say(f"{name} only grows; take its rate or increase")
        if series.type == "gauge" and function in GROW:
            self.say(f"{name} goes up and down; {function} is for counters")
        return series.labels

    def _match(self, name: str, series: Series, matchers: list[Any]) -> None:
        for matcher in matchers:
            if matcher.name == "__name__":
                continue
            if matcher.name not in series.labels:
                self.say(f"{name} has no label '{matcher.name}' (it has {', '.join(sorted(series.labels))})")
            known = JOBS if matcher.name == "job" else series.values.get(matcher.name)
            if known and matcher.op == promql.MatchOp.Equal and matcher.value not in known:
                self.say(f'{name} has no {matcher.name}="{matcher.value}" (only {", ".join(sorted(known))})')

    def _window(self, node: Any, function: str) -> frozenset[str]:
        self.found.windows.append((function, node.range))
        return self._selector(node.vector_selector, function)

    def _subquery(self, node: Any, function: str) -> frozenset[str]:
        return self.labels(node.expr)

    def _call(self, node: Any, _: str) -> frozenset[str]:
        name = node.func.name
        given = [self.labels(argument, name) for argument in node.args]
        if name == "histogram_quantile":
            return self._quantile(node.args[1], given[1])
        if name in _TIMELESS:
            return frozenset()
        labels: frozenset[str] = frozenset().union(*given)
        if name in ("label_replace", "label_join"):
            return labels | {node.args[1].val}
        return labels

    def _quantile(self, inner: Any, labels: frozenset[str]) -> frozenset[str]:
        if not isinstance(inner, promql.AggregateExpr) or "le" not in _by(inner):
            self.say("histogram_quantile wants `sum by (le)` over the rates of the buckets")
        return labels - {"le"}

    def _aggregate(self, node: Any, _: str) -> frozenset[str]:
        operator = str(node.op)
        if operator in ("avg", "sum", "max", "min") and _is_quantile(node.expr):
            self.say(f"{operator} of quantiles is no quantile; sum the buckets first")
        labels = self.labels(node.expr)
        asked = frozenset(node.modifier.labels) if node.modifier else frozenset()
        if node.modifier is not None and node.modifier.type == promql.AggModifierType.Without:
            return labels - asked
        if operator in ("topk", "bottomk"):
            return labels
        for label in sorted(asked - labels):
            self.say(f"`{operator} by ({label})` keeps a label that what is summed does not have")
        return asked & labels

    def _binary(self, node: Any, _: str) -> frozenset[str]:
        left, right = self.labels(node.lhs), self.labels(node.rhs)
        if str(node.op) == "/":
            self._mean(node)
        if _is_scalar(node.lhs) or _is_scalar(node.rhs):
            return right if _is_scalar(node.lhs) else left
        operator, modifier = str(node.op), node.modifier
        matching = modifier.matching if modifier else None
        if matching is None:
            if operator == "or":
                return left | right
            if left != right and operator not in _SET:
                self.say(_unmatched(operator, left, right))
            return left
        if operator in {*_SET, "or"}:
            return left | right if operator == "or" else left
        on = frozenset(matching.labels)
        if matching.type == promql.LabelModifierType.Exclude:
            on = (left | right) - on
        for label in sorted(on - (left & right)):
            self.say(f"`on ({label})` matches by a label that one side does not have")
        if modifier.card == promql.VectorMatchCardinality.ManyToOne:
            return left | frozenset(modifier.group_labels or ())
        if modifier.card == promql.VectorMatchCardinality.OneToMany:
            return right | frozenset(modifier.group_labels or ())
        return on

    def _mean(self, node: Any) -> None:
        """The only use of a histogram's sum of seconds: by how often it was seen."""
        above, below = _names(node.lhs), _names(node.rhs)
        for name in above:
            series = self._catalogue.get(name)
            if not below or series is None or series.histogram is None or not name.endswith("_sum"):
                continue
            if f"{series.histogram}_count" not in below:
                self.say(f"{name} is divided by something else than {series.histogram}_count")


_HANDLERS: Mapping[type, Callable[[_Walk, Any, str], frozenset[str]]] = {
    promql.VectorSelector: _Walk._selector,
    promql.MatrixSelector: _Walk._window,
    promql.SubqueryExpr: _Walk._subquery,
    promql.Call: _Walk._call,
    promql.AggregateExpr: _Walk._aggregate,
    promql.BinaryExpr: _Walk._binary,
    promql.ParenExpr: _Walk._inner,
    promql.UnaryExpr: _Walk._inner,
}


def undivided_sums(expression: str) -> Iterator[str]:
    """Sums of seconds whose rate is shown as if it were a time: they are in no division by their count."""
    try:
        tree = promql.parse(expression)
    except ValueError:
        return
    names = _names(tree)
    for name in sorted(names):
        if name.endswith("_seconds_sum") and f"{name.removesuffix('_sum')}_count" not in names:
            yield name


def _names(node: Any) -> frozenset[str]:
    found: set[str] = set()

    def visit(part: Any) -> bool:
        if isinstance(part, promql.VectorSelector) and part.name:
            found.add(part.name)
        if isinstance(part, promql.MatrixSelector) and part.vector_selector.name:
            found.add(part.vector_selector.name)
        return True

    promql.walk(node, pre_visit=visit)
    return frozenset(found)


def _by(node: Any) -> frozenset[str]:
    if node.modifier is None or node.modifier.type == promql.AggModifierType.Without:
        return frozenset()
    return frozenset(node.modifier.labels)


def _is_quantile(node: Any) -> bool:
    while isinstance(node, promql.ParenExpr):
        node = node.expr
    return isinstance(node, promql.Call) and node.func.name == "histogram_quantile"


def _is_scalar(node: Any) -> bool:
    while isinstance(node, promql.ParenExpr | promql.UnaryExpr):
        node = node.expr
    if isinstance(node, promql.BinaryExpr):
        return _is_scalar(node.lhs) and _is_scalar(node.rhs)
    if isinstance(node, promql.Call):
        return node.func.name in ("scalar", "time", "pi")
    return isinstance(node, promql.NumberLiteral)


def _unmatched(operator: str, left: frozenset[str], right: frozenset[str]) -> str:
    sides = " and ".join("{" + ", ".join(sorted(side)) + "}" for side in (left, right))
    return f"the sides of `{operator}` have different labels ({sides}), so nothing matches; say `on (...)`"
