"""The run folder: its files, and how they are written and read.

Owns: the names of the files, the manifest and the account of the sending. Knows nothing about what
the numbers mean. See deploy/decisions/0002.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from loadgen.records import Planned, RequestRecord
from loadgen.server_metrics import ServerSample
from serving.errors import Failed, UsageError

MANIFEST_SCHEMA = 1
PART = "load"
"""The folder of a run that is a part of something larger."""
_COPY = "is the folder whole, and of this teapot's version? copy it again"
T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was asked for, of whom, and with what: enough to run it again and to trust the comparison."""

    name: str
    started: str
    """Wall clock in UTC, for people."""
    workload: Mapping[str, Any]
    """Normalized: every field with its default, units in seconds."""
    fingerprint: str
    seed: int
    salt: str
    target: str
    """Without credentials."""
    model: str
    metrics_urls: tuple[str, ...]
    exact_prompts: bool
    """Whether lengths were made with the target's own tokenizer before the run."""
    continuous_usage: bool
    clock: Mapping[str, int]
    """The origin of all stamps: `perf_counter_ns` and `unix_ns` of the same moment."""
    versions: Mapping[str, str]
    machine: Mapping[str, Any]
    cache_config: Mapping[str, str] = field(default_factory=dict)
    planned: Mapping[str, Any] = field(default_factory=dict)
    """What the measured requests will ask of the server (`loadgen.expectations`)."""
    schema: int = MANIFEST_SCHEMA


@dataclass(frozen=True, slots=True)
class Account:
    """How the sending went: dispatch.json, written by the process that sent."""

    measure_start_ns: int
    """On the records' clock."""
    ended: str
    sent: int
    cpu_ratio: float
    """Share of one core that the sending process used during the measured phase (not the reading one's)."""
    cpu_s: float = 0.0
    """The CPU time behind `cpu_ratio`, of all sending processes."""
    reading_s: float = 0.0
    """How long the reading of ended streams went on after the last one had ended."""
    workers: int = 1
    """Sending processes. `cpu_ratio` is that of the busiest, `sent` that of all."""
    other_clocks: int = 0
    """Workers on other machines: only intervals within their records are exact."""


def write_whole(file: Path, text: str) -> None:
    """Write a file so that a reader sees all of it or none. Raises: OSError."""
    unfinished = file.with_name(f".{file.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(file)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A folder with one run in it."""

    path: Path

    @property
    def label(self) -> str:
        """What metrics call the run: its folder's name, or the name of what it is the part `load/` of."""
        return self.path.name if self.path.name != PART else self.path.absolute().parent.name

    @property
    def records_path(self) -> Path:
        """records.jsonl"""
        return self.path / "records.jsonl"

    @property
    def log_path(self) -> Path:
        """What the sending process said."""
        return self.path / "locust.log"

    def create(self) -> None:
        """Make the folder. Raises: UsageError if it holds a run already, Failed if it cannot be made."""
        if (self.path / "manifest.json").exists():
            raise UsageError(
                "this folder holds a run already", where=str(self.path), fix="give another --out"
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Failed(
                f"cannot make the folder: {error}", where=str(self.path), fix="give another --out"
            ) from error

    def write(self, name: str, text: str) -> None:
        """Write a file whole: a reader sees all of it or none."""
        write_whole(self.path / name, text)

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON document."""
        self.write(name, json.dumps(value, indent=1) + "\n")

    def prepare(self, manifest: Manifest, timetable: Iterable[Planned]) -> None:
        """Write what must be there before anything is sent; the manifest last."""
        self.write("timetable.jsonl", "".join(f"{planned.to_json()}\n" for planned in timetable))
        self.write_json("manifest.json", asdict(manifest))

    def manifest(self) -> Manifest:
        """Raises: UsageError if there is none that can be read."""
        return self._made("manifest.json", _manifest, self._json("manifest.json"))

    def timetable(self) -> tuple[Planned, ...]:
        """Every planned request. Raises: UsageError with the line that is none."""
        return self._rows("timetable.jsonl", Planned.from_json)

    def records(self) -> tuple[RequestRecord, ...]:
        """Every record so far; a last line that was cut off by a crash is left out. Raises: UsageError."""
        return self._rows("records.jsonl", RequestRecord.from_json) if self.records_path.exists() else ()

    def server_samples(self) -> tuple[ServerSample, ...]:
        """What was read of the servers; empty where nothing was. Raises: UsageError."""
        there = (self.path / "server.jsonl").exists()
        return self._rows("server.jsonl", ServerSample.from_json) if there else ()

    def account(self) -> Account | None:
        """None where the sending process did not come to its end. Raises: UsageError."""
        if not (self.path / "dispatch.json").exists():
            return None
        return self._made("dispatch.json", lambda row: Account(**row), self._json("dispatch.json"))

    def live(self) -> dict[str, Any] | None:
        """The figures of a run under way (`loadgen.live_view`); None before the first."""
        return self._json("live.json") if (self.path / "live.json").exists() else None

    def summary(self) -> dict[str, Any]:
        """The summary as it was written."""
        return self._json("summary.json")

    def of_summary(self, read: Callable[[dict[str, Any]], T]) -> T:
        """What `read` makes of the summary. Raises: UsageError where it lacks what a run's summary has."""
        return self._made("summary.json", read, self.summary())

    def _json(self, name: str) -> dict[str, Any]:
        try:
            row: dict[str, Any] = json.loads(self._text(name))
        except ValueError as error:
            raise UsageError(
                f"not a JSON document: {error}", where=str(self.path / name), fix=_COPY
            ) from error
        if not isinstance(row, dict):
            raise UsageError("is not a JSON object", where=str(self.path / name), fix=_COPY)
        return row

    def _rows(self, name: str, read: Callable[[str], T]) -> tuple[T, ...]:
        # Not splitlines(): JSON strings may hold U+2028, which it takes for a line end.
        *whole, last = self._text(name).split("\n")
        lines = [*whole, last if last.endswith("}") else ""]
        return tuple(self._made(f"{name}:{n}", read, line) for n, line in enumerate(lines, 1) if line)

    def _made(self, name: str, read: Callable[[V], T], value: V) -> T:
        try:
            return read(value)
        except (KeyError, TypeError, ValueError) as error:
            what = f"is not what a run writes ({type(error).__name__}: {error})"
            raise UsageError(what, where=str(self.path / name), fix=_COPY) from error

    def _text(self, name: str) -> str:
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError) as error:
            fix = "give the folder of a run, such as `teapot load run` makes"
            raise UsageError(f"there is no {name}", where=str(self.path), fix=fix) from error
        except UnicodeDecodeError as error:
            raise UsageError("is not UTF-8 text", where=str(self.path / name), fix=_COPY) from error


def _manifest(row: dict[str, Any]) -> Manifest:
    return Manifest(**{**row, "metrics_urls": tuple(row["metrics_urls"])})


def first_free(path: Path) -> Path:
    """This path, or with -2, -3, ... the first that holds no run."""
    number, free = 1, path
    while (free / "manifest.json").exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
