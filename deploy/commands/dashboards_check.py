"""`teapot dashboards check`: does every panel of every board tell something that can be true.

Owns: this action's arguments and what it prints. Knows nothing about what is asked and how it is judged.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from deploy.commands.dashboards_source import add_source, given
from serving.console import Console
from serving.errors import EXIT_FAILED, EXIT_OK


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare which Prometheus, which deployment and which time."""
    add_source(parser, span="5m")
    parser.add_argument(
        "--run",
        metavar="DIR",
        type=Path,
        help="a run of the load generator: look at its time, and compare its numbers with Prometheus'",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Ask for all panels, print the report, and exit 1 where one does not pass."""
    from dashboards.agreement import Comparison
    from dashboards.answers import DEPLOYMENT, span_until, the_deployment
    from dashboards.boards import BOARDS
    from dashboards.check import agreement, check
    from dashboards.check_report import Report, document, text
    from dashboards.query import Prometheus
    from deploy.client_view import client_view

    prometheus, choices = Prometheus(args.prometheus), given(args)
    view = client_view(args.run) if args.run else None
    span = span_until(prometheus, time.time(), args.range)
    comparisons: tuple[Comparison, ...] = ()
    if view is not None:
        _settle(view.settled_s(span.scrape_s), console)
        span = span_until(prometheus, view.ended_s, max(args.range, view.ended_s - view.began_s))
        deployment = choices.get(DEPLOYMENT) or the_deployment(prometheus, span)
        comparisons = agreement(prometheus, view, deployment, span.scrape_s)
    boards = check(prometheus, BOARDS, span, choices, console.progress)
    report = Report(prometheus.url, span, prometheus.targets(), boards, comparisons)
    console.document(document(report))
    console.result(text(report))
    return EXIT_OK if report.good else EXIT_FAILED


def _settle(until_s: float, console: Console) -> None:
    """Wait until Prometheus has seen the end of a run that ended just now."""
    left_s = until_s - time.time()
    if left_s > 0:
        console.say(f"waiting {left_s:.0f} s until the end of the run is scraped")
        time.sleep(left_s)
