"""What levers gained where they were measured on this machine: predicted beside measured, a line a measure.

Owns: the file, and its words beside a new prediction. Knows nothing about how a lever is measured (`verify`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deploy.diagnose.predict import NAMES, OUTPUT, TPOT
from serving.errors import Failed, UsageError

FILE = "calibration.jsonl"
WIDE = 1.5
"""An interval whose ends are further apart, one over the other, overlaps with nearly every prediction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One measure of one lever. Ratios are of now to then, above 1 where it is better."""

    at: str
    """UTC."""
    lever: str
    model: str
    fragment: Mapping[str, Any]
    measure: str
    predicted_low: float | None
    predicted_high: float | None
    """None where nothing was predicted."""
    measured: float
    measured_low: float | None
    measured_high: float | None
    """None with one repeat."""
    repeats: int
    study: str
    """The study's folder."""
    machine: str = ""

    @property
    def held(self) -> bool | None:
        """Whether the prediction and the measured interval overlap.

        None where nothing was predicted, or where the interval is too wide (or there is none) to decide.
        """
        if self.predicted_low is None or self.predicted_high is None:
            return None
        if self.measured_low is None or self.measured_high is None:
            return None
        if self.measured_high < self.predicted_low or self.predicted_high < self.measured_low:
            return False
        return True if self.measured_high <= WIDE * self.measured_low else None

    def words(self) -> str:
        """For people."""
        interval = (
            f" [{self.measured_low:.2f}, {self.measured_high:.2f}]"
            if self.measured_low is not None and self.measured_high is not None
            else ", one repeat"
        )
        predicted = (
            f"; predicted {self.predicted_low:.2f}x to {self.predicted_high:.2f}x, {_HELD[self.held]}"
            if self.predicted_low is not None
            else "; nothing was predicted"
        )
        return f"{NAMES.get(self.measure, self.measure)} {self.measured:.2f}x{interval}{predicted}"


_HELD = {True: "which held", False: "which was wrong", None: "which so few repeats do not decide"}


@dataclass(frozen=True, slots=True)
class Tried:
    """The file of trials in a folder of this machine's state."""

    folder: Path

    def read(self) -> tuple[Trial, ...]:
        """All trials, the oldest first. Raises: UsageError for a line that is none."""
        path = self.folder / FILE
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot be read: {error}", where=str(path), fix="move it away") from None
        found = []
        for number, line in enumerate(lines, 1):
            try:
                found.append(Trial(**json.loads(line)))
            except (ValueError, TypeError):
                raise UsageError(
                    "is no trial of a lever", where=f"{path}:{number}", fix="take the line out"
                ) from None
        return tuple(found)

    def add(self, trials: Iterable[Trial]) -> Path:
        """Write more behind them. Raises: Failed where the disk says no."""
        path = self.folder / FILE
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # A line that a full disk cut must not swallow the next.
            cut = path.exists() and path.read_bytes()[-1:] not in (b"", b"\n")
            with path.open("a", encoding="utf-8") as file:
                file.write("\n" if cut else "")
                file.writelines(json.dumps(asdict(trial)) + "\n" for trial in trials)
        except OSError as error:
            raise Failed(f"cannot be written: {error.strerror}", where=str(path)) from error
        return path

    def words(self, model: str) -> Mapping[str, tuple[str, ...]]:
        """Of each lever that was tried with this model here: its last verification."""
        return {
            lever: tuple(f"{trial.words()} ({trial.at[:10]})" for trial in trials)
            for lever, trials in self._last(model).items()
        }

    def lost(self, model: str) -> Mapping[str, str]:
        """Levers whose last verification with this model found no speed better and one worse."""
        found = {}
        for lever, trials in self._last(model).items():
            speeds = [trial for trial in trials if trial.measure in (OUTPUT, TPOT)]
            worse = [trial for trial in speeds if trial.measured_high is not None and trial.measured_high < 1]
            if worse and not any((trial.measured_low or 0.0) > 1 for trial in speeds):
                found[lever] = f"it lost when it was measured here: {worse[0].words()}"
        return found

    def _last(self, model: str) -> Mapping[str, list[Trial]]:
        last: dict[str, list[Trial]] = {}
        for trial in self.read():
            if trial.model == model:
                before = last.get(trial.lever, [])
                last[trial.lever] = [each for each in before if each.study == trial.study] + [trial]
        return last
