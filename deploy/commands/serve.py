"""`teapot serve`: a deployment in the foreground, until Ctrl-C or SIGTERM.

Owns: the command's arguments and what is said once it serves. Knows nothing about how it is brought up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from functools import partial
from pathlib import Path

from deploy.prepared import prepare
from deploy.prometheus import here
from deploy.relaying import Relaying
from deploy.running import run as run_alone
from deploy.running import run_stack
from deploy.signals import terminable
from deploy.stack import Stack
from serving.config.load import load_deployment
from serving.config.revisions import own_revision
from serving.console import Console
from serving.engine.folders import data_folder
from serving.gateway import loop
from serving.gateway.elsewhere import check_elsewhere


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="the deployment file")
    add_set(parser)
    parser.add_argument(
        "--allow-ineffective", action="store_true", help="serve although a mode is proven not in effect"
    )
    parser.add_argument(
        "--no-plan", action="store_true", help="start although the plan says that it cannot fit"
    )


def add_set(parser: argparse.ArgumentParser) -> None:
    """Add `--set`, which every command with a deployment file takes."""
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a value of the file, such as gateway.port=9000; may be repeated",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Serve until a signal comes; then take everything down."""
    deployment, document = load_deployment(args.file, args.overrides)
    if own_revision(deployment) is None:
        check_elsewhere(deployment, document, Path(args.file).parent, os.environ)
        recording = None
        if deployment.prometheus.enabled is not False:
            recording = here(deployment, data_folder(os.environ, Path.home()).make())
        relaying = Relaying(deployment, Path(args.file).parent, console, recording)
        return loop.run(run_alone(relaying, console, partial(_until_stopped, console)))
    with terminable():
        prepared = prepare(
            args.file,
            args.overrides,
            console,
            allow_ineffective=args.allow_ineffective,
            plan=not args.no_plan,
        )
    work = partial(_until_stopped, console)
    return loop.run(run_stack(prepared, console, work, allow_ineffective=args.allow_ineffective))


def _watched(prometheus: str | None) -> str:
    if prometheus is None:
        return "no Prometheus is running here"
    return f"{prometheus} (Prometheus; what it scrapes: {prometheus}/targets)"


async def _until_stopped(console: Console, stack: Stack | Relaying) -> int:
    console.say(welcome(stack))
    console.document(stack.gateway.state.document() | {"url": stack.gateway.public_url})
    await asyncio.Event().wait()
    return 0


def welcome(stack: Stack | Relaying) -> str:
    """What a person needs next: the address, a curl line, where to look."""
    url = stack.gateway.public_url
    if isinstance(stack, Stack):
        model = stack.prepared.model.name
        engines = ", " + ", ".join(f"{engine}/metrics" for engine in stack.engine_urls) + " (engine)"
    else:
        model, engines = "MODEL", ""
    body = json.dumps(
        {"model": model, "messages": [{"role": "user", "content": "What is the capital of France?"}]}
    )
    return "\n".join(
        [
            "",
            f"API      {url}/v1",
            f"try      curl {url}/v1/chat/completions -H 'Content-Type: application/json' -d '{body}'",
            f"metrics  {stack.gateway.admin_url}/metrics (gateway){engines}",
            f"status   teapot status --admin {stack.gateway.admin_url}",
            f"watch    {_watched(stack.gateway.state.prometheus)}",
            "stop     Ctrl-C",
        ]
    )
