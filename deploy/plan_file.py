"""Plans a deployment file without installing or starting anything.

Owns: what stands in for the parts that a start would find: model files, device, version, machine. Knows
nothing about the arithmetic (`serving.planner.fit`).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from deploy.plan_calibration import calibrate
from deploy.plan_cpu import cpu_device
from deploy.plan_inputs import read_shape
from deploy.plan_load import drafting, lengths
from deploy.planning import VERSION, gpu_of
from serving.config.document import Document
from serving.config.layout import engine_slots, ranks
from serving.config.load import load_deployment
from serving.config.revisions import require_engines
from serving.config.schema import Deployment
from serving.engine.devices import nvidia_driver_answers, resolve_device
from serving.engine.machine import read_machine
from serving.engine.recipes import recipe_of
from serving.errors import UsageError
from serving.facts.hardware import Gpu
from serving.facts.load import gpus, kv_formats, latent_storage, model_configs, overheads, weight_storage
from serving.modes.disaggregated import Disaggregated
from serving.modes.mode import Device, MachineFacts
from serving.modes.speculative import Speculative
from serving.planner.ask import Ask
from serving.planner.fit import Facts, Model, Place, deployment_ask
from serving.planner.plan import Plan, make_plan

NOT_MOVED = "what moving a prompt's KV cache to the decoding engine takes is not told: give --link, GB/s"
NOT_PREDICTED = "what speculation gains is not predicted: give its measured --acceptance(-by-position)"


def facts() -> Facts:
    """All tables that a plan needs."""
    return Facts(kv_formats(), latent_storage(), weight_storage(), gpus(), overheads())


def plan_file(args: argparse.Namespace) -> Plan:
    """The plan of one engine of a deployment file. Raises: UsageError with file and key."""
    deployment, document = load_deployment(args.file, args.set)
    require_engines(deployment, document, "plan")
    args = _with_drafts(args, deployment)
    ask = replace(
        question(deployment, document, args),
        users=args.users,
        lengths=lengths(args),
        efficiency=args.efficiency,
        link_bytes_per_s=args.link * 1e9 if args.link else None,
    )
    if deployment.mode(Speculative) and not args.speculate:
        ask = replace(ask, shape=replace(ask.shape, notes=(*ask.shape.notes, NOT_PREDICTED)))
    if deployment.mode(Disaggregated) and not args.link:
        ask = replace(ask, shape=replace(ask.shape, notes=(*ask.shape.notes, NOT_MOVED)))
    if args.run:
        ask = calibrate(ask, args.run)
    return make_plan(replace(ask, drafting=drafting(args, ask)), overheads())


def question(deployment: Deployment, document: Document, args: argparse.Namespace) -> Ask:
    """What is asked about one engine of a deployment on the device that the options name.

    Raises: UsageError with file and key.
    """
    model = _model(deployment, document, Path(document.name).parent)
    return deployment_ask(deployment, model, _place(args, deployment, document), facts())[0]


def _model(deployment: Deployment, document: Document, folder: Path) -> Model:
    shape, checkpoint = read_shape(_local(deployment.model, folder, document.where(("model",))))
    draft = None
    if found := deployment.placed_mode(Speculative):
        at, mode = found
        if mode.model and mode.method == "draft_model":
            where = document.where(("modes", at, "model"))
            draft = read_shape(_local(mode.model, folder, where))[0]
    return Model(shape, checkpoint, draft)


def _with_drafts(args: argparse.Namespace, deployment: Deployment) -> argparse.Namespace:
    """The options, with the tokens that the file drafts where an acceptance is given without them."""
    mode = deployment.mode(Speculative)
    if args.acceptance is None and args.acceptance_by_position is None:
        return args
    if mode is None:
        raise UsageError(
            "the file drafts nothing that this could be said of",
            where="--acceptance, --acceptance-by-position",
            fix="give it the mode speculative",
        )
    return argparse.Namespace(**{**vars(args), "speculate": mode.tokens})


def _local(model: str, folder: Path, where: str) -> str:
    path = (folder / Path(model).expanduser()).resolve()
    if path.is_dir():
        return str(path)
    if model in model_configs():
        return model
    raise UsageError(
        f"'{model}' is not a folder on this machine, so its config.json cannot be read",
        where=where,
        fix="copy its config.json into a folder and use --set model=FOLDER, or --model FOLDER --gpu NAME",
    )


def _place(args: argparse.Namespace, deployment: Deployment, document: Document) -> Place:
    asked = deployment.engine.device
    elsewhere = args.gpu is not None or args.gpu_memory is not None
    device: Device
    if elsewhere:
        device = "rocm" if asked == "rocm" or (args.gpu and gpu_of(args).device == "rocm") else "cuda"
    else:
        has_nvidia = asked != "cpu" and nvidia_driver_answers()
        if asked == "cuda" and not has_nvidia:
            raise UsageError(
                "no NVIDIA driver answers on this machine, so its GPU cannot be read",
                where=document.where(("engine", "device")),
                fix="name the kind of GPU to plan for, such as --gpu h100-sxm",
            )
        device = resolve_device(asked, has_nvidia=has_nvidia)
    version = deployment.engine.version
    if device == "rocm" and elsewhere:
        # Nothing is installed for it here, and none of that is needed to plan.
        version = VERSION if version == "auto" else version
    else:
        version = recipe_of(deployment, document, device).version
    machine = read_machine(accelerators=device != "cpu" and not elsewhere)
    if device == "cpu":
        return Place(device, version, machine, _cores(args, deployment, machine))
    return Place(device, version, machine, gpu_of(args) if elsewhere else None)


def _cores(args: argparse.Namespace, deployment: Deployment, machine: MachineFacts) -> Gpu | None:
    """The cores of one rank of one engine."""
    slot = engine_slots(deployment, machine, device="cpu")[0]
    each = ranks(deployment)
    cores = max(1, len(slot.cores or machine.cores) // each)
    return cpu_device(args, cores=cores, memory_bytes=machine.memory_available_bytes // each)
