"""What a Prometheus answers to a board: values for its variables, and each panel's queries.

Owns: what is asked, as Grafana would, and with which step. Asks Prometheus, so it is no pure room. Knows
nothing about whether an answer is good or how it is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dashboards.judging import Answer
from dashboards.panels import Board, Panel, Query, Variable
from dashboards.promql import substitute
from dashboards.query import Prometheus, QueryRefused
from dashboards.samples import Point, Series
from dashboards.steps import Span
from serving.errors import Failed, UsageError

DEPLOYMENT = "deployment"
ALL = ".*"
"""What Grafana puts in for a variable of which all values are chosen."""
ANYTHING = '{__name__!=""}'
"""A selector of all series."""
POINTS = 480
"""A graph of a third of a 1440 px wide page has no more pixels than that."""
_LABEL_VALUES = re.compile(r"label_values\((?:(?P<selector>.*),\s*)?(?P<label>\w+)\)", re.DOTALL)
Values = Mapping[str, str]


def span_until(prometheus: Prometheus, end_s: float, length_s: float) -> Span:
    """A span that ends then, with the scrape interval there is. Raises: Failed where nothing is scraped."""
    intervals = [target.scrape_interval_s for target in prometheus.targets()]
    if not intervals:
        raise Failed(
            "this Prometheus scrapes nothing",
            where=prometheus.url,
            fix="start a deployment with `teapot serve FILE`, whose Prometheus scrapes it",
        )
    return Span(end_s - length_s, end_s, max(intervals))


def chosen(prometheus: Prometheus, board: Board, span: Span, given: Values) -> Values:
    """A value for each variable of a board: the given one, all, or the first there is, as Grafana chooses.

    Raises: UsageError where it takes a choice; Failed where nothing of teapot's is scraped.
    """
    values: dict[str, str] = {}
    for variable in board.variables:
        if variable.name in given:
            values[variable.name] = given[variable.name]
        elif variable.many:
            values[variable.name] = ALL
        else:
            values[variable.name] = _single(prometheus, variable, values, span)
    return values


def answer(prometheus: Prometheus, panel: Panel, values: Values, span: Span) -> tuple[Answer, ...]:
    """What each query of a panel is over the span. Raises: Failed where Prometheus does not answer."""
    step_s = span.step_s(POINTS)
    known = {**values, **span.builtins(step_s)}
    return tuple(
        _ask(prometheus, query, substitute(query.expr, known), span, step_s) for query in panel.queries
    )


def _ask(prometheus: Prometheus, query: Query, expression: str, span: Span, step_s: float) -> Answer:
    try:
        if query.instant:
            samples = prometheus.query(expression, at_s=span.end_s)
            found = tuple(Series(s.labels, (Point(s.at_s, s.value),)) for s in samples)
        else:
            found = prometheus.query_range(expression, start_s=span.start_s, end_s=span.end_s, step_s=step_s)
    except QueryRefused as error:
        return Answer(query, expression, error=error.problems[0].what)
    return Answer(query, expression, found)


def the_deployment(prometheus: Prometheus, span: Span) -> str:
    """The only deployment there is. Raises: Failed where there is none, UsageError where there are more."""
    found = prometheus.label_values(DEPLOYMENT, "up", start_s=span.start_s, end_s=span.end_s)
    if len(found) == 1:
        return found[0]
    if not found:
        raise Failed(
            "nothing that this Prometheus scraped in the range has the label 'deployment'",
            where=prometheus.url,
            fix="look at its targets, give a longer --range, or the address that `teapot serve` prints",
        )
    raise UsageError(
        f"this Prometheus watches several deployments ({', '.join(found)})",
        where=prometheus.url,
        fix="choose one with --deployment NAME",
    )


def _single(prometheus: Prometheus, variable: Variable, chosen_so_far: Values, span: Span) -> str:
    if variable.query is None:
        return variable.default
    if variable.name == DEPLOYMENT:
        return the_deployment(prometheus, span)
    asked = _LABEL_VALUES.fullmatch(substitute(variable.query, chosen_so_far))
    if asked is None:
        raise ValueError(f"{variable.name}: '{variable.query}' is not label_values(series, label)")
    found = prometheus.label_values(
        asked["label"], asked["selector"] or ANYTHING, start_s=span.start_s, end_s=span.end_s
    )
    return found[-1 if variable.last_first else 0] if found else variable.default
