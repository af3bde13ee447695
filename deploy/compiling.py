"""Whether an engine on CPU can compile the model, which takes a C++ compiler on this machine.

Owns: what is added to an engine's command where there is none, or another than torch would look for. Knows
nothing about how compilers are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from serving.config.flags import EngineCommand
from serving.modes.mode import Device, Setting

EAGER = "--enforce-eager"
NO_COMPILER = "teapot: no C++ compiler found"
"""The source of the setting, for people."""
TORCH_LOOKS_FOR = "g++"
"""Where CXX is not set (torch 2.13 _inductor/config.py, cpp.cxx)."""


def compilable(
    command: EngineCommand, device: Device, compiler: str | None, inherited: Mapping[str, str]
) -> EngineCommand:
    """The command, eager where nothing could be compiled, and with CXX where torch would not find it."""
    if device != "cpu" or any(setting.name == EAGER for setting in command.settings):
        return command
    if compiler is None:
        eager = Setting(EAGER, None, NO_COMPILER)
        return replace(command, argv=(*command.argv, EAGER), settings=(eager, *command.settings))
    if compiler == TORCH_LOOKS_FOR or "CXX" in inherited or "CXX" in command.environment:
        return command
    cxx = Setting("CXX", compiler, f"teapot: no {TORCH_LOOKS_FOR} found")
    environment = {**command.environment, "CXX": compiler}
    return replace(command, environment=environment, settings=(*command.settings, cxx))
