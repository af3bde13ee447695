"""A table: a row for each set of labels, a column for each label or number that the panel shows.

Owns: how rows are put together and drawn. On the list of those that are not pure, as it draws with
matplotlib. Knows nothing about other kinds of panels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dashboards.judging import Answer
from dashboards.panels import Column, Panel, ref
from dashboards.preview.canvas import EDGE, FAINT, Canvas
from dashboards.preview.grid import Box
from dashboards.preview.lines import COLORS, TEXT
from dashboards.preview.numbers import number

ROW = 28
VALUE = "Value"


@dataclass(frozen=True, slots=True)
class Row:
    """One set of labels, and the value of each query that has it."""

    labels: Mapping[str, str]
    values: dict[str, float] = field(default_factory=dict)


def rows(answers: Sequence[Answer]) -> tuple[Row, ...]:
    """The answers merged by their labels; a value is `Value`, with several queries `Value #A`."""
    merged: dict[tuple[tuple[str, str], ...], Row] = {}
    for index, answer in enumerate(answers):
        name = VALUE if len(answers) == 1 else f"{VALUE} #{ref(index)}"
        for series in answer.series:
            points = series.finite()
            if points:
                row = merged.setdefault(tuple(sorted(series.labels.items())), Row(series.labels))
                row.values[name] = points[-1][1]
    return tuple(merged.values())


def cell(column: Column, panel: Panel, row: Row) -> tuple[str, str]:
    """What stands in a cell, and its colour."""
    value = row.values.get(column.label)
    if value is None:
        return row.labels.get(column.label, ""), TEXT
    for said, text, color in column.words or panel.words:
        if said == value:
            return text, COLORS[color]
    decimals = panel.decimals if column.decimals is None else column.decimals
    return number(value, column.unit or panel.unit, decimals), TEXT


def draw_table(canvas: Canvas, box: Box, panel: Panel, answers: Sequence[Answer]) -> None:
    """Draw as many rows as there is room for, and say how many more there are."""
    found = rows(answers)
    columns = panel.columns or tuple(Column(label=name, title=name) for name in _labels(found))
    fit = max(1, int((box.height - ROW) / ROW))
    cut = len(found) > fit
    visible = found[: fit - 1] if cut and fit > 1 else found[:fit]
    cells = [[cell(column, panel, row) for column in columns] for row in visible]
    widths = _widths(canvas, box.width - 20, columns, cells)
    x = box.x + 10
    for index, column in enumerate(columns):
        title = canvas.fitted(column.title, widths[index] - 10, 12, "bold")
        canvas.text(x, box.y + ROW / 2, title, color=FAINT, weight="bold")
        for number_, line in enumerate(cells, start=1):
            words, color = line[index]
            y = box.y + ROW * (number_ + 0.5)
            canvas.text(x, y, canvas.fitted(words, widths[index] - 10, 12), color=color)
        x += widths[index]
    for number_ in range(1, len(cells) + 1):
        canvas.rectangle(Box(box.x + 10, box.y + ROW * number_, box.width - 20, 1), EDGE)
    if cut:
        y = box.y + ROW * (len(cells) + 1.5)
        canvas.text(box.x + 10, y, f"and {len(found) - len(cells)} more rows", px=11, color=FAINT)


def _widths(
    canvas: Canvas, room: float, columns: Sequence[Column], cells: Sequence[Sequence[tuple[str, str]]]
) -> list[float]:
    """As wide as what is in them, in proportion where that is more or less than there is."""
    wanted = [
        max(canvas.width(column.title, 12, "bold"), *(canvas.width(line[index][0], 12) for line in cells))
        + 16
        for index, column in enumerate(columns)
    ]
    return [want * room / sum(wanted) for want in wanted]


def _labels(found: Sequence[Row]) -> list[str]:
    names = sorted({name for row in found for name in row.labels if name != "__name__"})
    return names + sorted({name for row in found for name in row.values})
