"""From a study's folder to its summary, as often as wanted.

Owns: what is read for it, and what limits the whole. Knows nothing about running: it reruns on any folder,
also on one whose study was broken off.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from deploy.study.folder import StudyFolder
from deploy.study.journal import Journal
from deploy.study.measures import Seen
from deploy.study.predict import Found, predictions
from deploy.study.quality_compare import compare
from deploy.study.results import Missing, Summary
from deploy.study.rows import QUALITIES, QUALITY, CellRow, Design, StartRow
from deploy.study.summarize import arms_of, missing_of, ratios_of, rows_of, values_of
from deploy.study.words import words
from serving.errors import TeapotError

MOST_DOUBTS = 10


def conclude(folder: StudyFolder) -> Summary:
    """Write summary.json from the rows that are there. Raises: UsageError where one cannot be read."""
    summary = summarize_folder(folder)
    folder.write_summary(summary)
    return summary


def summarize_folder(folder: StudyFolder) -> Summary:
    """Work out the summary of what is in the folder. Raises: UsageError."""
    design = folder.design()
    starts, cells = folder.starts(design), tuple(_kept(folder, row) for row in folder.cells(design))
    seen = list(_seen(folder, design, starts, cells))
    values = values_of(design, starts, seen)
    rows, ratios = rows_of(values), ratios_of(design, values)
    quality = _quality(folder, design, cells)
    summary = Summary(
        name=design.name,
        title=design.title,
        control=design.control,
        repeats=design.repeats,
        hold=design.hold,
        complete=len(cells) == len(design.cells) or _all_tried(design, starts, cells),
        arms=arms_of(design, starts, cells),
        workloads=design.workloads,
        rows=rows,
        ratios=ratios,
        predictions=predictions(Found(design, values, rows, ratios)),
        missing=(*missing_of(design, starts, cells), *quality.missing),
        quality=quality.verdicts,
        notes=(*_notes(design), *quality.notes),
        doubts=tuple(_doubts(cells)),
        cost=_cost(folder, design, starts, cells),
        versions=design.versions,
        machine=design.machine,
        seed=design.seed,
    )
    return replace(summary, words=words(summary))


def _kept(folder: StudyFolder, row: CellRow) -> CellRow:
    """A cell that is done counts only with its records: without them it would be missing in silence."""
    quality = row.workload in QUALITIES
    file = folder.cell_folder(row) / "quality.json" if quality else folder.load(row).path / "summary.json"
    if row.state != "done" or file.exists():
        return row
    gone = f"its {file.relative_to(folder.path)} is gone: is the folder whole?"
    return replace(row, state="failed", error=gone)


def _seen(
    folder: StudyFolder, design: Design, starts: Sequence[StartRow], cells: Sequence[CellRow]
) -> Iterator[Seen]:
    """The cells that count: done, with a load run."""
    lives = {row.start: row for row in starts}
    for row in cells:
        summary = folder.load_summary(row) if row.state == "done" else None
        if summary is not None:
            yield Seen(row, design.arm(row.arm), lives.get(row.start), summary)


def _all_tried(design: Design, starts: Sequence[StartRow], cells: Sequence[CellRow]) -> bool:
    """Every cell has a row, or its start has failed."""
    tried = {row.cell for row in cells}
    failed = {row.start for row in starts if row.state == "failed"}
    return all(cell.id in tried or cell.start in failed for cell in design.cells)


@dataclass(frozen=True, slots=True)
class _Quality:
    """What the quality records of a folder came to."""

    verdicts: tuple[Mapping[str, Any], ...] = ()
    """One an arm, against the control."""
    notes: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    """Records that cannot be held against the control's."""


def _quality(folder: StudyFolder, design: Design, cells: Sequence[CellRow]) -> _Quality:
    asked = [row for row in cells if row.workload in QUALITIES and row.state == "done"]
    records = {(row.arm, row.workload): (row, told) for row in asked if (told := folder.quality(row))}
    control, again = (records.get((design.control, name)) for name in QUALITIES)
    if control is None or again is None:
        note = "quality was not compared: the control was not asked twice"
        return _Quality(notes=(note,) if records else ())
    verdicts, missing = [], []
    for arm in design.arms:
        mine = again if arm.name == design.control else records.get((arm.name, QUALITY))
        if mine is None:
            continue
        row, record = mine
        try:
            verdict = compare(record, control[1], again[1]).to_json()
        except TeapotError as error:
            reason = f"its quality was not compared: {error}"
            missing.append(Missing(what="cell", id=row.cell, arm=arm.name, reason=reason))
            continue
        verdicts.append({**verdict, "against": verdict["arm"], "arm": arm.name, "block": 1})
    return _Quality(tuple(verdicts), missing=tuple(missing))


def _notes(design: Design) -> Iterator[str]:
    if design.repeats == 1:
        yield "one repeat: values have no intervals, and nothing is told from chance"
    if design.hold and design.repeats > 1:
        yield (
            "engines were held: an arm's repeats share one start, so an interval does not hold what differs"
            " from start to start"
        )


def _doubts(cells: Sequence[CellRow]) -> Iterator[str]:
    wrong = [row for row in cells if row.valid is False]
    for row in wrong[:MOST_DOUBTS]:
        yield f"{row.cell}: {'; '.join(row.reasons)}"
    if len(wrong) > MOST_DOUBTS:
        yield f"{len(wrong) - MOST_DOUBTS} more"


def _cost(
    folder: StudyFolder, design: Design, starts: Sequence[StartRow], cells: Sequence[CellRow]
) -> dict[str, float]:
    took = [row.took_s for row in starts if row.took_s is not None]
    cost = {
        "starts": float(len(starts)),
        "cells": float(len(cells)),
        "estimated_s": design.estimate.total_s,
        "wall_s": _wall_s(Journal(folder.journal_path)),
    }
    return {**cost, "start_mean_s": statistics.fmean(took)} if took else cost


def _wall_s(journal: Journal) -> float:
    """Of all sittings: from each begin or resumption to the last event before the next."""
    sittings: list[list[datetime]] = []
    for event in journal.events():
        at = datetime.fromisoformat(str(event["at"]))
        if str(event["event"]).startswith("study-") or not sittings:
            sittings.append([])
        sittings[-1].append(at)
    return sum((after - before).total_seconds() for s in sittings for before, after in pairwise(s))
