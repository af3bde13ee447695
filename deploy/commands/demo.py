"""`teapot demo`: serve the embedded model, prove its modes, measure it, and take it down again.

Owns: the command's arguments. Knows nothing about what the demo is made of.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from deploy.commands.serve import add_set
from deploy.demo import DEPLOYMENT, WORKLOAD, Demo, story
from deploy.prepared import prepare
from deploy.running import run_stack
from deploy.signals import terminable
from loadgen.workload import Workload
from serving.config.load import load_model
from serving.console import Console
from serving.gateway import loop


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--file", type=Path, default=DEPLOYMENT, help="the deployment file")
    parser.add_argument("--workload", type=Path, default=WORKLOAD, help="the workload file")
    parser.add_argument(
        "--out", type=Path, default=None, metavar="DIR", help="the run folder (default: a new one in runs/)"
    )
    add_set(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the demo; exit 0 if the measurement is valid, 3 if it is not."""
    # First: a wrong file is said before an engine is waited for.
    workload = load_model(str(args.workload), Workload)
    with terminable():
        prepared = prepare(str(args.file), args.overrides, console)
    demo = Demo(console, args.out, workload)
    try:
        return loop.run(run_stack(prepared, console, demo))
    finally:
        if demo.result is not None:
            console.result(story(demo))
            console.document({**demo.result.summary, "folder": str(demo.result.folder)})
