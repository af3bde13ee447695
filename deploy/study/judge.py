"""Looks at an arm before anything is started: can it run here, and what does the planner say of it.

Owns: the questions to the modes' table and to the planner, with what this machine is. Installs nothing and
starts nothing. Knows nothing about either's rules.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from deploy.plan_cpu import cpu_device
from deploy.plan_file import facts
from deploy.plan_inputs import read_shape
from deploy.study.estimate import lengths_are_told, lengths_of
from deploy.study.reading import ArmRead
from deploy.study.rows import Arm, Floors, Planned
from loadgen.workload import Workload
from loadgen.workload_arrivals import Closed
from serving.config.flags import engine_context, engine_contexts
from serving.config.layout import engine_slots, ranks
from serving.config.schema import Deployment
from serving.config.startup import startup_problems
from serving.engine.devices import nvidia_driver_answers, resolve_device
from serving.engine.folders import DataFolder, data_folder
from serving.engine.machine import read_machine
from serving.engine.recipes import recipe_of
from serving.engine.weights import read_config
from serving.errors import Problem, TeapotError, UsageError
from serving.facts.hardware import Gpu
from serving.facts.load import model_configs
from serving.modes.disaggregated import Disaggregated
from serving.modes.mode import Device, EngineContext, MachineFacts, ModelFacts
from serving.modes.model_facts import model_facts
from serving.modes.speculative import Speculative
from serving.planner.fit import Model, Place, fit
from serving.planner.kv_layers import kv_bytes
from serving.planner.plan import Plan, draft_speed, speed
from serving.planner.roofline import decode_floor, prefill_floor
from serving.planner.weights import weight_bytes

LOOK_UP_S = 0.0
"""Drafts that are looked up in the prompt: the planner counts no time for them."""


@dataclass(frozen=True, slots=True)
class Judge:
    """This machine, as arms are judged on it."""

    machine: MachineFacts
    folder: DataFolder = field(default_factory=lambda: data_folder(os.environ, Path.home()))
    has_nvidia: bool = False

    @classmethod
    def here(cls) -> Judge:
        """Of this machine, now."""
        return cls(read_machine(accelerators=True), has_nvidia=nvidia_driver_answers())

    def device(self, deployment: Deployment) -> Device:
        """Where an arm would run. Raises: UsageError."""
        return resolve_device(deployment.engine.device, has_nvidia=self.has_nvidia)

    def arm(self, read: ArmRead, workloads: Mapping[str, Workload]) -> Arm:
        """The arm, with why it is ruled out where it is, and with the planner's figures."""
        deployment = read.deployment
        mode = deployment.mode(Speculative)
        arm = Arm(
            name=read.name,
            deployment=read.document.data,
            fragment=read.fragment,
            on=read.on,
            labels=dict(read.labels),
            model=deployment.model,
            drafted_tokens=mode.tokens if mode else 0,
        )
        try:
            device = self.device(deployment)
            recipe = recipe_of(deployment, read.document, device)
            context = self._context(deployment, device, recipe.version)
        except TeapotError as error:
            return replace(arm, ruled_out="; ".join(map(_reason, error.problems)))
        slots = engine_slots(deployment, self.machine, device=device)
        found = startup_problems(deployment, read.document, *engine_contexts(context, slots))
        grave = [_reason(entry.problem) for entry in found if entry.severity in ("error", "ineffective")]
        if grave:
            return replace(arm, ruled_out="; ".join(grave))
        return self._planned(arm, deployment, context, workloads)

    def _context(self, deployment: Deployment, device: Device, version: str) -> EngineContext:
        model, draft = self._facts(deployment.model), None
        paths = {}
        mode = deployment.mode(Speculative)
        if mode and mode.model and mode.method == "draft_model":
            draft = self._facts(mode.model)
            paths[mode.model] = str(self._place(mode.model))
        shared = engine_context(deployment, device=device, version=version, model=model, machine=self.machine)
        longest = shared.max_model_len or (model.max_position if model else None)
        return replace(shared, draft=draft, paths=paths, max_model_len=longest, inherited=dict(os.environ))

    def _place(self, model: str) -> Path | str:
        """A folder where the model's files are, or would be; a name that teapot knows by itself."""
        made = self.folder.models / model
        return made if made.is_dir() else Path(model) if Path(model).is_dir() else model

    def _facts(self, model: str) -> ModelFacts | None:
        place = self._place(model)
        if isinstance(place, Path):
            config = read_config(place)
            if isinstance(config, Problem):
                raise UsageError.of([config])
            return model_facts(place.name, config)
        return model_facts(model, model_configs()[model]) if model in model_configs() else None

    def _planned(
        self, arm: Arm, deployment: Deployment, context: EngineContext, workloads: Mapping[str, Workload]
    ) -> Arm:
        try:
            shape, checkpoint = read_shape(str(self._place(deployment.model)))
            mode = deployment.mode(Speculative)
            draft = (
                read_shape(str(self._place(mode.model)))[0] if context.draft and mode and mode.model else None
            )
            gpu = self._cores(deployment) if context.device == "cpu" else None
            place = Place(context.device, context.version, self.machine, gpu)
            model = Model(shape, checkpoint, draft)
            found = fit(deployment, model, place, facts())
        except UsageError as error:
            return replace(arm, planned=Planned(notes=(f"not planned: {error}",)))
        if not found.fits:
            return replace(arm, ruled_out=f"{found.refusal()}; {found.nearest()}")
        plan, engines = found.plan, found.engines
        weights, token = _bytes(plan)
        return replace(
            arm,
            planned=Planned(
                weight_bytes=engines * weights,
                kv_cache_tokens=engines * plan.capacity.tokens,
                kv_bytes_per_token=float(token) or None,
                floors=dict(_floors(plan, deployment, workloads)),
                notes=plan.ask.shape.notes,
            ),
        )

    def _cores(self, deployment: Deployment) -> Gpu | None:
        slot = engine_slots(deployment, self.machine, device="cpu")[0]
        each = ranks(deployment)
        cores = max(1, len(slot.cores or self.machine.cores) // each)
        no_options = argparse.Namespace(bandwidth=None, flops=None)
        return cpu_device(no_options, cores=cores, memory_bytes=self.machine.memory_available_bytes // each)


def _bytes(plan: Plan) -> tuple[int, int]:
    """Of all weights, and of a token in the cache: the model's and its draft's."""
    ask, weights, token = plan.ask, plan.weights.total_bytes, plan.cache.growing_per_token
    if ask.draft_shape is None:
        return weights, token
    drafts = weight_bytes(ask.draft_shape, ask.draft_weights or ask.weights)
    return weights + drafts, token + kv_bytes(ask.draft_shape, ask.cache).growing_per_token


def _floors(
    plan: Plan, deployment: Deployment, workloads: Mapping[str, Workload]
) -> Iterator[tuple[str, Floors]]:
    """The planner's floors under every closed loop whose lengths are known; engines share the users."""
    served, mode, pair = speed(plan.ask), deployment.mode(Speculative), deployment.mode(Disaggregated)
    decoding = pair.decode if pair else deployment.replicas
    for name, workload in workloads.items():
        if served is None or not isinstance(workload.arrival, Closed) or not lengths_are_told(workload):
            continue
        prompt, answer = lengths_of(workload)
        users = min(workload.arrival.concurrency, decoding * plan.ask.batch.max_num_seqs)
        batch, context = math.ceil(users / decoding), prompt + answer // 2
        checked = draft = None
        if mode:
            checked = decode_floor(served, batch=batch, context=context, tokens_each=mode.tokens + 1).seconds
            draft = LOOK_UP_S
            if (drafting := draft_speed(plan.ask)) is not None:
                draft = decode_floor(drafting, batch=batch, context=context).seconds
        yield (
            name,
            Floors(
                batch=users,
                context_tokens=context,
                decode_s=decode_floor(served, batch=batch, context=context).seconds,
                checked_s=checked,
                draft_s=draft,
                prefill_s=prefill_floor(served, prompt).seconds,
            ),
        )


def _reason(problem: Problem) -> str:
    """Without the place: the arm is that."""
    return f"{problem.what}; {problem.fix}" if problem.fix else problem.what
