"""A diagnosis: what was seen, what binds, the levers in their order; as text and as JSON.

Owns: bringing rules and levers together, and the words. Knows nothing about where evidence comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deploy.diagnose.evidence import Evidence
from deploy.diagnose.levers import Gain, Lever, Ranked, elsewhere, ranked
from deploy.diagnose.rules import Bound, Finding, Rule, look, too_little


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is said of one engine."""

    evidence: Evidence
    refused: str | None
    """Why nothing is said; then the rest is empty."""
    findings: tuple[Finding, ...] = ()
    """What binds first, then what was seen beside it."""
    silent: tuple[Rule, ...] = ()
    """Rules whose inputs were not seen."""
    levers: tuple[Ranked, ...] = ()
    elsewhere: tuple[tuple[Lever, str], ...] = ()

    @property
    def bound(self) -> Bound | None:
        """What binds; None where no rule saw anything, or none may speak."""
        return self.findings[0].bound if self.findings else None


def diagnose(evidence: Evidence) -> Diagnosis:
    """Judge one engine's evidence."""
    refused = too_little(evidence)
    if refused is not None:
        return Diagnosis(evidence, refused)
    findings, silent = look(evidence)
    if not findings:
        return Diagnosis(evidence, None, (), tuple(silent))
    bound = findings[0].bound
    return Diagnosis(
        evidence,
        None,
        tuple(findings),
        tuple(silent),
        tuple(ranked(bound, evidence)),
        tuple(elsewhere(bound)),
    )


def text(diagnoses: Sequence[Diagnosis]) -> str:
    """For people."""
    return "\n\n".join("\n".join(_lines(each)) for each in diagnoses)


def document(diagnoses: Sequence[Diagnosis]) -> dict[str, Any]:
    """For scripts."""
    return {"engines": [_document(each) for each in diagnoses]}


def _lines(each: Diagnosis) -> list[str]:
    evidence = each.evidence
    count = "no" if evidence.requests is None else f"{evidence.requests:.0f}"
    lines = [f"{evidence.source}: {count} requests finished within {evidence.seconds:.0f} s"]
    if each.refused:
        return [*lines, f"  no diagnosis: {each.refused}"]
    lines += [f"  {line}" for line in _split(evidence)]
    if each.bound is None:
        return [*lines, "  no rule saw anything that binds", *_silent(each)]
    first, *others = each.findings
    lines += [f"  bound by: {first.bound} ({first.symptom})", f"    {first.evidence}  [{first.rule}]"]
    lines += [f"  seen beside it: {found.evidence}  [{found.rule}]" for found in others]
    if each.levers:
        lines.append("  levers, in this order:")
        lines += [
            f"    {number}. {line}" for number, lever in enumerate(each.levers, 1) for line in _lever(lever)
        ]
    if each.elsewhere:
        lines.append("  not these, for they act on something else:")
        lines += [f"    {lever.title}: on {what}" for lever, what in each.elsewhere]
    return [*lines, *_silent(each)]


def _split(evidence: Evidence) -> list[str]:
    means = {"queue": evidence.queue_s, "prefill": evidence.prefill_s, "decode": evidence.decode_s}
    shares = evidence.shares or (None, None, None)
    parts = [
        f"{name} {value * 1000:.1f} ms" + (f" ({share:.0%})" if share is not None else "")
        for (name, value), share in zip(means.items(), shares, strict=True)
        if value is not None
    ]
    latencies = [
        f"{name} {value * 1000:.1f} ms"
        for name, value in (("TTFT", evidence.ttft_s), ("TPOT", evidence.tpot_s))
        if value is not None
    ]
    return [line for line in (f"means: {', '.join(parts + latencies)}",) if parts or latencies]


def _lever(each: Ranked) -> list[str]:
    gain = f"predicted {_gain(each.gain)}" if each.gain else "no prediction: measure it"
    why = f"; not first: {each.why_not_first}" if each.why_not_first else ""
    return [f"{each.lever.title}: {each.lever.change}; {gain}; risk: {each.lever.risk}{why}"]


def _gain(gain: Gain) -> str:
    return f"{gain.of} {gain.low:.2f}x to {gain.high:.2f}x ({gain.how})"


def _silent(each: Diagnosis) -> list[str]:
    if not each.silent:
        return []
    rules = [f"{rule.id} needs {', '.join(rule.inputs)}" for rule in each.silent]
    return ["  could not tell, for want of what was not seen: " + "; ".join(rules)]


def _document(each: Diagnosis) -> dict[str, Any]:
    evidence = each.evidence
    return {
        "source": evidence.source,
        "seconds": evidence.seconds,
        "requests": evidence.requests,
        "refused": each.refused,
        "bound": each.bound,
        "findings": [
            {"rule": f.rule, "symptom": f.symptom, "bound": f.bound, "evidence": f.evidence}
            for f in each.findings
        ],
        "levers": [
            {
                "id": r.lever.id,
                "title": r.lever.title,
                "change": r.lever.change,
                "risk": r.lever.risk,
                "gain": None
                if r.gain is None
                else {"of": r.gain.of, "low": r.gain.low, "high": r.gain.high, "how": r.gain.how},
                "why_not_first": r.why_not_first,
            }
            for r in each.levers
        ],
        "not_told": [{"rule": rule.id, "needs": list(rule.inputs)} for rule in each.silent],
    }
