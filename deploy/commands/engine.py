"""`teapot engine`: engine environments, installed and listed.

Owns: this command's arguments and what it prints. Knows nothing about how an environment is made.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from serving.console import Console
from serving.engine.devices import nvidia_driver_answers, resolve_device
from serving.engine.environments import Environment, installed
from serving.engine.folders import DataFolder, data_folder
from serving.engine.install import ensure_environment
from serving.engine.recipes import choose_recipe, recipes
from serving.errors import EXIT_OK


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare `install` and `list`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    install = actions.add_parser("install", help="make an engine environment, once; later calls find it")
    install.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="auto: cuda where an NVIDIA driver answers, else cpu (default: %(default)s)",
    )
    versions = ", ".join(f"{recipe.version} on {recipe.device}" for recipe in recipes())
    install.add_argument(
        "--version",
        default="auto",
        help=f"vLLM's version: {versions} (default: %(default)s, the device's first)",
    )
    install.add_argument(
        "--force", action="store_true", help="install for cuda although no driver answers here"
    )
    actions.add_parser("list", help="what is installed, and where")


def run(args: argparse.Namespace, console: Console) -> int:
    """Carry out the action."""
    folder = data_folder(os.environ, Path.home())
    return _install(args, folder, console) if args.action == "install" else _list(folder, console)


def _install(args: argparse.Namespace, folder: DataFolder, console: Console) -> int:
    has_nvidia = args.device != "cpu" and nvidia_driver_answers()
    device = resolve_device(args.device, has_nvidia=has_nvidia, force=args.force)
    environment = ensure_environment(choose_recipe(device, args.version), folder, console)
    console.result(f"{environment.name}  {environment.path}")
    console.document(_row(environment))
    return EXIT_OK


def _list(folder: DataFolder, console: Console) -> int:
    environments = installed(folder)
    for environment in environments:
        row = _row(environment)
        console.result(f"{environment.name}  {row['size_gb']} GB  {row['installed']}  {environment.path}")
    if not environments:
        console.say(f"no engine environment in {folder.environments}; make one: teapot engine install")
    console.document([_row(environment) for environment in environments])
    return EXIT_OK


def _row(environment: Environment) -> dict[str, object]:
    record = environment.record
    return {
        "name": environment.name,
        "device": environment.device,
        "version": environment.version,
        "path": str(environment.path),
        "python": record.get("python"),
        "packages": record.get("packages"),
        "installed": record.get("installed"),
        "size_gb": round(record.get("size_bytes", 0) / 1e9, 1),
    }
