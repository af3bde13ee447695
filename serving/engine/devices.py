"""Which device this machine's engines run on.

Owns: asking whether an NVIDIA driver answers. Knows nothing about engines.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from serving.engine.commands import Runner, run
from serving.errors import Failed
from serving.modes.mode import Device

AskedDevice = Literal["auto", "cpu", "cuda", "rocm"]
DRIVER_FILE = Path("/proc/driver/nvidia/version")


def nvidia_driver_answers(runner: Runner = run, driver_file: Path = DRIVER_FILE) -> bool:
    """Whether `nvidia-smi -L` lists a GPU, or the kernel says that the driver is loaded."""
    listed = runner(["nvidia-smi", "-L"])
    return (
        listed.code == 0 and any(line.startswith("GPU ") for line in listed.lines)
    ) or driver_file.exists()


def resolve_device(asked: AskedDevice, *, has_nvidia: bool, force: bool = False) -> Device:
    """The device to use: `auto` takes CUDA where an NVIDIA driver answers and CPU otherwise.

    Raises: Failed for `cuda` without a driver, unless `force` (an image built elsewhere needs it).
    """
    if asked == "auto":
        return "cuda" if has_nvidia else "cpu"
    if asked == "cuda" and not has_nvidia and not force:
        raise Failed(
            "device cuda was asked for and no NVIDIA driver answers on this machine",
            fix="install the driver (nvidia-smi -L must list a GPU), use device cpu, or --force the install",
        )
    return asked
