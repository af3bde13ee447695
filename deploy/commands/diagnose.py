"""`teapot diagnose`: what binds a running deployment, and which lever comes next.

Owns: the command's arguments, and the order in which evidence is gathered, judged and shown. Knows nothing
about rules or levers.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from deploy.commands.argument_types import duration, positive, share, size
from serving.console import Console
from serving.errors import EXIT_INVALID_MEASUREMENT, EXIT_OK, UsageError

HELP = "what binds a running deployment, which lever comes next and what it should gain"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="the deployment file: adds objectives, seats, gains, changes"
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--prometheus",
        metavar="URL",
        help="a Prometheus that scrapes the engines (default: http://127.0.0.1:9090)",
    )
    source.add_argument("--engine", metavar="URL", help="watch this engine's /metrics")
    source.add_argument("--run", metavar="DIR", type=Path, help="the run folder of a load")
    parser.add_argument(
        "--for",
        dest="within",
        type=duration,
        default=60.0,
        metavar="TIME",
        help="how long to watch, or how far to look back, with its unit (default: 60s)",
    )
    parser.add_argument("--deployment", metavar="NAME", help="only this deployment's engines in Prometheus")
    parser.add_argument(
        "--acceptance",
        type=share,
        metavar="X",
        help="chance, 0..1, that a drafted token is accepted, where speculation was tried elsewhere",
    )
    _device(parser)


def _device(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the device, with FILE, where it is not this machine's")
    group.add_argument("--gpu", help="its kind, such as h100-sxm")
    group.add_argument("--gpu-memory", type=size, help="its memory, such as 80GiB, in place of the table's")
    group.add_argument("--bandwidth", type=positive, help="GB/s of a device not known, or of a rank's cores")
    group.add_argument("--flops", type=positive, help="dense bf16 TFLOP/s of such a device")
    group.add_argument("--fp8-flops", type=positive, help="dense FP8 TFLOP/s of such a device")
    parser.set_defaults(device=None)


def run(args: argparse.Namespace, console: Console) -> int:
    """Diagnose every engine that was seen."""
    from deploy.diagnose.diagnosis import document
    from deploy.diagnose.gather import asked, gathered
    from deploy.diagnose.report import text
    from deploy.diagnose.tried import Tried
    from serving.engine.folders import data_folder

    tried = Tried(data_folder(os.environ, Path.home()).state)
    found = gathered(args, console, time.time(), tried, asked(args))
    if not found:
        raise UsageError(
            "no engine was read twice", where="--for", fix="look at a longer time, such as --for 2m"
        )
    console.document(document(found))
    console.result(text(found))
    return EXIT_INVALID_MEASUREMENT if all(each.refused for each in found) else EXIT_OK
