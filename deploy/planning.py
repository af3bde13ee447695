"""From what `teapot plan` names to questions for the planner: configs, headers, workloads, runs, tables of
facts.

Owns: reading them, with errors that name file and key. Knows nothing about the arithmetic
(`serving.planner`).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from deploy.plan_calibration import calibrate
from deploy.plan_cpu import cores_here, default_cache_bytes, this_cpu
from deploy.plan_inputs import read_shape
from deploy.plan_load import drafting, lengths
from serving.errors import UsageError
from serving.facts.hardware import Gpu, close_gpus, find_gpu
from serving.facts.load import gpus, kv_formats, latent_storage, weight_storage
from serving.facts.storage import WeightStorage, find_storage
from serving.planner.ask import Ask
from serving.planner.headers import Checkpoint
from serving.planner.kv_layers import kv_storage
from serving.planner.shape import ModelShape
from serving.planner.weights import Ranks

Device = Literal["cpu", "cuda", "rocm"]
VERSION = "0.33.0"
"""Of vLLM, where nobody says: what a GPU machine installs."""
COUNTS = (1, 2, 4, 8)
"""Of devices, that are compared."""
NUMBERED = r"\d+(\.\d+)+((a|b|rc|\.post|\.dev)\d+)*(\+[\w.]+)?"
"""A version as Python packages have them."""


class Spread(NamedTuple):
    """What the options say of devices."""

    ranks: Ranks
    note: str | None = None


def model_ask(args: argparse.Namespace, model: str, gpu: Gpu) -> Ask:
    """The question about one model on one kind of device. Raises: UsageError."""
    shape, checkpoint = read_shape(model, named=args.weight_format is not None)
    return build_ask(args, shape, checkpoint, gpu)


def build_ask(args: argparse.Namespace, shape: ModelShape, checkpoint: Checkpoint | None, gpu: Gpu) -> Ask:
    """The question about a shape."""
    device: Device = "cpu" if args.device == "cpu" else gpu.device
    storage = storage_of(args.weight_format, shape)
    stored = args.weight_format is None or storage.name == (shape.quantization or "bf16")
    spread = spread_of(args, shape)
    draft = read_shape(args.draft)[0] if args.draft else None
    if spread.note:
        shape = replace(shape, notes=(*shape.notes, spread.note))
    ask = Ask(
        shape=shape,
        weights=storage,
        cache=kv_storage(args.kv_format, kv_formats(), latent_storage(), device=device),
        device=device,
        version=version_of(args),
        gpu=gpu,
        memory_bytes=gpu.memory_bytes,
        ranks=spread.ranks,
        max_model_len=args.max_model_len or shape.served_len,
        max_num_seqs=args.max_num_seqs,
        max_num_batched_tokens=args.max_num_batched_tokens,
        utilization=args.gpu_memory_utilization,
        kv_cache_bytes=_cache_bytes(args),
        graphs=not args.enforce_eager,
        users=args.users,
        lengths=lengths(args),
        checkpoint=checkpoint if stored else None,
        efficiency=args.efficiency,
        draft_shape=draft,
        draft_weights=storage_of(None, draft) if draft else None,
        link_bytes_per_s=args.link * 1e9 if args.link else None,
    )
    if args.run:
        ask = calibrate(ask, args.run)
    return replace(ask, drafting=drafting(args, ask))


def _cache_bytes(args: argparse.Namespace) -> int | None:
    """A fixed KV cache: as asked, on CPU else what teapot gives an engine; None: what is left of a GPU."""
    if args.kv_cache_memory is not None:
        return int(args.kv_cache_memory)
    return default_cache_bytes() if args.device == "cpu" else None


def version_of(args: argparse.Namespace) -> str:
    """The version of vLLM: as asked, else what `teapot engine install` installs for the device.

    Raises: UsageError.
    """
    if args.vllm_version is not None and not re.fullmatch(NUMBERED, args.vllm_version):
        raise UsageError(
            f"'{args.vllm_version}' is no version", where="--vllm-version", fix=f"write it like {VERSION}"
        )
    if args.vllm_version or args.device != "cpu":
        return args.vllm_version or VERSION
    from serving.engine.recipes import choose_recipe

    return choose_recipe("cpu", "auto").version


def storage_of(name: str | None, shape: ModelShape) -> WeightStorage:
    """The storage of the weights: as asked, else as the checkpoint has them. Raises: UsageError."""
    wanted = shape.quantization or "bf16" if name is None else name
    found = find_storage(wanted, weight_storage())
    if found is None:
        raise _unknown(wanted, "--weight-format", list(weight_storage()))
    return replace(found, ignore=shape.ignore)


def gpu_of(args: argparse.Namespace) -> Gpu:
    """The device: this machine's CPU, or one by name, or by its figures. Raises: UsageError."""
    if args.device == "cpu":
        if args.gpu:
            raise UsageError(
                "a GPU is named and the device is cpu", where="--gpu", fix="leave one of them out"
            )
        return this_cpu(args)
    given = {"--gpu-memory": args.gpu_memory, "--bandwidth": args.bandwidth, "--flops": args.flops}
    missing = [flag for flag, value in given.items() if value is None]
    if not missing:
        return Gpu(
            name=args.gpu or "given",
            title=args.gpu or "a device by its figures",
            memory_bytes=args.gpu_memory,
            memory_kind="given",
            bandwidth_bytes_per_s=args.bandwidth * 1e9,
            bf16_flops=args.flops * 1e12,
            fp8_flops=args.fp8_flops * 1e12 if args.fp8_flops else None,
            rates_kind="given",
            source=", ".join(given),
            date="",
        )
    if args.gpu is not None:
        return _with_rates(gpu_named(args.gpu, args.gpu_memory), args)
    names = f"name one of {', '.join(gpus())}"
    if len(missing) < len(given):
        what = f"a device by its figures lacks {' and '.join(missing)}"
        said = ", ".join(flag for flag in given if flag not in missing)
        raise UsageError(what, where=said, fix=f"give {' and '.join(missing)} too; or --gpu: {names}")
    fix = f"{names}; or give --gpu-memory, --bandwidth and --flops; or --device cpu"
    raise UsageError("no device is named", where="--gpu", fix=fix)


def _with_rates(gpu: Gpu, args: argparse.Namespace) -> Gpu:
    """A known device with those of its rates that the options say otherwise."""
    rates = {"--bandwidth": args.bandwidth, "--flops": args.flops, "--fp8-flops": args.fp8_flops}
    said = [flag for flag, value in rates.items() if value is not None]
    if not said:
        return gpu
    return replace(
        gpu,
        bandwidth_bytes_per_s=args.bandwidth * 1e9 if args.bandwidth else gpu.bandwidth_bytes_per_s,
        bf16_flops=args.flops * 1e12 if args.flops else gpu.bf16_flops,
        fp8_flops=args.fp8_flops * 1e12 if args.fp8_flops else gpu.fp8_flops,
        source=f"{', '.join(said)}; else {gpu.source}",
    )


def gpu_named(name: str, memory: int | None = None) -> Gpu:
    """The device of that name. Raises: UsageError with close names."""
    found = find_gpu(name, gpus())
    if found is None:
        close = close_gpus(name, gpus())
        near = f"did you mean {' or '.join(close)}? " if close else f"known are {', '.join(gpus())}; "
        raise UsageError(
            f"the GPU '{name}' is not known",
            where="--gpu",
            fix=f"{near}or give --gpu-memory 80GiB --bandwidth 3350 --flops 989 (GB/s, dense bf16 TFLOP/s)",
        )
    return found if memory is None else replace(found, memory_bytes=memory, memory_kind="given")


def spread_of(args: argparse.Namespace, shape: ModelShape) -> Spread:
    """The degrees of parallelism; where none is given, all devices share every layer. Raises: UsageError."""
    pipeline, data = args.pipeline or 1, args.data or 1
    count = args.count or (args.tensor or 1) * pipeline * data
    note = None
    tensor = args.tensor
    if tensor is None:
        tensor = max(1, count // (pipeline * data))
        if tensor > 1:
            note = f"--tensor is not given: {tensor}, all devices share every layer"
    used = tensor * pipeline * data
    if used != count:
        raise UsageError(
            f"tensor {tensor} x pipeline {pipeline} x data {data} is {used} devices and --count is {count}",
            where="--tensor, --pipeline, --data",
            fix=f"make their product {count}",
        )
    return Spread(Ranks(tensor, pipeline, data, args.expert), note)


def variants(
    args: argparse.Namespace, gpu: Gpu, axes: Sequence[str]
) -> list[tuple[str, argparse.Namespace, Gpu]]:
    """The options of each variant of a comparison, over the axes `formats`, `gpus` and `counts`."""
    found = [("", args, gpu)]
    if "gpus" in axes:
        found = [
            (f"{label} {other.name}", options, other)
            for label, options, _ in found
            for other in gpus().values()
        ]
    if "counts" in axes:
        found = [
            (f"{label} x{count}", options, this_cpu(options) if args.device == "cpu" else device)
            for label, asked, device in found
            for count in COUNTS
            if args.device != "cpu" or count <= cores_here()
            for options in [_with(asked, count=count, tensor=count, data=1, pipeline=1)]
        ]
    if "formats" in axes:
        pairs = [("bf16", "bf16"), ("bf16", "fp8"), ("fp8_per_block", "bf16"), ("fp8_per_block", "fp8")]
        pairs += [("awq", "bf16"), ("awq", "fp8")]
        found = [
            (f"{label} weights {w}, KV {kv}", _with(options, weight_format=w, kv_format=kv), device)
            for label, options, device in found
            for w, kv in pairs
        ]
    return [(label.strip(), options, device) for label, options, device in found]


def prices(words: Sequence[str]) -> dict[str, float]:
    """`h100-sxm=2.5` as a price per device and hour. Raises: UsageError."""
    found = {}
    for word in words:
        name, _, value = word.partition("=")
        gpu = find_gpu(name, gpus())
        if gpu is None:
            raise _unknown(name, "--price", tuple(gpus()))
        if gpu.name in found:
            raise UsageError(f"names {gpu.name} twice", where="--price", fix="give one price of each")
        try:
            price = float(value)
        except ValueError:
            price = -1.0
        if not 0 <= price < float("inf"):
            raise UsageError(f"'{word}' is no price", where="--price", fix="write h100-sxm=2.5")
        found[gpu.name] = price
    return found


def _with(args: argparse.Namespace, **changed: Any) -> argparse.Namespace:
    return argparse.Namespace(**{**vars(args), **changed})


def _unknown(name: str, where: str, known: Sequence[str]) -> UsageError:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    fix = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(known)}"
    return UsageError(f"'{name}' is not known", where=where, fix=fix)
