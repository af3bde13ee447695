"""A search made readable: its trials in order, and what they came to.

Owns: the layout. Knows nothing about how the next trial is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

from loadgen.search import Finished, Trial

_ENDED = {
    "found": "the next one up misses them",
    "above highest": "the highest load allowed still meets them: raise --max",
    "below lowest": "even the lowest load allowed misses them: lower --min, or ask less of the server",
    "not measurable": "above it the load generator gave no measurement: use more processes or machines",
    "out of trials": "not confirmed: the trials allowed were used up",
}


def search_table(key: str, trials: Sequence[Trial], finished: Finished | None, *, goodput: float) -> str:
    """The trials as they went, then the answer."""
    lines = [f"{'trial':>5}  {key:>11}  {'outcome':8}  what was seen"]
    for number, trial in enumerate(trials, start=1):
        lines.append(f"{number:>5}  {trial.value:>11g}  {trial.outcome:8}  {trial.told}")
    return "\n".join([*lines, "", _answer(key, finished, goodput)])


def _answer(key: str, finished: Finished | None, goodput: float) -> str:
    if finished is None:
        return "stopped; the same command goes on from here"
    goal = f"{goodput:.0%} of the requests meet every SLO"
    met = f"{finished.met:g}" if finished.met is not None else "none"
    missed = "" if finished.missed is None else f"; missed at {finished.missed:g}"
    return f"highest {key} at which {goal}: {met}{missed} ({_ENDED[finished.ended]})"
