"""Runs a study: start by start, cell by cell, each on the disk before the next.

Owns: the order, what is a row and what is an end, what is said while it runs. Knows nothing about engines or
load generators (`world`), nor what the numbers mean (`summarize`).

A start or a cell that fails is a row. Only three things end a study early, each resumable: a signal, a budget
that is used up, a disk that takes no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from deploy.running import first_of
from deploy.study import journal
from deploy.study.counting import many
from deploy.study.disk import DiskEnd, disk_end, free_bytes, require_room
from deploy.study.estimate import Pace, Remaining
from deploy.study.folder import StudyFolder
from deploy.study.journal import Journal
from deploy.study.measured import cell_measured
from deploy.study.reading import Study
from deploy.study.rows import QUALITIES, CellRow, Design, PlannedCell, PlannedStart, StartRow
from deploy.study.world import Times, Up, World
from deploy.verdicts import WORDS
from loadgen.workload import Workload
from serving.config.units import format_duration
from serving.errors import Failed, TeapotError

LIVES = 2
"""An engine that dies within a start is brought up once more for the cells that are left."""
BACK_WITHIN_S = 180.0
"""An engine that failed is started again by its supervisor; so long a cell waits for it."""
POLL_S = 0.5
Ended = Literal["complete", "out of budget"]
What = Literal["study", "start", "cell"]
Marker = Callable[[What, str], None]


@dataclass(slots=True, kw_only=True)
class Runner:
    """One run, or the going on with one, of a study whose folder is made. `run` once."""

    study: Study
    design: Design
    folder: StudyFolder
    world: World
    pace: Pace
    say: Callable[[str], None]
    mark: Marker = lambda kind, text: None
    remember: Callable[[PlannedStart | PlannedCell, float], None] = lambda what, took_s: None
    """Told what each start (with its end) and each cell took."""
    times: Times = field(default_factory=Times)
    free: Callable[[Path], int] = free_bytes
    _journal: Journal = field(init=False)
    _remaining: Remaining = field(init=False)
    _done: set[str] = field(default_factory=set)
    """Cells that need not be run: done before, or tried now."""
    _began: float = 0.0

    def __post_init__(self) -> None:
        self._journal = Journal(self.folder.journal_path)
        self._remaining = Remaining(self.pace)

    async def run(self) -> Ended:
        """Run what is not done. Raises: DiskEnd where the disk takes no more."""
        self._began = self.times.monotonic()
        # What the journal calls done and whose row is gone (a folder that was copied in part) is run again.
        done = self._journal.done()
        self._done = {
            cell.id for cell in self.design.cells if cell.id in done and self.folder.cell_file(cell).exists()
        }
        try:
            self._note(journal.RESUMED if self._done else journal.BEGUN)
            self.mark("study", f"study {self.design.name} begins: {many(len(self.design.cells), 'cell')}")
            ended = await self._all()
            self._note(journal.DONE if ended == "complete" else journal.OUT_OF_BUDGET)
            self.mark("study", f"study {self.design.name} ends: {ended}")
            return ended
        except asyncio.CancelledError:
            self._last_note(journal.INTERRUPTED)
            self.say(f"interrupted with {many(len(self._left()), 'cell')} to go; --resume goes on with them")
            raise
        except DiskEnd as error:
            self._last_note(journal.STOPPED, error=str(error))
            raise
        except OSError as error:
            end = disk_end(error, self.folder.path)
            self._last_note(journal.STOPPED, error=str(end))
            raise end from error

    async def _all(self) -> Ended:
        for start in self.design.starts:
            for _ in range(LIVES):
                cells = [cell for cell in start.cells if cell.id not in self._done]
                if not cells:
                    break
                if self._out_of_budget():
                    self.say(f"the budget is used up with {many(len(self._left()), 'cell')} to go")
                    return "out of budget"
                if not await self._life(start, cells):
                    break
        return "complete"

    async def _life(self, start: PlannedStart, cells: Sequence[PlannedCell]) -> bool:
        """One life of an engine, with as many cells as it lasts; False where it did not come up."""
        arm = self.study.arm(start.arm)
        self._enough_room()
        self.say(f"[{start.number}/{len(self.design.starts)}] {start.arm}: starting ({self._to_go()})")
        self.mark("start", f"{start.arm} starts")
        row = StartRow(start=start.number, arm=start.arm, state="up", began=self.times.stamp())
        began, took, inside = self.times.monotonic(), None, 0.0
        try:
            async with self.world.up(arm) as up:
                took = self.times.monotonic() - began
                row = _told(row, up, took)
                self.folder.write_start(start, row)
                self._note(journal.START_UP, start=start.number, arm=start.arm, took_s=round(took, 3))
                self._note(
                    journal.PROVEN, start=start.number, modes=[m.kind for m in row.verdicts if m.in_effect]
                )
                self.say(f"  ready after {format_duration(took)}{_proven(row)}")
                inside = await self._cells(up, cells)
        except DiskEnd:
            raise
        except TeapotError as error:
            if took is None:
                self._failed(start, row, error)
                return False
            # It served, and did not go down as it should: the cells have said so, or it is said here.
            row = replace(row, error=str(error))
            self.say(f"  {start.arm}: {error}")
        whole = self.times.monotonic() - began
        down = whole - (took or 0.0) - inside
        self.folder.write_start(start, replace(row, state="ended", down_s=down))
        self._note(journal.START_DOWN, start=start.number, down_s=round(down, 3))
        self._remaining.start_took(start, whole - inside)
        self.remember(start, whole - inside)
        return True

    def _failed(self, start: PlannedStart, row: StartRow, error: TeapotError) -> None:
        tail = self.world.log_tail(self.study.arm(start.arm))
        failed = replace(row, state="failed", error=str(error), log_tail=tail)
        self.folder.write_start(start, failed)
        self._note(journal.START_FAILED, start=start.number, arm=start.arm, error=str(error))
        self.mark("start", f"{start.arm} did not start")
        self.say(f"  {start.arm} did not start, and that is a row: {error}")

    async def _cells(self, up: Up, cells: Sequence[PlannedCell]) -> float:
        """Seconds that the cells took. Ends early where the engine has."""
        ended = asyncio.create_task(up.ended())
        began = self.times.monotonic()
        try:
            for cell in cells:
                if ended.done():
                    break
                self._enough_room()
                await self._cell(up, cell, ended)
                if self._out_of_budget():
                    break
        finally:
            ended.cancel()
            await asyncio.gather(ended, return_exceptions=True)
        return self.times.monotonic() - began

    async def _cell(self, up: Up, cell: PlannedCell, ended: asyncio.Task[Failed]) -> None:
        self.folder.set_aside(cell)
        self.folder.cell_folder(cell).mkdir(parents=True)
        self.mark("cell", f"{cell.arm} · {cell.workload} · block {cell.block}")
        began, stamp = self.times.monotonic(), self.times.stamp()
        error: str | None = None
        try:
            await self._unless(ended, self._measure(up, cell))
        except TeapotError as failed:
            error = str(failed)
        took = self.times.monotonic() - began
        row = CellRow(
            cell=cell.id,
            start=cell.start,
            arm=cell.arm,
            block=cell.block,
            workload=cell.workload,
            state="failed" if error else "done",
            began=stamp,
            took_s=took,
            error=error,
        )
        row = cell_measured(row, self.folder)
        self.folder.write_cell(cell, row)
        event = journal.CELL_FAILED if row.error else journal.CELL_DONE
        self._note(event, cell=cell.id, took_s=round(took, 3))
        self._done.add(cell.id)
        if row.error is None:
            self._remaining.cell_took(cell, took)
            self.remember(cell, took)
        self.say(f"  {cell.id}: {self._came_to(row)}; {self._to_go()}")

    async def _measure(self, up: Up, cell: PlannedCell) -> None:
        await self._back(up)
        if cell.workload in QUALITIES:
            self.folder.write_quality(cell, await self.world.quality(up))
            return
        workload = seeded(self.study.workloads[cell.workload], cell.block)
        await self.world.load(up, workload, self.folder.load(cell).path)

    async def _back(self, up: Up) -> None:
        waited = self.times.monotonic()
        while not up.ready():
            if self.times.monotonic() - waited > BACK_WITHIN_S:
                raise Failed(f"its engine was not back within {format_duration(BACK_WITHIN_S)}")
            await asyncio.sleep(POLL_S)

    async def _unless(self, ended: asyncio.Task[Failed], work: Coroutine[Any, Any, None]) -> None:
        """Do the work, unless the engine ends before. Raises: what the work raises, Failed."""
        doing = asyncio.create_task(work)
        try:
            await first_of(doing, ended)
            if not doing.done():
                raise ended.result()
            doing.result()
        finally:
            doing.cancel()
            await asyncio.gather(doing, return_exceptions=True)

    def _came_to(self, row: CellRow) -> str:
        if row.error:
            return f"failed, and that is a row: {row.error}"
        summary = self.folder.load_summary(row) if row.workload not in QUALITIES else None
        if summary is None:
            return f"done in {format_duration(row.took_s)}"
        rate = summary.get("output_tokens_per_s")
        doubt = "" if row.valid else f" (not valid: {'; '.join(row.reasons)})"
        shown = "no output tokens" if rate is None else f"{rate:.1f} output tokens/s"
        return f"{shown} in {format_duration(row.took_s)}{doubt}"

    def _left(self) -> list[PlannedCell]:
        return [cell for cell in self.design.cells if cell.id not in self._done]

    def _to_go(self) -> str:
        left = self._left()
        begun = {cell.start for cell in self.design.cells} - {cell.start for cell in left}
        starts = [s for s in self.design.starts if s.number not in begun and s.cells[0].id not in self._done]
        return f"{many(len(left), 'cell')}, about {format_duration(self._remaining.of(starts, left))} to go"

    def _out_of_budget(self) -> bool:
        budget = self.design.budget_s
        return budget is not None and self.times.monotonic() - self._began >= budget

    def _enough_room(self) -> None:
        require_room(self.free(self.folder.path), self.folder.path)

    def _last_note(self, event: str, **more: object) -> None:
        # A disk that is full may not take this line either; why the study ends is said all the same.
        with suppress(OSError):
            self._note(event, **more)

    def _note(self, event: str, **more: object) -> None:
        self._journal.note(event, self.times.stamp(), **more)


def seeded(workload: Workload, block: int) -> Workload:
    """Other prompts in every block, the same for all arms of a block."""
    return workload.model_copy(update={"seed": workload.seed + block - 1})


def _told(row: StartRow, up: Up, took_s: float) -> StartRow:
    return replace(
        row,
        took_s=took_s,
        verdicts=up.verdicts,
        cache_config=dict(up.cache_config),
        weights_bytes=up.weights_bytes,
        kv_cache_tokens=up.kv_cache_tokens,
        kv_cache_bytes=up.kv_cache_bytes,
        engines=max(1, len(up.engine_urls)),
        logs=up.logs,
    )


def _proven(row: StartRow) -> str:
    shown = ", ".join(f"{mode.kind} {WORDS[mode.in_effect]}" for mode in row.verdicts)
    return f": {shown}" if shown else ""
