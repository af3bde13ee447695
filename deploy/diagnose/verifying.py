"""Runs the A/B of a lever and keeps what came of it beside what was predicted.

Owns: which lever is tried, the study's folder, and the words of the outcome. Knows nothing about engines: the
study's runner brings them up, on ports of their own, beside whatever serves already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from deploy.diagnose.advice import Ranked
from deploy.diagnose.diagnosis import Diagnosis
from deploy.diagnose.question import Question
from deploy.diagnose.tried import Trial, Tried
from deploy.diagnose.verify import REPEATS, load_as_seen, study_document, trials_of
from deploy.study.results import Summary
from serving.console import Console
from serving.errors import InvalidMeasurement, UsageError

RunStudy = Callable[..., tuple[int, Summary]]
"""As `deploy.study.session.run_document`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be verified, and how."""

    lever: str | None = None
    """None: the one that comes next."""
    workload: str | None = None
    """A workload file; None: a load as it was seen."""
    repeats: int = REPEATS
    out: Path | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """What came of it."""

    lever: Ranked
    trials: tuple[Trial, ...]
    folder: Path
    kept: Path | None
    exit_code: int

    def document(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "lever": self.lever.lever.id,
            "study": str(self.folder),
            "calibration": None if self.kept is None else str(self.kept),
            "trials": [{**asdict(trial), "held": trial.held} for trial in self.trials],
        }

    def text(self) -> str:
        """For people."""
        lines = [f"verified: {self.lever.lever.title}"]
        lines += [f"  {trial.words()}" for trial in self.trials] or ["  nothing could be measured"]
        page = self.folder / "report.html"
        lines.append(f"  study: {self.folder}" + (f" (open {page})" if page.exists() else ""))
        return "\n".join(lines + ([f"  kept in {self.kept}"] if self.kept else []))


def verify(
    diagnoses: Sequence[Diagnosis],
    question: Question | None,
    wanted: Wanted,
    *,
    tried: Tried,
    console: Console,
    now: datetime,
    run_study: RunStudy,
) -> Verified:
    """Try the lever of the first engine that has one. Raises: UsageError, InvalidMeasurement, Failed."""
    if question is None:
        raise UsageError(
            "there is no deployment to try it on", where="--verify", fix="teapot diagnose FILE --verify"
        )
    diagnosis, lever = _chosen(diagnoses, wanted.lever)
    workload = str(Path(wanted.workload).absolute()) if wanted.workload else _as_seen(diagnosis)
    base = str(Path(question.name).absolute())
    data = study_document(base, lever.lever.id, lever.fragment or {}, workload, repeats=wanted.repeats)
    out = wanted.out or Path("runs") / f"{now:%Y%m%d-%H%M%S}-{data['name']}"
    console.say(f"trying '{lever.lever.title}': {2 * wanted.repeats} starts of an engine, into {out}")
    code, summary = run_study(
        data, beside=Path(question.name).absolute().parent, out=out, console=console, name="--verify"
    )
    at = f"{now:%Y-%m-%dT%H:%M:%SZ}"
    trials = tuple(trials_of(lever, summary, model=question.deployment.model, at=at, study=str(out)))
    return Verified(lever, trials, out, tried.add(trials) if trials else None, code)


def _chosen(diagnoses: Sequence[Diagnosis], wanted: str | None) -> tuple[Diagnosis, Ranked]:
    for each in diagnoses:
        for lever in each.levers:
            named = lever.lever.id == wanted if wanted else lever is each.next
            if named and lever.fragment is not None:
                return each, lever
    refused = next((each.refused for each in diagnoses if each.refused), None)
    if refused is not None:
        raise InvalidMeasurement(
            f"nothing to verify: {refused}", where="--verify", fix="look at a longer time"
        )
    known = sorted({lever.lever.id for each in diagnoses for lever in each.levers if lever.fragment})
    if wanted is not None:
        offered = f"on what binds act {', '.join(known)}" if known else "no lever acts on what binds"
        raise UsageError(f"'{wanted}' is none of this diagnosis' levers", where="--lever", fix=offered)
    fix = (
        f"name one to try it nevertheless: --lever {' or '.join(known)}" if known else "there is none to try"
    )
    raise InvalidMeasurement("nothing to verify: no lever is ready", where="--verify", fix=fix)


def _as_seen(diagnosis: Diagnosis) -> dict[str, Any]:
    try:
        return load_as_seen(diagnosis.evidence)
    except ValueError as error:
        raise InvalidMeasurement(str(error), where="--verify", fix="give --workload FILE") from None
