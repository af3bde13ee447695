"""What can be asked of `teapot plan`, and what of it would not be heard beside the rest.

Owns: the options, and the refusals of those that say nothing where they stand. Knows nothing about answers.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Mapping

from deploy.commands.argument_types import count, positive, share, size, whole
from deploy.plan_fleet import OPTIONS, add_options
from deploy.planning import VERSION
from serving.errors import Problem

_PARALLEL = "use its mode parallel"
OF_THE_FILE: Mapping[str, str] = {
    "device": "use --set engine.device=cpu",
    "count": _PARALLEL,
    "tensor": _PARALLEL,
    "pipeline": _PARALLEL,
    "data": _PARALLEL,
    "expert": _PARALLEL,
    "weight_format": "use its mode quantized_weights",
    "kv_format": "use its mode quantized_kv",
    "max_model_len": "use --set engine.max_model_len=N",
    "max_num_seqs": "use --set engine.max_num_seqs=N",
    "max_num_batched_tokens": "use its mode chunked_prefill",
    "gpu_memory_utilization": "use --set engine.gpu_memory_utilization=X",
    "kv_cache_memory": "use --set engine.kv_cache_memory=SIZE",
    "enforce_eager": "use --set engine.args.enforce-eager=true",
    "vllm_version": "use --set engine.version=X",
    "draft": "use its mode speculative",
    "speculate": "use its mode speculative",
    "compare": "compare models: --model DIR --compare",
}
"""What only --model has, and where a deployment file says it."""
OF_CACHES = frozenset({"file", "model", "set", "json"})
"""All that a comparison of several models' caches hears, and what is refused anyway."""
OF_AXES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "formats": ("the rows are formats", ("weight_format", "kv_format")),
    "gpus": ("each kind of GPU has its own", ("gpu", "gpu_memory", "bandwidth", "flops", "fp8_flops")),
    "counts": ("the rows are numbers of devices", ("count", "tensor", "pipeline", "data")),
}
"""What a table goes through, so that one value of it would not be heard."""
AXES = tuple(OF_AXES)
OF_GPUS = ("gpu_memory", "fp8_flops", "gpu_memory_utilization", "enforce_eager")
"""What says nothing of a CPU."""
OF_FLEETS = frozenset({"fleet", "run", "file", "model", "json", *OPTIONS})
"""All that a fleet hears, and what is refused anyway."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what is asked, on which devices, split how, and how the answer is shown."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="a deployment file")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a value of FILE"
    )
    parser.add_argument("--model", nargs="+", help="a folder or config.json; several: their caches compared")
    _devices(parser)
    _serving(parser)
    _workload(parser)
    add_options(parser)
    parser.add_argument("--compare", nargs="*", choices=AXES, help="a table over these; none named: formats")
    parser.add_argument(
        "--price", nargs="+", default=[], metavar="GPU=X", help="per device and hour, for --compare"
    )
    parser.add_argument("--html", metavar="PATH", help="write the plan as one page")


def _devices(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("devices")
    group.add_argument(
        "--device", choices=("cpu", "cuda"), help="with --model; cpu: this machine's. With FILE: its own"
    )
    group.add_argument("--gpu", help="the kind of device, such as h100-sxm")
    group.add_argument(
        "--gpu-memory", type=size, help="memory of a device, such as 80GiB, in place of the table's"
    )
    group.add_argument(
        "--bandwidth", type=positive, help="GB/s of a device that is not known, or of a rank's cores"
    )
    group.add_argument("--flops", type=positive, help="dense bf16 TFLOP/s of such a device")
    group.add_argument("--fp8-flops", type=positive, help="dense FP8 TFLOP/s of such a device")
    group.add_argument("--count", type=count, help="devices")
    group.add_argument("--tensor", type=count, help="ranks that share every layer; default: all devices")
    group.add_argument("--pipeline", type=count, help="stages of consecutive layers")
    group.add_argument("--data", type=count, help="copies")
    group.add_argument("--expert", action="store_true", help="spread whole experts over all ranks")


def _serving(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("serving (without FILE)")
    group.add_argument("--weight-format", help="storage of the weights; default: the checkpoint's, else bf16")
    group.add_argument("--kv-format", default="auto", help="format of the KV cache")
    group.add_argument("--max-model-len", type=count, help="tokens; default: the model's own")
    group.add_argument("--max-num-seqs", type=count, help="default: vLLM's for the device")
    group.add_argument("--max-num-batched-tokens", type=count, help="default: vLLM's for the device")
    group.add_argument("--gpu-memory-utilization", type=share, help="default: vLLM's")
    group.add_argument("--kv-cache-memory", type=size, help="a fixed KV cache a device, such as 20GiB")
    group.add_argument("--enforce-eager", action="store_true", help="no CUDA graphs")
    group.add_argument(
        "--vllm-version", help=f"whose overheads hold; default: {VERSION}, on CPU the installed build's"
    )
    group.add_argument("--speculate", type=count, metavar="K", help="drafted tokens a step")
    group.add_argument("--acceptance", type=float, metavar="ALPHA", help="of the next drafted token, 0 to 1")
    group.add_argument(
        "--acceptance-by-position", metavar="A,B,..", help="measured share reaching each position"
    )
    group.add_argument("--draft", help="the drafting model: a folder or config.json")
    group.add_argument("--link", type=positive, help="GB/s between prefilling and decoding engines")


def _workload(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("load")
    group.add_argument("--users", type=count, help="requests at once that must fit")
    group.add_argument("--input-tokens", type=count, help="of a prompt")
    group.add_argument("--output-tokens", type=whole, help="of an answer")
    group.add_argument("--p50-tokens", type=count, help="prompt and answer together at the median")
    group.add_argument("--p95-tokens", type=count, help="prompt and answer together at the 95th percentile")
    group.add_argument("--workload", metavar="FILE", help="a workload file, for its lengths")
    group.add_argument(
        "--run", metavar="DIR", help="a run folder: its lengths, and measured times beside the floors"
    )
    group.add_argument("--efficiency", type=share, help="measured share of the decode floor that is reached")


def dropped(args: argparse.Namespace) -> Iterator[Problem]:
    """What is said and would not be heard."""
    if args.file:
        for name, fix in OF_THE_FILE.items():
            if _said(args, name):
                yield Problem("a deployment file says this itself", _option(name), fix)
    elif args.set:
        yield Problem(
            "there is no file whose value it could change", "--set", "say it by an option, or give FILE"
        )
    if args.device == "cpu" and (said := [_option(name) for name in OF_GPUS if _said(args, name)]):
        yield Problem("is of GPUs, and the device is cpu", ", ".join(said), "leave it out")
    if args.price and args.compare is None:
        yield Problem("prices are for a table", "--price", "give --compare too")
    if args.model and len(args.model) > 1:
        if said := unheard(args, OF_CACHES):
            what = "caches of several models are compared whatever the device and the load"
            yield Problem(what, ", ".join(said), "leave it out, or name one model")
    elif args.compare is not None:
        if args.html:
            yield Problem("a table has no page", "--html", "leave --html or --compare out")
        for axis in args.compare or ["formats"]:
            what, names = OF_AXES[axis]
            if said := [_option(name) for name in names if _said(args, name)]:
                yield Problem(what, ", ".join(said), f"leave it out of --compare {axis}")


def unheard(args: argparse.Namespace, heard: Collection[str]) -> list[str]:
    """The options that are said and not among those that are heard."""
    return [_option(name) for name in vars(args) if name not in heard and _said(args, name)]


def _said(args: argparse.Namespace, name: str) -> bool:
    value = getattr(args, name)
    # `--compare` alone is an empty list, and so are options that may be repeated where nobody gave them.
    return value not in (None, False, "auto") and (value != [] or name == "compare")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
