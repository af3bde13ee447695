"""A study's folder: its files, how they are written and read (deploy/decisions/0011).

Owns: the names and places of the files. Knows nothing about what the numbers mean.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from deploy.study.quality_record import QualityRecord
from deploy.study.results import Summary
from deploy.study.rows import CellRow, Design, PlannedCell, PlannedStart, StartRow
from loadgen.run_folder import PART, RunFolder, write_whole
from serving.errors import Failed, UsageError

T = TypeVar("T")
_DERIVE = "free space (or copy the folder) and run `teapot study report` on it"
_COPY = "is the folder whole, and of this teapot's version? copy it again"


def _document(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"


def default_folder(name: str, now: datetime) -> Path:
    """`runs/<time>-study-<name>` below the working directory."""
    return Path("runs") / f"{now:%Y%m%d-%H%M%S}-study-{name}"


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """A folder with one study in it."""

    path: Path

    @property
    def journal_path(self) -> Path:
        """journal.jsonl"""
        return self.path / "journal.jsonl"

    @property
    def report_path(self) -> Path:
        """report.html"""
        return self.path / "report.html"

    def start_folder(self, start: PlannedStart) -> Path:
        """Where start.json of a start lies."""
        return self.path / "starts" / start.folder

    def cell_folder(self, cell: PlannedCell | CellRow) -> Path:
        """Where cell.json lies, `load/` and `quality.json` beside it."""
        return self.path / "cells" / (cell.id if isinstance(cell, PlannedCell) else cell.cell)

    def cell_file(self, cell: PlannedCell | CellRow) -> Path:
        """cell.json"""
        return self.cell_folder(cell) / "cell.json"

    def load(self, cell: PlannedCell | CellRow) -> RunFolder:
        """The load run of a cell."""
        return RunFolder(self.cell_folder(cell) / PART)

    def create(self, design: Design) -> None:
        """Make the folder and write study.json.

        Raises: UsageError if it holds a study already, Failed if it cannot be made.
        """
        if (self.path / "study.json").exists():
            fix = "give another --out, or go on with it by --resume"
            raise UsageError("this folder holds a study already", where=str(self.path), fix=fix)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._write(self.path / "study.json", asdict(design))
        except OSError as error:
            what = f"cannot write the folder: {error.strerror or error}"
            raise Failed(what, where=str(self.path), fix="give another --out") from error

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others from running it, as long as this process lives. Raises: Failed where one does."""
        descriptor = os.open(self.path / "study.json", os.O_RDONLY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                fix = "wait until it ends, or end it by Ctrl-C there"
                raise Failed("another process runs this study", where=str(self.path), fix=fix) from error
            yield
        finally:
            os.close(descriptor)

    def design(self) -> Design:
        """study.json. Raises: UsageError if there is none that can be read."""
        return self._read(self.path / "study.json", Design)

    def write_start(self, start: PlannedStart, row: StartRow) -> None:
        """Write start.json."""
        self._write(self.start_folder(start) / "start.json", asdict(row))

    def write_cell(self, cell: PlannedCell, row: CellRow) -> None:
        """Write cell.json."""
        self._write(self.cell_file(cell), asdict(row))

    def write_quality(self, cell: PlannedCell, record: Mapping[str, Any]) -> None:
        """Write the quality record of a cell."""
        self._write(self.cell_folder(cell) / "quality.json", record)

    def starts(self, design: Design) -> tuple[StartRow, ...]:
        """What is there of the starts, in their order. Raises: UsageError."""
        files = (self.start_folder(start) / "start.json" for start in design.starts)
        return tuple(self._read(file, StartRow) for file in files if file.exists())

    def cells(self, design: Design) -> tuple[CellRow, ...]:
        """What is there of the cells, in their order. Raises: UsageError."""
        found = ((cell, self.cell_file(cell)) for cell in design.cells)
        return tuple(self._cell(cell, file) for cell, file in found if file.exists())

    def load_summary(self, cell: PlannedCell | CellRow) -> Mapping[str, Any] | None:
        """The summary of a cell's load run; None where it has none."""
        run = self.load(cell)
        return run.summary() if (run.path / "summary.json").exists() else None

    def quality(self, cell: PlannedCell | CellRow) -> QualityRecord | None:
        """The quality record of a cell; None where it has none. Raises: UsageError."""
        file = self.cell_folder(cell) / "quality.json"
        if not file.exists():
            return None
        return QualityRecord.from_json(self._read(file, dict[str, Any]), str(file))

    def set_aside(self, cell: PlannedCell) -> None:
        """Move what a broken-off cell left out of the way of its second try."""
        there = self.cell_folder(cell)
        if there.exists():
            number = 1
            while (aside := there.with_name(f"{there.name}.broken-off-{number}")).exists():
                number += 1
            there.rename(aside)

    def write_summary(self, summary: Summary) -> None:
        """Write summary.json. Raises: Failed."""
        self._derive(self.path / "summary.json", _document(asdict(summary)))

    def write_report(self, page: str) -> None:
        """Write report.html. Raises: Failed."""
        self._derive(self.report_path, page)

    def summary(self) -> Summary:
        """summary.json. Raises: UsageError if there is none that can be read."""
        return self._read(self.path / "summary.json", Summary)

    def _cell(self, cell: PlannedCell, file: Path) -> CellRow:
        row = self._read(file, CellRow)
        if (row.cell, row.arm, row.workload) != (cell.id, cell.arm, cell.workload):
            what = f"is of the cell {row.cell} ({row.arm}, {row.workload}) and lies at that of {cell.id}"
            raise UsageError(what, where=str(file), fix=_COPY)
        return row

    def _write(self, file: Path, value: Any) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, _document(value))

    def _derive(self, file: Path, text: str) -> None:
        """Write what can be made anew from the other files."""
        try:
            write_whole(file, text)
        except OSError as error:
            what = f"cannot be written: {error.strerror or error}"
            raise Failed(what, where=str(file), fix=_DERIVE) from error

    def _read(self, file: Path, kind: type[T]) -> T:
        try:
            return TypeAdapter(kind).validate_json(file.read_bytes())
        except FileNotFoundError:
            fix = "give the folder of a study, such as `teapot study run` makes"
            raise UsageError(f"there is no {file.name}", where=str(file.parent), fix=fix) from None
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = re.sub(r"\.(\d+)", r"[\1]", ".".join(map(str, first["loc"])))
            what = f"is not what a study writes: {first['msg']}"
            raise UsageError(what, where=f"{file}: {key}" if key else str(file), fix=_COPY) from None
        except OSError as error:
            raise UsageError(f"cannot be read: {error.strerror}", where=str(file)) from None
