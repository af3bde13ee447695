"""The verdicts of several engines as one, and as words.

Owns: which engine's verdict stands for all, the table for people, what is said of a mode not in effect. Knows
nothing about how a verdict is reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from serving.errors import Problem
from serving.modes.mode import Verdict

WORDS = {True: "in effect", False: "NOT IN EFFECT", None: "cannot tell"}
"""Of a mode, for people."""
_WORST_FIRST: tuple[bool | None, ...] = (False, None, True)


def merge(by_engine: Mapping[str, Sequence[Verdict]]) -> list[Verdict]:
    """One verdict a mode: the worst of all engines, whose name it bears where the engines differ.

    Modes are matched by their place, which is the deployment file's for every engine.
    """
    rows = zip(*by_engine.values(), strict=True)
    return [_merged(dict(zip(by_engine, row, strict=True))) for row in rows]


def settled(verdicts: Sequence[Verdict], found: Verdict) -> list[Verdict]:
    """An engine's verdicts, with what its work with another showed where it alone could not tell."""
    return [
        replace(found, warnings=(*verdict.warnings, *found.warnings))
        if verdict.kind == found.kind and verdict.in_effect is None
        else verdict
        for verdict in verdicts
    ]


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as lines for people: warnings below the mode they belong to, what holds for many once."""
    kind_width = max((len(v.kind) for v in verdicts), default=0)
    lines: list[str] = []
    for verdict in verdicts:
        lines.append(f"  {verdict.kind:<{kind_width}}  {WORDS[verdict.in_effect]:<13}  {verdict.evidence}")
        lines += [f"  {'':<{kind_width}}  warning: {warning}" for warning in verdict.warnings]
    lines += [f"  {said}" for said in dict.fromkeys(v.not_compared for v in verdicts) if said]
    return "\n".join(lines)


def not_in_effect(verdict: Verdict) -> Problem:
    """What is said where a mode is proven not to be in effect."""
    return Problem(
        f"mode '{verdict.kind}' ({verdict.asked}) is not in effect: {verdict.evidence}",
        fix="ask for what this engine can do (teapot modes), or serve all the same with --allow-ineffective",
    )


def _merged(verdicts: Mapping[str, Verdict]) -> Verdict:
    engine, worst = min(verdicts.items(), key=lambda item: _WORST_FIRST.index(item[1].in_effect))
    differ = len({verdict.in_effect for verdict in verdicts.values()}) > 1
    warnings = tuple(dict.fromkeys(w for verdict in verdicts.values() for w in verdict.warnings))
    return replace(
        worst, evidence=f"{engine}: {worst.evidence}" if differ else worst.evidence, warnings=warnings
    )
