"""`load search`: tries loads one after the other, each a run of its own, and keeps what came of them.

Owns: search.json, the folder of each trial, and when a run meets the objectives. Knows nothing about
which load comes next (`search.py`) or how a run is made (a function that comes in).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loadgen.run_folder import write_whole
from loadgen.search import Finished, Outcome, Settings, Trial, next_step
from loadgen.stats.intervals import SMALLEST_N
from loadgen.workload import Workload
from serving.errors import Failed, UsageError

SEARCH_SCHEMA = 1
LOADS = {"constant": "rate", "poisson": "rate", "gamma": "rate", "closed": "concurrency"}
"""The key that is searched, by arrival process."""

Measure = Callable[[Workload, Path], Mapping[str, Any] | None]
"""Runs a workload into a folder and gives its summary; None where a signal ended it."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is searched for: the highest load at which `goodput` of the intended requests meet the SLOs."""

    workload: Workload
    target: str
    goodput: float
    settings: Settings

    def identity(self) -> dict[str, Any]:
        """What must be equal for a search to be resumed, as it is in a JSON file."""
        found = {
            "workload": self.workload.normalized(),
            "target": self.target,
            "goodput": self.goodput,
            "settings": asdict(self.settings),
        }
        as_read: dict[str, Any] = json.loads(json.dumps(found))
        return as_read


def searched_key(workload: Workload) -> str:
    """`rate` or `concurrency`. Raises: UsageError where there is neither, or no objective to meet."""
    process = workload.arrival.process
    if process not in LOADS:
        raise UsageError(
            f"a load of process '{process}' has no one rate to search for",
            where="arrival.process",
            fix=f"use one of {', '.join(LOADS)}",
        )
    if not any(value is not None for value in workload.slo.model_dump().values()):
        raise UsageError(
            "there is no objective to meet",
            where="slo",
            fix="add one, such as slo: {ttft: 500ms, tpot: 50ms}",
        )
    return LOADS[process]


def at_load(workload: Workload, value: float) -> Workload:
    """The workload with another rate or concurrency."""
    key = searched_key(workload)
    arrival = workload.arrival.model_copy(update={key: int(value) if key == "concurrency" else value})
    return workload.model_copy(update={"arrival": arrival})


def judge(summary: Mapping[str, Any], goodput: float) -> tuple[Outcome, str]:
    """Whether a run met the objectives, with the reason in words.

    Too few complete answers is a server that did not answer, not a measurement that failed.
    """
    requests = summary["requests"]
    if requests["sent"] and requests["ok"] < min(SMALLEST_N[50], requests["intended"] / 2):
        return "missed", f"{requests['ok']} of {requests['intended']} requests were answered"
    if not summary["valid"]:
        return "invalid", summary["reasons"][0]
    told = f"goodput {summary['goodput']['ratio']:.1%}"
    if (summary["saturation"] or {}).get("verdict") == "growing":
        return "missed", f"{told}, and requests piled up"
    return ("met" if summary["goodput"]["ratio"] >= goodput else "missed"), told


def search(wanted: Search, folder: Path, measure: Measure, say: Say) -> tuple[Finished | None, list[Trial]]:
    """Search on from what is in the folder; None where a signal ended it, and it can be resumed.

    Raises: UsageError if the folder holds another search, TeapotError where a run could not begin.
    """
    key = searched_key(wanted.workload)
    trials = _resumed(wanted, folder)
    if trials:
        say(f"going on after {len(trials)} trials in {folder}")
    while not isinstance(step := next_step(trials, wanted.settings), Finished):
        number = len(trials) + 1
        say(f"trial {number}: {key} {step.value:g} ({step.why})")
        place = _free(folder, f"trial-{number:02d}-{key}-{step.value:g}")
        summary = measure(at_load(wanted.workload, step.value), place)
        if summary is None:
            return None, trials
        trials.append(Trial(step.value, *judge(summary, wanted.goodput), place.name))
        say(f"trial {number}: {key} {step.value:g} {trials[-1].outcome}: {trials[-1].told}")
        _keep(wanted, folder, trials, None)
    _keep(wanted, folder, trials, step)
    return step, trials


def _resumed(wanted: Search, folder: Path) -> list[Trial]:
    path = folder / "search.json"
    if not path.exists():
        return []
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        same = kept["schema"] == SEARCH_SCHEMA and kept["search"] == wanted.identity()
        trials = [Trial(**trial) for trial in kept["trials"]]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"cannot be read: {error!r}", where=str(path), fix="give another --out") from error
    if not same:
        raise UsageError(
            "this folder holds a search for something else (another workload, target, goal or bounds)",
            where=str(path),
            fix="give another --out, or the same arguments",
        )
    return trials


def _free(folder: Path, name: str) -> Path:
    """A folder for a trial: beside what is left of one that was broken off, not over it."""
    place, again = folder / name, 1
    while (place / "manifest.json").exists():
        again += 1
        place = folder / f"{name}-again-{again}"
    return place


def _keep(wanted: Search, folder: Path, trials: list[Trial], finished: Finished | None) -> None:
    row = {
        "schema": SEARCH_SCHEMA,
        "search": wanted.identity(),
        "trials": [asdict(trial) for trial in trials],
        "result": None if finished is None else asdict(finished),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "search.json", json.dumps(row, indent=1) + "\n")
    except OSError as error:
        raise Failed(f"cannot be written: {error}", where=str(folder), fix="give another --out") from error
