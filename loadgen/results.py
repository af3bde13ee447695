"""From a run folder to its summary and report, as often as wanted.

Owns: what of the folder the statistics are told, and what makes a run invalid that no record shows.
Knows nothing about sending: it reruns on any folder, also on one whose run was broken off.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loadgen.records import Planned
from loadgen.report.page import page
from loadgen.report.table import table
from loadgen.run_folder import Account, Manifest, RunFolder
from loadgen.server_metrics import server_view
from loadgen.stats.plan import RunPlan, Slo, Stage
from loadgen.stats.summarize import Summary, summarize
from serving.errors import EXIT_INVALID_MEASUREMENT, EXIT_OK

MAX_CPU_RATIO = 0.8
"""Above this share of a core the generator may itself be what is slow."""

WRITTEN = ("random_tokens", "shared_prefix", "multi_turn", "trace")
"""Kinds of prompts that are written to a length."""


@dataclass(frozen=True, slots=True)
class Result:
    """A summary, its text for a terminal, and the exit code that goes with it."""

    summary: Summary
    table: str

    @property
    def exit_code(self) -> int:
        """0 for a measurement that may be believed, 3 for one that may not."""
        return EXIT_OK if self.summary["valid"] else EXIT_INVALID_MEASUREMENT


def conclude(folder: RunFolder) -> Result:
    """Write summary.json and report.html from the records that are there. Raises: UsageError."""
    summary = summarize_folder(folder)
    folder.write_json("summary.json", summary)
    write_report(folder, summary)
    return Result(summary, table(summary))


def write_report(folder: RunFolder, summary: Summary) -> None:
    """Write report.html again."""
    folder.write(
        "report.html", page(summary, folder.records(), asdict(folder.manifest()), folder.server_samples())
    )


def summarize_folder(folder: RunFolder) -> Summary:
    """Compute the summary of what is in the folder."""
    manifest, account = folder.manifest(), folder.account()
    plan = plan_of(manifest.workload, folder.timetable(), account)
    summary = summarize(folder.records(), plan=plan, server=server_view(folder.server_samples()))
    reasons = [*summary["reasons"], *_reasons(account)]
    notes = [*summary["notes"], *_notes(manifest, account)]
    return {**summary, "valid": not reasons, "reasons": reasons, "notes": notes}


def plan_of(workload: Mapping[str, Any], timetable: Sequence[Planned], account: Account | None) -> RunPlan:
    """What the timetable asked for, from a normalized workload."""
    arrival, slo = workload["arrival"], workload["slo"]
    measured = [planned for planned in timetable if planned.phase == "measure"]
    stages = tuple(map(_stage, arrival.get("stages", ())))
    closed = arrival["process"] == "closed" or any(stage.concurrency for stage in stages)
    until_time = closed and arrival["duration"] is not None
    return RunPlan(
        arrival=arrival["process"],
        intended=None if until_time else len(measured),
        rate_per_s=arrival.get("rate"),
        duration_s=arrival["duration"],
        concurrency=arrival.get("concurrency"),
        start_ns=account.measure_start_ns if account else None,
        slo=Slo(ttft_s=slo["ttft"], tpot_s=slo["tpot"], e2e_s=slo["e2e"]),
        gaps_cv=_gaps_cv(arrival),
        stages=stages,
        follow_ups=frozenset() if closed else frozenset(p.index for p in measured if p.t_intended_ns is None),
        intended_by_kind={} if until_time else Counter(planned.kind for planned in measured),
    )


def _gaps_cv(arrival: Mapping[str, Any]) -> float:
    """Coefficient of variation of the gaps: 0, 1, or 1 / sqrt(burstiness) of a gamma process."""
    gaps = arrival.get("gaps", arrival["process"])
    if gaps == "gamma":
        return 1 / math.sqrt(arrival["burstiness"])
    return 1.0 if gaps == "poisson" else 0.0


def _stage(stage: Mapping[str, Any]) -> Stage:
    if stage["concurrency"] is not None:
        return Stage(duration_s=stage["duration"], concurrency=stage["concurrency"])
    ramp = (stage["from_rate"] or 0.0, stage["to_rate"] or 0.0)
    rates = ramp if stage["rate"] is None else (stage["rate"], stage["rate"])
    return Stage(duration_s=stage["duration"], rates=rates)


def _reasons(account: Account | None) -> list[str]:
    if account is None:
        return ["the sending process did not come to its end (see locust.log in the run folder)"]
    reasons = []
    if account.ended == "interrupted":
        reasons.append("the run was interrupted before its timetable was played")
    if account.ended == "target_gone":
        reasons.append("the target was gone before the run had ended")
    if account.ended == "worker_lost":
        reasons.append("a sending process was lost, and with it what it was to send (see locust.log)")
    if account.cpu_ratio > MAX_CPU_RATIO:
        reasons.append(
            f"the load generator used {account.cpu_ratio:.0%} of its core, more than {MAX_CPU_RATIO:.0%}:"
            " it may itself be what is slow"
        )
    return reasons


def _notes(manifest: Manifest, account: Account | None) -> list[str]:
    notes = []
    if account is not None and account.ended == "used_up":
        notes.append(
            "all prepared requests were answered before the time was over: give arrival.requests for more"
        )
    if account is not None and account.other_clocks:
        notes.append(
            f"{account.other_clocks} of {account.workers} sending processes have a clock of their own:"
            " only intervals within their records are exact"
        )
    return notes if manifest.exact_prompts else notes + _approximate(manifest.workload["prompts"])


def _approximate(prompts: Mapping[str, Any]) -> list[str]:
    """Which of the lengths asked for could only be met roughly, for want of the target's tokenizer."""
    parts = [part["prompts"] for part in prompts["of"]] if prompts["kind"] == "mix" else [prompts]
    lengths = []
    if any(part["kind"] in WRITTEN for part in parts):
        lengths.append("prompt lengths are approximate")
    if any(part["kind"] == "sharegpt" and part["output_tokens"] is None for part in parts):
        lengths.append("answers were asked to be about as long as the file's")
    told = ", and ".join(lengths)
    return [f"{told}: the target has no /tokenize"] if told else []
