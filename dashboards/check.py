"""Every panel of every board, asked of a Prometheus and judged; and what a run measured, asked again there.

Owns: the order of asking. Asks Prometheus, so it is no pure room. Knows nothing about what makes a panel good
(`judging`), what agrees (`agreement`) or how it is told (`check_report`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dashboards.agreement import ClientView, Comparison, Measure, compare, measures
from dashboards.answers import ANYTHING, Values, answer, chosen
from dashboards.check_report import BoardReport
from dashboards.judging import judge
from dashboards.panels import Board
from dashboards.query import Prometheus
from dashboards.steps import Span


def check(
    prometheus: Prometheus,
    boards: Iterable[Board],
    span: Span,
    given: Values,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[BoardReport, ...]:
    """Ask and judge. `given` are values of variables. Raises: Failed, UsageError."""
    metrics = frozenset(prometheus.label_values("__name__", ANYTHING, start_s=span.start_s, end_s=span.end_s))
    reports = []
    for board in boards:
        values = chosen(prometheus, board, span, given)
        verdicts = []
        for panel in board.panels():
            progress(f"{board.title}: {panel.title}")
            verdicts.append(judge(panel, answer(prometheus, panel, values, span), metrics))
        reports.append(BoardReport(board.uid, board.title, values, tuple(verdicts)))
    return tuple(reports)


def agreement(
    prometheus: Prometheus, view: ClientView, deployment: str, scrape_s: float
) -> tuple[Comparison, ...]:
    """What a client measured against what Prometheus has of the same time. Raises: Failed."""
    return tuple(
        _compare(prometheus, measure, view.settled_s(scrape_s))
        for measure in measures(view, deployment, scrape_s)
    )


def _compare(prometheus: Prometheus, measure: Measure, at_s: float) -> Comparison:
    value = _single(prometheus, measure.expression, at_s)
    if value is not None and measure.before_s is not None:
        value -= _single(prometheus, measure.expression, measure.before_s) or 0.0
    bounds = []
    if measure.buckets is not None:
        bounds = [float(sample.labels["le"]) for sample in prometheus.query(measure.buckets, at_s=at_s)]
    return compare(measure, value, sorted(bounds))


def _single(prometheus: Prometheus, expression: str, at_s: float) -> float | None:
    samples = prometheus.query(expression, at_s=at_s)
    return samples[0].value if samples else None
