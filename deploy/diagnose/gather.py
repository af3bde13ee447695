"""From the command's options to diagnoses: the sources are read, the file is planned, each engine is judged.

Owns: what comes from where. Knows nothing about rules, levers or words.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from deploy.diagnose.diagnosis import Diagnosis, File, Known, diagnose
from deploy.diagnose.evidence import Evidence
from deploy.diagnose.levers import Seen
from deploy.diagnose.question import Question, read_question
from deploy.diagnose.readings import evidence_of
from deploy.diagnose.sources import Readings, from_engine, from_prometheus, from_run
from deploy.diagnose.tried import Tried
from deploy.planning import gpu_of
from loadgen.run_folder import RunFolder
from serving.console import Console

DEFAULT_PROMETHEUS = "http://127.0.0.1:9090"
NO_FILE = "without the deployment file neither seats nor what a lever gains can be told: teapot diagnose FILE"


def gathered(
    args: argparse.Namespace, console: Console, now_s: float, tried: Tried, question: Question | None
) -> list[Diagnosis]:
    """A diagnosis of every engine that was read twice. Raises: Failed, UsageError."""
    objectives = _objectives(args.run) if args.run is not None and question is None else {}
    found = []
    readings = _readings(args, console, now_s, whose(args, question))
    client_ttft_s = _client_ttft(args.run) if args.run is not None and len(readings) == 1 else None
    for source, samples in readings.items():
        if sum(sample.error is None and bool(sample.series) for sample in samples) < 2:
            continue
        evidence = replace(evidence_of(source, samples), client_ttft_s=client_ttft_s)
        if question is None:
            told = replace(evidence, ttft_slo_s=objectives.get("ttft"), tpot_slo_s=objectives.get("tpot"))
            found.append(diagnose(Seen(told, acceptance=args.acceptance), Known(notes=(NO_FILE,))))
        else:
            found.append(_judged(question, evidence, args, tried))
    return found


def asked(args: argparse.Namespace) -> Question | None:
    """The deployment file that was given, and its plan. Raises: UsageError where it or a device is wrong."""
    if args.file is None:
        return None
    if args.gpu is not None or args.gpu_memory is not None:
        # Else a wrong name would only be a reason why nothing is predicted, told after the watching.
        gpu_of(args)
    return read_question(args.file, args)


def whose(args: argparse.Namespace, question: Question | None) -> str | None:
    """The deployment whose engines are looked at in Prometheus; None: all that it scrapes."""
    named: str | None = args.deployment
    return question.deployment.name if named is None and question is not None else named


def _judged(question: Question, evidence: Evidence, args: argparse.Namespace, tried: Tried) -> Diagnosis:
    model = question.deployment.model
    known = Known(
        planned=question.planned(tried.lost(model)),
        file=File(question.name, question.text),
        notes=(f"no plan, so no floors and no predictions: {question.no_plan}",) if question.no_plan else (),
        tried=tried.words(model),
    )
    return diagnose(question.seen(question.evidence(evidence), args.acceptance), known)


def _readings(args: argparse.Namespace, console: Console, now_s: float, deployment: str | None) -> Readings:
    if args.run is not None:
        return from_run(args.run)
    if args.engine is not None:
        return from_engine(args.engine, args.within, say=console.say)
    return from_prometheus(args.prometheus or DEFAULT_PROMETHEUS, deployment, args.within, now_s)


def _client_ttft(folder: Path) -> float | None:
    """The mean that the load generator saw of the one engine there is; None where the run has no summary."""
    if not (folder / "summary.json").exists():
        return None
    return RunFolder(folder).of_summary(_mean_ttft)


def _mean_ttft(summary: Mapping[str, Any]) -> float | None:
    mean = (summary.get("ttft_s") or {"mean": None})["mean"]
    return None if mean is None else float(mean)


def _objectives(folder: Path) -> Mapping[str, Any]:
    """Those that a run's own workload was judged by; empty where its manifest is gone."""
    if not (folder / "manifest.json").exists():
        return {}
    slo: Mapping[str, Any] = RunFolder(folder).manifest().workload.get("slo") or {}
    return slo
