"""What a deployment file adds: objectives, seats, the device's rates, and the planner's answers.

Owns: reading the file, and planning it as it is and with a fragment in it. Knows nothing about rules or
levers. Where the planner cannot be asked (a model that is not here, a device that is not named) the diagnosis
goes on without its figures, and says why.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from deploy.diagnose.advice import Planned
from deploy.diagnose.edit import Fragment, edited
from deploy.diagnose.evidence import Device, Evidence
from deploy.diagnose.levers import Seen
from deploy.diagnose.predict import step_floor
from deploy.diagnose.verify import study_document
from deploy.plan_file import question
from deploy.study.judge import Judge
from deploy.study.reading import study_of
from serving.config.arguments import argument_flags
from serving.config.document import Document
from serving.config.load import load_deployment, parse, validate
from serving.config.rules import deployment_problems
from serving.config.schema import Deployment
from serving.errors import UsageError
from serving.facts.hardware import Gpu
from serving.facts.load import overheads
from serving.modes.speculative import Speculative
from serving.planner.plan import Plan, make_plan

ANY_LOAD = {
    "arrival": {"process": "closed", "concurrency": 1, "duration": "10s"},
    "prompts": {"kind": "random_tokens", "input_tokens": 8, "output_tokens": 8},
}
"""A study needs one; it is never sent."""


@dataclass(frozen=True, slots=True)
class Question:
    """A deployment file, and what is asked about it."""

    name: str
    text: str
    deployment: Deployment
    options: argparse.Namespace
    """`gpu`, `gpu_memory`, `bandwidth`, `flops`, `fp8_flops`, `device`, as of `teapot plan`."""
    plan: Plan | None
    no_plan: str | None = None
    """Why there is none."""
    judge: Judge | None = None
    """This machine, as the table of modes asks about it; None where the device is another machine's."""

    def evidence(self, seen: Evidence) -> Evidence:
        """The evidence, with what the file and the planner know."""
        objectives, plan = self.deployment.slo, self.plan
        seats = self.deployment.engine.max_num_seqs
        seen = replace(
            seen,
            max_num_seqs=seats or (plan.ask.batch.max_num_seqs if plan else None),
            ttft_slo_s=objectives.ttft,
            tpot_slo_s=objectives.tpot,
        )
        if plan is None or plan.ask.gpu is None:
            return seen
        return replace(seen, device=device(plan.ask.gpu), step_floor=step_floor(plan, seen))

    def seen(self, evidence: Evidence, acceptance: float | None) -> Seen:
        """What levers look at."""
        speculative = self.deployment.mode(Speculative)
        return Seen(
            evidence=evidence,
            ask=self.plan.ask if self.plan else None,
            replicas=self.deployment.replicas,
            gateway_workers=self.deployment.gateway.workers,
            flags=frozenset(flag for _, flag, _ in argument_flags(self.deployment.engine.args)),
            speculative=speculative.model_dump(exclude_none=True) if speculative else None,
            acceptance=acceptance,
        )

    def planned(self, lost: Mapping[str, str]) -> Planned | None:
        """The plan, and the way to another; None where there is none. `lost`: levers that lost here."""
        return None if self.plan is None else Planned(self.plan, self.replan, lost)

    def replan(self, fragment: Fragment) -> Plan:
        """The plan with a change of the file.

        Raises: UsageError where that cannot be, by the planner or by the table of modes.
        """
        document = parse(edited(self.text, fragment), self.name)
        deployment = validate(document, Deployment)
        problems = deployment_problems(deployment, document)
        if problems:
            raise UsageError.of(problems)
        refused = self._refused(fragment)
        if refused is not None:
            raise UsageError(refused, where=self.name)
        return make_plan(question(deployment, document, self.options), overheads())

    def _refused(self, fragment: Fragment) -> str | None:
        """Why a study would not start it here."""
        if self.judge is None:
            return None
        data = study_document(str(Path(self.name).absolute()), "changed", fragment, ANY_LOAD)
        study = study_of(Document("change", data, {}), Path(self.name).absolute().parent)
        return self.judge.arm(study.arm("changed"), {}).ruled_out


def read_question(file: str, options: argparse.Namespace) -> Question:
    """Read a deployment file and plan it. Raises: UsageError where the file is wrong."""
    deployment, document = load_deployment(file)
    plan, why = None, None
    try:
        plan = make_plan(question(deployment, document, options), overheads())
    except UsageError as error:
        why = str(error.problems[0])
    text = Path(file).read_text(encoding="utf-8-sig")
    elsewhere = options.gpu is not None or options.gpu_memory is not None
    return Question(file, text, deployment, options, plan, why, None if elsewhere else Judge.here())


def device(gpu: Gpu) -> Device:
    """The rates that shares are taken of: those of the type that weights have."""
    return Device(
        bandwidth_bytes_per_s=gpu.bandwidth_bytes_per_s,
        flops=gpu.bf16_flops,
        source=gpu.title,
        assumed=gpu.rates_kind == "default",
    )
