"""From a study's rows to its summary: every measure by arm and workload, every ratio, and what is missing.

Owns: which cells count for which number. Knows nothing about files, formulas of predictions (`predict`) or
words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from deploy.study.measures import BY_NAME, MEASURES, START_MEASURES, Seen
from deploy.study.results import ArmResult, ArmState, Figure, Missing, Ratio, Row, Tag
from deploy.study.rows import Arm, CellRow, Design, StartRow
from deploy.study.statistics import Interval, exact, mean, paired, ratio

START_ID = "start {:03d}"


@dataclass(frozen=True, slots=True)
class Values:
    """A measure's values of one arm under one workload, by block, with where each is from."""

    arm: str
    workload: str | None
    measure: str
    by_block: Mapping[int, float]
    cells: tuple[str, ...]
    tag: Tag = "measured"


def values_of(design: Design, starts: Sequence[StartRow], seen: Sequence[Seen]) -> list[Values]:
    """Everything that was measured, in the order of arms, workloads and measures."""
    found: list[Values] = []
    for arm in design.arms:
        found += _of_starts(design, arm, [row for row in starts if row.arm == arm.name])
        for workload in design.workloads:
            cells = [one for one in seen if (one.cell.arm, one.cell.workload) == (arm.name, workload)]
            for measure in MEASURES:
                got = {one.cell.block: (one.cell.cell, measure.of(one)) for one in cells}
                told = {block: (cell, value) for block, (cell, value) in got.items() if value is not None}
                if told:
                    found.append(_values(arm.name, workload, measure.name, told))
    return found


def _of_starts(design: Design, arm: Arm, rows: Sequence[StartRow]) -> Iterator[Values]:
    first = {start.number: start.cells[0].block for start in design.starts if start.cells}
    up = any(row.state != "failed" for row in rows)
    for measure in START_MEASURES:
        got = {
            first[row.start]: (START_ID.format(row.start), measure.of(row))
            for row in rows
            if row.start in first
        }
        told = {block: (cell, value) for block, (cell, value) in got.items() if value is not None}
        if told:
            yield _values(arm.name, None, measure.name, told)
        elif measure.name == "weights_bytes" and arm.planned.weight_bytes and up:
            # Some engines do not tell: the files do, and the tag says that nobody measured it.
            projected = {min(first.values()): ("planner", float(arm.planned.weight_bytes))}
            yield _values(arm.name, None, measure.name, projected, tag="projected")


def _values(
    arm: str, workload: str | None, measure: str, told: Mapping[int, tuple[str, float]], tag: Tag = "measured"
) -> Values:
    blocks = sorted(told)
    by_block = {block: told[block][1] for block in blocks}
    return Values(arm, workload, measure, by_block, tuple(told[block][0] for block in blocks), tag)


def rows_of(values: Sequence[Values]) -> tuple[Row, ...]:
    """Each measure with its interval over repeats."""
    rows = []
    for each in values:
        measure, told = BY_NAME[each.measure], tuple(each.by_block.values())
        interval = _possible(exact(told) if measure.exact else mean(told), measure.unit)
        figure = figure_of(interval, measure.unit, each.tag, each.cells)
        rows.append(Row(arm=each.arm, workload=each.workload, measure=each.measure, figure=figure, each=told))
    return tuple(rows)


def _possible(interval: Interval, unit: str) -> Interval:
    """Cut where no rate, time or share can be: what is cut off never held the truth."""
    if interval.low is None or interval.high is None:
        return interval
    high = min(interval.high, 1.0) if unit == "ratio" else interval.high
    return replace(interval, low=max(interval.low, 0.0), high=high)


def ratios_of(design: Design, values: Sequence[Values]) -> tuple[Ratio, ...]:
    """Each measure over the control's, and over that of the arm it stands on."""
    known = {(each.arm, each.workload, each.measure): each for each in values}
    found = []
    for each in values:
        arm = design.arm(each.arm)
        for over in dict.fromkeys((design.control, arm.on)):
            other = None if over in (None, each.arm) else known.get((over, each.workload, each.measure))
            if other is not None and (made := _ratio(each, other, paired_in_time=not design.hold)):
                found.append(made)
    return tuple(found)


def _ratio(each: Values, other: Values, *, paired_in_time: bool) -> Ratio | None:
    measure = BY_NAME[each.measure]
    if measure.exact and each.workload is None:
        top, bottom = exact(tuple(each.by_block.values())), exact(tuple(other.by_block.values()))
        counted = top.low == top.high is not None and bottom.low == bottom.high is not None and bottom.value
        times = top.value / bottom.value if counted else 0.0
        found = Interval(times, times, times, min(top.n, bottom.n)) if counted else None
    else:
        found = ratio(paired(each.by_block, other.by_block))
    if found is None:
        return None
    tag: Tag = "measured" if each.tag == other.tag == "measured" else "projected"
    return Ratio(
        arm=each.arm,
        over=other.arm,
        workload=each.workload,
        measure=each.measure,
        figure=figure_of(found, "x", tag, each.cells + other.cells),
        paired=paired_in_time,
        better=_better(found, measure.better),
    )


def _better(interval: Interval, side: str | None) -> bool | None:
    if side is None or interval.low is None or interval.high is None or interval.low <= 1 <= interval.high:
        return None
    return (interval.low > 1) == (side == "higher")


def figure_of(interval: Interval, unit: str, tag: Tag, cells: tuple[str, ...]) -> Figure:
    """An interval with what it is of."""
    return Figure(
        value=interval.value,
        low=interval.low,
        high=interval.high,
        n=interval.n,
        unit=unit,
        tag=tag,
        cells=cells,
    )


def arms_of(design: Design, starts: Sequence[StartRow], cells: Sequence[CellRow]) -> tuple[ArmResult, ...]:
    """What became of each arm."""
    return tuple(_arm(design, arm, starts, cells) for arm in design.arms)


def _arm(design: Design, arm: Arm, starts: Sequence[StartRow], cells: Sequence[CellRow]) -> ArmResult:
    lives = [row for row in starts if row.arm == arm.name]
    planned = [cell for cell in design.cells if cell.arm == arm.name]
    tried = [row for row in cells if row.arm == arm.name]
    done = [row for row in tried if row.state == "done"]
    up = [row for row in lives if row.state != "failed"]
    errors = [*(row.error for row in lives), *(row.error for row in tried)]
    reason = arm.ruled_out or next((error for error in errors if error), None)
    return ArmResult(
        name=arm.name,
        state=_state(arm, started=bool(lives), done=len(done), planned=len(planned)),
        reason=reason,
        model=arm.model,
        labels=arm.labels,
        on=arm.on,
        fragment=arm.fragment,
        modes=tuple(
            {"kind": m.kind, "asked": m.asked, "in_effect": m.in_effect, "evidence": m.evidence}
            for m in (up[-1].verdicts if up else ())
        ),
        starts=tuple(row.start for row in lives),
        cells_done=len(done),
        cells_planned=len(planned),
    )


def _state(arm: Arm, *, started: bool, done: int, planned: int) -> ArmState:
    if arm.ruled_out is not None:
        return "ruled out"
    if done == planned:
        return "done"
    return "partly" if done else "failed" if started else "not reached"


def missing_of(design: Design, starts: Sequence[StartRow], cells: Sequence[CellRow]) -> Iterator[Missing]:
    """Everything that did not give what it was to give, in the order of arms, starts and cells."""
    for arm in design.arms:
        if arm.ruled_out is not None:
            yield Missing(what="arm", id=arm.name, arm=arm.name, reason=f"not started: {arm.ruled_out}")
    tried = {row.cell: row for row in cells}
    lives = {row.start: row for row in starts}
    for start in design.starts:
        life = lives.get(start.number)
        if life is not None and life.state == "failed":
            yield Missing(
                what="start",
                id=start.folder,
                arm=start.arm,
                reason=life.error or "did not start",
                log_tail=life.log_tail,
            )
            continue
        for cell in start.cells:
            row = tried.get(cell.id)
            if row is None:
                yield Missing(what="cell", id=cell.id, arm=cell.arm, reason="not reached")
            elif row.state == "failed":
                yield Missing(what="cell", id=cell.id, arm=cell.arm, reason=row.error or "failed")
