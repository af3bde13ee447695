"""A diagnosis: what was seen of one engine, what binds it, the levers in their order.

Owns: bringing rules and levers together, and the same as JSON. Knows nothing about where evidence comes from,
nor about words (`report`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deploy.diagnose.advice import Planned, Ranked, elsewhere, ranked
from deploy.diagnose.edit import diff, spell
from deploy.diagnose.evidence import Evidence
from deploy.diagnose.levers import Lever, Seen
from deploy.diagnose.rules import Bound, Finding, Rule, look, too_little


@dataclass(frozen=True, slots=True)
class File:
    """The deployment file that changes are told for."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
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
    file: File | None = None
    notes: tuple[str, ...] = ()
    tried: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What levers gained where they were measured on this machine before, by id."""

    @property
    def bound(self) -> Bound | None:
        """What binds; None where no rule saw anything, or none may speak."""
        return self.findings[0].bound if self.findings else None

    @property
    def next(self) -> Ranked | None:
        """The lever that comes next; None where none is ready."""
        return next((lever for lever in self.levers if lever.why_not_first is None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known beside the evidence: the deployment file, its plan, and what was measured before."""

    planned: Planned | None = None
    file: File | None = None
    notes: tuple[str, ...] = ()
    tried: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def diagnose(seen: Seen, known: Known | None = None) -> Diagnosis:
    """Judge one engine's evidence."""
    known = known or Known()
    evidence = seen.evidence
    refused = too_little(evidence)
    if refused is not None:
        return Diagnosis(evidence=evidence, refused=refused)
    findings, silent = look(evidence)
    bound = findings[0].bound if findings else None
    return Diagnosis(
        evidence=evidence,
        refused=None,
        findings=tuple(findings),
        silent=tuple(silent),
        levers=tuple(ranked(bound, seen, known.planned)) if bound else (),
        elsewhere=tuple(elsewhere(bound)) if bound and bound is not Bound.TRAFFIC else (),
        file=known.file,
        notes=known.notes,
        tried=known.tried,
    )


def document(diagnoses: Sequence[Diagnosis]) -> dict[str, Any]:
    """For scripts."""
    return {"engines": [_document(each) for each in diagnoses]}


def _document(each: Diagnosis) -> dict[str, Any]:
    e = each.evidence
    return {
        "source": e.source,
        "seconds": e.seconds,
        "requests": e.requests,
        "refused": each.refused,
        "evidence": {name: getattr(e, name) for name in _TOLD} | {"shares": e.shares},
        "bound": each.bound,
        "findings": [
            {"rule": f.rule, "symptom": f.symptom, "bound": f.bound, "evidence": f.evidence}
            for f in each.findings
        ],
        "levers": [_lever(lever, each) for lever in each.levers],
        "elsewhere": [{"id": lever.id, "acts_on": what} for lever, what in each.elsewhere],
        "not_told": [{"rule": rule.id, "needs": list(rule.inputs)} for rule in each.silent],
        "notes": list(each.notes),
    }


def _lever(ranked: Ranked, each: Diagnosis) -> dict[str, Any]:
    fragment, file = ranked.fragment, each.file
    return {
        "id": ranked.lever.id,
        "title": ranked.lever.title,
        "fragment": fragment,
        "change": None if fragment is None else spell(fragment),
        "diff": None if fragment is None or file is None else diff(file.text, file.name, fragment),
        "risk": ranked.lever.risk,
        "gains": [
            {"measure": gain.measure, "low": gain.low, "high": gain.high, "how": gain.how}
            for gain in ranked.gains
        ],
        "measured_before": list(each.tried.get(ranked.lever.id, ())),
        "why_not_first": ranked.why_not_first,
    }


_TOLD = (
    "running_mean", "running_max", "max_num_seqs", "waiting_mean", "waiting_max", "kv_usage_max_ratio",
    "preemptions", "queue_s", "prefill_s", "decode_s", "ttft_s", "tpot_s", "e2e_s", "ttft_slo_s",
    "tpot_slo_s", "prompts_in_step", "ridge_tokens", "prefix_hit_ratio", "bandwidth_ratio", "flops_ratio",
)  # fmt: skip
