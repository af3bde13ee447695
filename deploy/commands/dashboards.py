"""`teapot dashboards`: boards, rules and alerts, made, checked, drawn and sent.

Owns: the registry of actions. Knows nothing about what an action does.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module
from typing import cast

from deploy.cli import Command, CommandModule
from serving.console import Console

ACTIONS: Mapping[str, Command] = {
    "build": Command(
        "deploy.commands.dashboards_build", "write boards, rules and alerts; --check: only tell"
    ),
    "check": Command(
        "deploy.commands.dashboards_check", "ask a Prometheus for every panel: does it tell something true"
    ),
    "preview": Command(
        "deploy.commands.dashboards_preview", "draw every board from a Prometheus, without Grafana"
    ),
    "push": Command("deploy.commands.dashboards_push", "put the boards into a Grafana"),
}
"""An action is a module with `configure` and `run` (slow imports only in `run`) and a line here."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare all actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, command in ACTIONS.items():
        action = actions.add_parser(name, help=command.help, description=command.help)
        _module(command).configure(action)


def run(args: argparse.Namespace, console: Console) -> int:
    """Carry out the action and return its exit code."""
    return _module(ACTIONS[args.action]).run(args, console)


def _module(command: Command) -> CommandModule:
    return cast(CommandModule, import_module(command.module))
