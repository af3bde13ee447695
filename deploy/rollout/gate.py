"""Whether a canary may have more: one verdict of many checks, each with its numbers.

Owns: the table of checks, how they add up, and when a step is looked at. Knows nothing about clocks, queries,
or what is done about a verdict. FAIL if any check fails; else INCONCLUSIVE if any has too little to tell;
else PASS. No data is never a pass, and no look passes before the end of the bake.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deploy.rollout import gate_engines, gate_health, gate_means, gate_mix, gate_shares, gate_tails
from deploy.rollout.evidence import Evidence
from deploy.rollout.finding import Asked, Finding, Verdict
from deploy.rollout.machine import State
from deploy.rollout.plan import Plan
from deploy.rollout.statistics import Look, look

DECISIONS = 4
"""Looks of a step that can pass: at the end of the bake, and after each third of the wait."""


@dataclass(frozen=True, slots=True)
class Check:
    """One row. `tests`: how often it can fail by chance at one look; `alike`: only under the same mix, or, of
    what is held against a promise, at least where there is no other side to differ from."""

    name: str
    judge: Callable[[Asked], Finding]
    tests: int = 0
    alike: bool = False
    promised: bool = False


CHECKS: tuple[Check, ...] = (
    Check("failures", gate_health.failures),
    Check("ready", gate_health.ready),
    Check("modes", gate_health.modes),
    Check("quality", gate_health.quality),
    Check("memory", gate_health.memory),
    Check("requests", gate_mix.requests),
    Check("mix", gate_mix.mix),
    Check("errors", gate_shares.errors, tests=1),
    Check("aborts", gate_shares.aborts, tests=1),
    Check("failed_tries", gate_shares.failed_tries, tests=1),
    Check("engines", gate_engines.engines, tests=4),
    Check("missed_availability", gate_shares.missed("availability"), tests=1),
    *(
        Check(f"missed_{slo}", gate_shares.missed(slo), tests=1, alike=True, promised=True)
        for slo in ("ttft", "tpot", "e2e")
    ),
    Check("ttft", gate_means.slower("first_byte", lambda a: a.gates.ttft, "s"), tests=1, alike=True),
    Check("tpot", gate_means.slower("tpot", lambda a: a.gates.tpot, "s"), tests=1, alike=True),
    Check("ttft_tail", gate_tails.tail("first_byte"), tests=1, alike=True),
    Check("tpot_tail", gate_tails.tail("tpot"), tests=1, alike=True),
    Check("finish_reasons", gate_shares.finish_reasons, tests=8, alike=True),
    Check("tokens", gate_means.tokens, tests=2, alike=True),
)
TESTS = sum(check.tests for check in CHECKS)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of one look."""

    verdict: Verdict
    findings: Mapping[str, Finding]
    """By check."""
    start_s: float
    end_s: float
    decided: bool
    """Whether it could have passed, and so spent its part of the chance to pass wrongly. A look that had too
    few requests could not."""

    def reasons(self) -> tuple[str, ...]:
        """What decided, in words: what failed, or what is not sure yet; on a pass, nothing."""
        if self.verdict == "PASS":
            return ()
        those = [f"{name}: {f.why}" for name, f in self.findings.items() if f.answer == self.verdict]
        return tuple(those) or ("it is too early to pass",)

    def to_json(self) -> dict[str, Any]:
        """The judgement as a JSON document, for the journal."""
        rows = {
            name: {"answer": found.answer, "why": found.why, "numbers": dict(found.numbers)}
            for name, found in self.findings.items()
        }
        return {
            "verdict": self.verdict,
            "decided": self.decided,
            "window_s": [self.start_s, self.end_s],
            "checks": rows,
        }


def judge(evidence: Evidence, plan: Plan, look: Look) -> Judgement:
    """One look at a step."""
    asked = Asked(evidence, plan.gates, look, plan.min_requests, plan.quality)
    findings: dict[str, Finding] = {}
    for check in CHECKS:
        needless = check.promised and not asked.concurrent
        if check.alike and not needless and gate_mix.differs(findings["mix"]):
            findings[check.name] = Finding("NOT JUDGED", "the mix of requests differs")
        else:
            found = check.judge(asked)
            where = gate_engines.by_engine(asked, check.name) if found.answer == "FAIL" else ""
            findings[check.name] = replace(found, why=found.why + where)
    decided = look.pass_tail is not None and findings["requests"].answer == "PASS"
    return Judgement(_verdict(findings, look), findings, evidence.start_s, evidence.end_s, decided)


def looks(plan: Plan, step: int) -> int:
    """How many looks a step can have."""
    return math.ceil((plan.steps[step].bake_s + plan.wait_s) / plan.look_every_s) + 1


def decisions_s(plan: Plan, step: int, window_s: float) -> tuple[float, ...]:
    """When a step may be passed, in Unix seconds; the last is the end of the wait."""
    first_s = window_s + plan.steps[step].bake_s
    return tuple(first_s + plan.wait_s * k / (DECISIONS - 1) for k in range(DECISIONS))


def next_look(state: State, plan: Plan, *, last_s: float | None, decided: int, now_s: float) -> Look | None:
    """The look that is due in a step; None: none is due yet.

    `last_s`: when the step's last look was. `decided`: how many of its looks have been `Judgement.decided`.
    Ask before `machine.due`: the last decision of a step is at the very end of its wait.
    """
    if state.window_s is None or state.step is None or now_s < state.window_s:
        return None
    times = decisions_s(plan, state.step, state.window_s)
    passed = sum(at <= now_s for at in times)
    before = sum(last_s is not None and at <= last_s for at in times)
    if passed == before and last_s is not None and now_s - last_s < plan.look_every_s:
        return None
    total = sum(looks(plan, step) for step in range(len(plan.steps)))
    return look(tests=TESTS * total, decision=decided + 1 if passed > before else None)


def _verdict(findings: Mapping[str, Finding], look: Look) -> Verdict:
    answers = {found.answer for found in findings.values()}
    if "FAIL" in answers:
        return "FAIL"
    if "INCONCLUSIVE" in answers or "PASS" not in answers or look.pass_tail is None:
        return "INCONCLUSIVE"
    return "PASS"
