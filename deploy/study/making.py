"""Makes a design of a study that was read: arms judged, starts ordered, time estimated, budget kept.

Owns: bringing these together, and what refuses a whole study. Knows nothing about running it.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deploy.plan_cpu import read_processor
from deploy.study.design import Layout, starts_of
from deploy.study.estimate import Costs, Pace, estimate, pace, start_key, what_would_fit
from deploy.study.judge import Judge
from deploy.study.reading import Study
from deploy.study.rows import Arm, Design
from serving.config.units import format_duration
from serving.engine.recipes import choose_recipe
from serving.errors import UsageError


@dataclass(frozen=True, slots=True)
class Made:
    """A design, and what its parts are thought to take."""

    design: Design
    pace: Pace


def make_design(study: Study, judge: Judge, costs: Costs, *, within_budget: bool = True) -> Made:
    """Decide all that is decided before the first start.

    Raises: UsageError where the control cannot run, or (`within_budget`) the budget is too small.
    """
    arms = tuple(judge.arm(read, study.workloads) for read in study.arms)
    _needs_control(study, arms)
    file = study.file
    layout = Layout(
        arms=[arm.name for arm in arms if arm.runs],
        workloads=list(study.workloads),
        control=study.control,
        repeats=file.repeats,
        seed=file.seed,
        hold=file.hold,
        quality=file.quality,
    )
    starts = starts_of(layout)
    runnable = {read.name: read for read in study.arms if read.name in layout.arms}
    keys = {
        name: start_key(read.deployment, judge.device(read.deployment)) for name, read in runnable.items()
    }
    known = pace(keys, study.workloads, costs, quality=file.quality)
    thought = estimate(starts, known)
    if within_budget and file.budget is not None and thought.total_s > file.budget:
        what = (
            f"the study takes about {format_duration(thought.total_s)}"
            f" and its budget is {format_duration(file.budget)}"
        )
        fix = what_would_fit(starts, known, file.budget, repeats=file.repeats, hold=file.hold)
        raise UsageError(what, where=study.document.where(("budget",)), fix=fix)
    control = study.arm(study.control)
    device = judge.device(control.deployment)
    recipe = choose_recipe(device, control.deployment.engine.version)
    return Made(
        Design(
            name=file.name,
            title=file.title,
            file=study.document.name,
            fingerprint=study.fingerprint(),
            seed=file.seed,
            repeats=file.repeats,
            hold=file.hold,
            control=study.control,
            quality=file.quality,
            budget_s=file.budget,
            arms=arms,
            workloads={name: workload.normalized() for name, workload in study.workloads.items()},
            starts=starts,
            estimate=thought,
            versions=_versions(recipe.version),
            machine=_machine(judge, device),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        ),
        known,
    )


def _needs_control(study: Study, arms: tuple[Arm, ...]) -> None:
    control = next(arm for arm in arms if arm.name == study.control)
    if control.ruled_out is not None:
        what = f"the control arm '{control.name}' cannot run: {control.ruled_out}"
        where = study.document.where(("control",) if study.file.control else ())
        raise UsageError(what, where=where, fix="name another arm as control, or change it")


def _versions(vllm: str) -> dict[str, str]:
    names = {"teapot": "teapot-serving", "locust": "locust"}
    found = {name: importlib.metadata.version(package) for name, package in names.items()}
    return {**found, "vllm": vllm, "python": platform.python_version()}


def _machine(judge: Judge, device: str) -> Mapping[str, Any]:
    processor = read_processor()
    return {
        "platform": platform.platform(),
        "processor": processor.title if processor else platform.processor(),
        "cores": len(judge.machine.cores),
        "cpus": os.cpu_count(),
        "memory_available_bytes": judge.machine.memory_available_bytes,
        "device": device,
        "accelerators": [accelerator.name for accelerator in judge.machine.accelerators],
    }
