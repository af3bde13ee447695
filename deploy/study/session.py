"""One study from its file to its summary: what `teapot study run` and `teapot diagnose --verify` call.

Owns: making or finding the folder, going on with one, remembering costs, and that there are a summary and a
page however it ended. Knows nothing about command lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.running import run as run_until_signal
from deploy.study.conclude import conclude
from deploy.study.estimate import start_key
from deploy.study.folder import StudyFolder
from deploy.study.history import History
from deploy.study.judge import Judge
from deploy.study.making import Made, make_design
from deploy.study.reading import Study, study_of
from deploy.study.real import RealWorld
from deploy.study.report.writing import write_report
from deploy.study.results import Summary
from deploy.study.rows import QUALITIES, QUALITY, PlannedCell, PlannedStart
from deploy.study.run import Marker, Runner
from deploy.study.world import World
from serving.config.document import Document
from serving.console import Console
from serving.errors import Failed, TeapotError, UsageError
from serving.gateway import loop


@dataclass(slots=True)
class Session:
    """A study, the folder it is run in, and how that went."""

    study: Study
    console: Console
    judge: Judge = field(default_factory=Judge.here)
    world: World | None = None
    """None: this machine's engines."""
    mark: Marker = lambda kind, text: None
    detail: Callable[[str], None] = lambda line: None

    @property
    def history(self) -> History:
        """What this machine remembers of costs."""
        return History(self.judge.folder.state / "studies.jsonl")

    def made(self, *, within_budget: bool = True) -> Made:
        """The design. Raises: UsageError."""
        return make_design(self.study, self.judge, self.history.costs(), within_budget=within_budget)

    def begin(self, out: Path) -> tuple[StudyFolder, Made]:
        """Design it, and make its folder. Raises: TeapotError."""
        made = self.made()
        folder = StudyFolder(out)
        folder.create(made.design)
        return folder, made

    def resume(self, out: Path) -> tuple[StudyFolder, Made]:
        """The design of a folder whose study was broken off. Raises: UsageError if it is another study's."""
        folder = StudyFolder(out)
        design = folder.design()
        if design.fingerprint != self.study.fingerprint():
            raise UsageError(
                "this folder's study measures something else than this file says now",
                where=str(out),
                fix="undo the change of the file, or give another --out",
            )
        # A part of the work is done, so whether the whole would fit is no question any more.
        return folder, Made(design, self.made(within_budget=False).pace)

    def run(self, folder: StudyFolder, made: Made) -> tuple[int, Summary]:
        """Run what is not done, and conclude; the exit code is 0, 3 (something is missing or not valid) or a
        signal's.

        Raises: Failed where another process runs it, or the disk takes no more; the summary is then of what
        there is, if it has room.
        """
        with folder.held():
            return self._run(folder, made)

    def _run(self, folder: StudyFolder, made: Made) -> tuple[int, Summary]:
        runner = Runner(
            study=self.study,
            design=made.design,
            folder=folder,
            world=self.world or RealWorld(self.study.beside, self.detail),
            pace=made.pace,
            say=self.console.say,
            mark=self.mark,
            remember=self._remember,
        )

        async def work(_: _Nothing) -> int:
            await runner.run()
            return 0

        try:
            code = loop.run(run_until_signal(_Nothing(), self.console, work))
        except BaseException:
            # A disk that ended the study may have no room for these either; why it ended is what counts.
            with suppress(TeapotError):
                _concluded(folder)
            raise
        summary = _concluded(folder)
        if code:
            return code, summary
        return summary.exit_code, summary

    def _remember(self, what: PlannedStart | PlannedCell, took_s: float) -> None:
        read = self.study.arm(what.arm)
        if isinstance(what, PlannedStart):
            self.history.start(start_key(read.deployment, self.judge.device(read.deployment)), took_s)
        elif what.workload in QUALITIES:
            self.history.cell(read.deployment.model, QUALITY, took_s)
        else:
            workload = self.study.workloads[what.workload]
            self.history.cell(read.deployment.model, workload.fingerprint(), took_s)


def _concluded(folder: StudyFolder) -> Summary:
    summary = conclude(folder)
    write_report(folder)
    return summary


class _Nothing:
    """What comes up and goes down around a study: nothing, for its starts do that themselves."""

    async def up(self) -> None:
        """Nothing to do."""

    async def ended(self) -> Failed:
        """Never."""
        await asyncio.Event().wait()
        raise AssertionError

    async def down(self) -> None:
        """Nothing to do."""


def run_document(
    data: Mapping[str, Any],
    *,
    beside: Path,
    out: Path,
    console: Console,
    world: World | None = None,
    name: str = "study",
) -> tuple[int, Summary]:
    """Run a study that is no file: `data` is what its file would hold, and paths in it are from `beside`.

    Exit code and summary as of `Session.run`. Raises: TeapotError.
    """
    session = Session(study_of(Document(name, dict(data), {}), beside), console, world=world)
    return session.run(*session.begin(out))
