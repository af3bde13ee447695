"""This machine's CPU as a device to plan for.

Owns: reading what the kernel says of it, and whose rates hold: the options', else the assumed ones. Knows
nothing about the arithmetic (`serving.planner`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from serving.errors import UsageError
from serving.facts.hardware import Gpu
from serving.facts.load import processors
from serving.facts.processors import Processor

ROOT = Path("/")
CLOCK = "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"
"""In kHz; virtual machines have none."""


def read_processor(root: Path = ROOT) -> Processor | None:
    """The first core's own words; None where its clock is not told. `root` holds /proc and /sys."""
    said = _first_core(root / "proc/cpuinfo")
    hz = _number(_text(root / CLOCK)) * 1e3 or _number(said.get("cpu MHz", "")) * 1e6
    if not hz:
        return None
    flags = said.get("flags") or said.get("Features") or ""
    return Processor(said.get("model name") or "CPU", hz, frozenset(flags.split()))


def this_cpu(args: argparse.Namespace) -> Gpu:
    """An equal share of this machine for each rank. Raises: UsageError where its rates are not known."""
    from serving.engine.machine import read_machine

    machine = read_machine(accelerators=False)
    each = args.count or (args.tensor or 1) * (args.pipeline or 1) * (args.data or 1)
    cores = len(machine.cores) // each
    if not cores:
        what = f"{each} ranks and this machine has {len(machine.cores)} cores"
        raise UsageError(what, where="--device cpu", fix="give each rank a core of its own")
    found = cpu_device(args, cores=cores, memory_bytes=machine.memory_available_bytes // each)
    if found is None:
        what = "this machine's CPU tells neither its clock nor instructions that teapot knows"
        raise UsageError(what, where="--device cpu", fix="give --bandwidth and --flops (GB/s, TFLOP/s)")
    return found


def cores_here() -> int:
    """Cores that this process may use, and so the most ranks."""
    from serving.engine.machine import read_machine

    return len(read_machine(accelerators=False).cores)


def default_cache_bytes() -> int:
    """What teapot gives an engine on this machine's CPU where nobody says."""
    from serving.config.layout import default_kv_cache_bytes
    from serving.config.schema import Deployment
    from serving.engine.machine import read_machine

    return default_kv_cache_bytes(Deployment(name="plan"), read_machine(accelerators=False))


def cpu_device(args: argparse.Namespace, *, cores: int, memory_bytes: int, root: Path = ROOT) -> Gpu | None:
    """So many cores of this machine; None where their rates are neither given nor known."""
    processor = read_processor(root)
    found = processors().rates(processor, cores=cores, memory_bytes=memory_bytes) if processor else None
    if args.bandwidth is None and args.flops is None:
        return found
    if found is None and (args.bandwidth is None or args.flops is None):
        return None
    bandwidth = args.bandwidth * 1e9 if args.bandwidth else found.bandwidth_bytes_per_s if found else 0.0
    flops = args.flops * 1e12 if args.flops else found.bf16_flops if found else 0.0
    said = [f"{flag} {value:g}" for flag, value in _given(args) if value]
    return Gpu(
        name="cpu",
        title=found.title if found else f"CPU, {cores} cores",
        memory_bytes=memory_bytes,
        memory_kind="device",
        bandwidth_bytes_per_s=bandwidth,
        bf16_flops=flops,
        fp8_flops=None,
        rates_kind="given" if len(said) == 2 or found is None else "default",
        source=", ".join(said) + (f"; else {found.source}" if found and len(said) == 1 else ""),
        date="",
    )


def _given(args: argparse.Namespace) -> tuple[tuple[str, float | None], ...]:
    return ("--bandwidth", args.bandwidth), ("--flops", args.flops)


def _first_core(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _text(path).splitlines():
        key, colon, value = line.partition(":")
        if not colon and found:
            break
        found[key.strip()] = value.strip()
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
