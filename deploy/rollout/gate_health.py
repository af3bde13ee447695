"""Checks of the canary's own engines, which need no statistics: restarts, readiness, modes, memory, quality.

Owns: these rules. Knows nothing about requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from deploy.rollout.finding import Answer, Asked, Finding
from serving.config.units import format_size

FEWEST_POINTS = 8
"""Of memory, so that each quarter of a window has two."""
_ANSWERS: dict[str, Answer] = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE"}


def failures(asked: Asked) -> Finding:
    """An engine of the canary that crashed, hung or could not be proven fails it, although it came back."""
    count = asked.evidence.health.failures
    if count is None:
        return Finding("INCONCLUSIVE", "nobody told how often its engines failed")
    numbers = {"failures": count}
    if count > 0:
        why = f"its engines failed {count:g} times since they were started"
        return Finding("FAIL", f"{why}{_whose(asked)}", numbers)
    return Finding("PASS", "none of its engines failed", numbers)


def ready(asked: Asked) -> Finding:
    """All engines of the canary are ready; none is a failure, some of them is waited for."""
    health = asked.evidence.health
    if health.ready is None:
        return Finding("INCONCLUSIVE", "nobody told how many of its engines are ready")
    why = f"{health.ready} of its {health.engines} engines are ready"
    numbers = {"ready": float(health.ready), "engines": float(health.engines)}
    if health.ready < health.engines:
        why += _whose(asked)
    if health.ready == 0:
        return Finding("FAIL", why, numbers)
    return Finding("PASS" if health.ready >= health.engines else "INCONCLUSIVE", why, numbers)


def _whose(asked: Asked) -> str:
    told = asked.evidence.health.unwell
    return f" ({'; '.join(f'{url} {words}' for url, words in told.items())})" if told else ""


def modes(asked: Asked) -> Finding:
    """Every mode that was asked for is in effect."""
    told = asked.evidence.health.modes
    if not told:
        return Finding("NOT JUDGED", "it asks for no mode")
    missing = sorted(kind for kind, in_effect in told.items() if in_effect is False)
    unknown = sorted(kind for kind, in_effect in told.items() if in_effect is None)
    if missing:
        return Finding("FAIL", f"not in effect: {', '.join(missing)}")
    if unknown:
        return Finding("INCONCLUSIVE", f"not known to be in effect: {', '.join(unknown)}")
    return Finding("PASS", f"in effect: {', '.join(sorted(told))}")


def memory(asked: Asked) -> Finding:
    """No engine's memory grows in every quarter of the window, by more than the gate over the whole of it.

    An engine that is warming up grows too, but less and less: the last quarter tells them apart.
    """
    told = asked.evidence.health.memory_bytes
    if not told:
        return Finding("NOT JUDGED", "nobody told how much memory its engines use")
    fewest = min(map(len, told.values()))
    if fewest < FEWEST_POINTS:
        return Finding("INCONCLUSIVE", f"memory was read {fewest} times of {FEWEST_POINTS} needed")
    limit = asked.gates.memory
    growth = {engine: _growth(values) for engine, values in told.items()}
    worst = max(growth, key=lambda engine: min(growth[engine]))
    values, slowest = told[worst], min(growth[worst])
    numbers = {"first_bytes": values[0], "last_bytes": values[-1], "slowest_quarter_ratio": slowest}
    why = f"memory of {worst} went from {format_size(round(values[0]))} to {format_size(round(values[-1]))}"
    if slowest > limit / 4:
        return Finding("FAIL", f"{why}, and grew in every quarter of the window", numbers)
    return Finding("PASS", why, numbers)


def _growth(values: Sequence[float]) -> list[float]:
    """From each quarter to the next, as a share of the first."""
    n = len(values)
    means = [fmean(values[n * k // 4 : n * (k + 1) // 4]) for k in range(4)]
    return [(means[k + 1] - means[k]) / means[0] for k in range(3)]


def quality(asked: Asked) -> Finding:
    """Answers to the small fixed text are as good as the baseline's, beside its own noise."""
    told = asked.evidence.quality
    if told is None:
        if asked.quality:
            return Finding("INCONCLUSIVE", "answers were not compared yet")
        return Finding("NOT JUDGED", "answers are not compared: rollout.quality is false")
    return Finding(_ANSWERS[told.outcome], "; ".join(told.reasons) or f"answers: {told.outcome}")
