"""What diagnoses are made of in tests: questions of the planner, and outcomes of studies that nobody ran."""

from __future__ import annotations

import argparse

from deploy.plan_file import question
from deploy.study.results import Figure, Ratio, Summary
from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.planner.ask import Ask


def options(**given: object) -> argparse.Namespace:
    """What `teapot diagnose` reads of the device and of drafts; nothing is given."""
    names = ("gpu", "gpu_memory", "bandwidth", "flops", "fp8_flops", "device", "acceptance")
    return argparse.Namespace(**(dict.fromkeys(names) | given))


def ask_of(text: str, **given: object) -> Ask:
    """The question about a deployment of the embedded model, whose shape teapot knows."""
    document = parse(f"name: asked\nmodel: smollm2-135m\n{text}\n", "asked.yaml")
    return question(validate(document, Deployment), document, options(**given))


def ratio(
    arm: str, over: str, measure: str, workload: str | None, value: float, spread: float | None
) -> Ratio:
    """A measure over another arm's, with an interval of so large a part on both sides; None: one repeat."""
    low, high = (None, None) if spread is None else (value * (1 - spread), value * (1 + spread))
    told = Figure(value=value, low=low, high=high, n=1 if spread is None else 3, unit="x")
    return Ratio(
        arm=arm, over=over, workload=workload, measure=measure, figure=told, paired=True, better=None
    )


def study_of_ratios(control: str, *ratios: Ratio) -> Summary:
    """A summary that holds these and nothing else."""
    return Summary(
        name="by-hand", control=control, repeats=3, hold=False, complete=True, arms=(), workloads={}, rows=(),
        ratios=ratios, predictions=(), missing=(),
    )  # fmt: skip
