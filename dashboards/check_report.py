"""What is to be told of a check: all boards judged, what is scraped, and how it agrees with a client's view.

Owns: the report as values, as tables and as a document. Knows nothing about asking or judging.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dashboards.agreement import Comparison
from dashboards.judging import Verdict
from dashboards.samples import Target
from dashboards.steps import Span


@dataclass(frozen=True, slots=True)
class BoardReport:
    """A board's panels, judged, and the choices made for its variables."""

    uid: str
    title: str
    values: Mapping[str, str]
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All boards, what is scraped, and how it agrees with what a client measured (if that was asked)."""

    prometheus: str
    span: Span
    targets: tuple[Target, ...]
    boards: tuple[BoardReport, ...]
    comparisons: tuple[Comparison, ...] = ()

    @property
    def good(self) -> bool:
        """Whether every panel passes and every comparison agrees."""
        panels = all(verdict.good for board in self.boards for verdict in board.verdicts)
        return panels and all(comparison.agrees is not False for comparison in self.comparisons)


def text(report: Report) -> str:
    """The report as tables for people: a block a board, and last what is wrong."""
    up = sum(target.up for target in report.targets)
    head = f"{report.prometheus}: {up} of {len(report.targets)} targets up"
    down = [
        f"  down: {target.job} {target.url} ({target.error})" for target in report.targets if not target.up
    ]
    blocks = ["\n".join([head, *down])]
    for board in report.boards:
        rows = [(v.title, v.status, _range(v), v.detail) for v in board.verdicts]
        blocks.append(f"{board.title}\n" + table(("PANEL", "STATUS", "FROM .. TO", ""), rows))
    if report.comparisons:
        compared = [(c.what, c.where, c.client, c.server, c.word) for c in report.comparisons]
        blocks.append(table(("AGAINST THE RUN", "WHERE", "CLIENT", "PROMETHEUS", ""), compared))
    blame = [
        f"{board.title} / {v.title}: {v.status}: {v.detail}\n  {v.expression}"
        for board in report.boards
        for v in board.verdicts
        if not v.good
    ]
    return "\n\n".join([*blocks, *blame, summary(report)])


def summary(report: Report) -> str:
    """One line: how many panels are what."""
    verdicts = [verdict for board in report.boards for verdict in board.verdicts]
    by_status: dict[str, int] = {}
    for verdict in verdicts:
        by_status[verdict.status] = by_status.get(verdict.status, 0) + 1
    counts = ", ".join(f"{count} {status}" for status, count in by_status.items())
    differ = sum(comparison.agrees is False for comparison in report.comparisons)
    agree = sum(comparison.agrees is True for comparison in report.comparisons)
    against = f"; against the run {agree} agree, {differ} differ" if report.comparisons else ""
    return f"{len(verdicts)} panels of {len(report.boards)} boards: {counts}{against}"


def document(report: Report) -> dict[str, Any]:
    """The report as one JSON document."""
    boards = [
        {**asdict(board), "verdicts": [{**asdict(v), "good": v.good} for v in board.verdicts]}
        for board in report.boards
    ]
    return {**asdict(report), "boards": boards, "good": report.good, "summary": summary(report)}


def _range(verdict: Verdict) -> str:
    if verdict.lowest is None or verdict.highest is None:
        return ""
    return f"{verdict.lowest:.4g} .. {verdict.highest:.4g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as what is in them."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)
    )
    return "\n".join(line.rstrip() for line in lines)
