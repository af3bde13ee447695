"""`teapot diagnose`: what binds a running deployment, and which lever comes next.

Owns: the command's arguments, and the order in which evidence is gathered, judged and shown. Knows nothing
about rules or levers.
"""

from __future__ import annotations

import argparse
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.commands.argument_types import count, duration, positive, share, size
from serving.console import Console
from serving.errors import EXIT_INVALID_MEASUREMENT, EXIT_OK, UsageError

if TYPE_CHECKING:
    from deploy.diagnose.diagnosis import Diagnosis
    from deploy.diagnose.question import Question
    from deploy.diagnose.tried import Tried
    from deploy.diagnose.verifying import Verified

REPEATS = 3


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
    parser.add_argument(
        "--deployment", metavar="NAME", help="only this one's engines in Prometheus (default: FILE's)"
    )
    parser.add_argument(
        "--acceptance",
        type=share,
        metavar="X",
        help="chance, 0..1, that a drafted token is accepted, where speculation was tried elsewhere",
    )
    _verification(parser)
    _device(parser)


def _verification(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("verification, with FILE")
    group.add_argument(
        "--verify", action="store_true", help="try the lever: a study of the deployment with and without it"
    )
    group.add_argument("--lever", metavar="ID", help="in place of the one that comes next")
    group.add_argument("--workload", metavar="FILE", help="what is sent (default: a load as it was seen)")
    group.add_argument("--repeats", type=count, metavar="N", help=f"pairs of starts (default: {REPEATS})")
    group.add_argument("--out", type=Path, metavar="DIR", help="the study's folder (default: in runs/)")


def _device(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the device, with FILE, where it is not this machine's")
    group.add_argument("--gpu", help="its kind, such as h100-sxm")
    group.add_argument("--gpu-memory", type=size, help="its memory, such as 80GiB, in place of the table's")
    group.add_argument("--bandwidth", type=positive, help="GB/s of a device not known, or of a rank's cores")
    group.add_argument("--flops", type=positive, help="dense bf16 TFLOP/s of such a device")
    group.add_argument("--fp8-flops", type=positive, help="dense FP8 TFLOP/s of such a device")
    parser.set_defaults(device=None)


def run(args: argparse.Namespace, console: Console) -> int:
    """Diagnose every engine that was seen, and try a lever where that is asked."""
    _refuse_what_would_be_dropped(args)
    _refuse_what_cannot_be_tried(args)
    from deploy.diagnose.diagnosis import document
    from deploy.diagnose.gather import asked, gathered
    from deploy.diagnose.report import text
    from deploy.diagnose.tried import Tried
    from serving.engine.folders import data_folder

    tried, question = Tried(data_folder(os.environ, Path.home()).state), asked(args)
    found = gathered(args, console, time.time(), tried, question)
    if not found:
        raise UsageError(
            "no engine was read twice", where="--for", fix="look at a longer time, such as --for 2m"
        )
    console.result(text(found))
    if not args.verify:
        console.document(document(found))
        return EXIT_INVALID_MEASUREMENT if all(each.refused for each in found) else EXIT_OK
    verified = _verified(args, console, found, question, tried)
    console.document(document(found) | {"verified": verified.document()})
    console.result(verified.text())
    return verified.exit_code


def _refuse_what_would_be_dropped(args: argparse.Namespace) -> None:
    device = ("gpu", "gpu_memory", "bandwidth", "flops", "fp8_flops", "acceptance")
    needs = {
        "FILE": () if args.file else device,
        "--verify": () if args.verify else ("lever", "workload", "repeats", "out"),
    }
    for needed, names in needs.items():
        for name in names:
            if getattr(args, name) is not None:
                fix = f"give {needed} too, or leave it out"
                raise UsageError(
                    f"says nothing without {needed}", where=f"--{name.replace('_', '-')}", fix=fix
                )


def _refuse_what_cannot_be_tried(args: argparse.Namespace) -> None:
    """Before anything is watched for a minute."""
    if args.verify and args.file is None:
        what, fix = "there is no deployment to try it on", "teapot diagnose FILE --verify"
        raise UsageError(what, where="--verify", fix=fix)
    if args.lever is not None:
        from deploy.diagnose.levers import LEVERS
        from serving.modes.spelling import suggest

        known = [lever.id for lever in LEVERS]
        if args.lever not in known:
            fix = suggest(args.lever, known, "levers are")
            raise UsageError(f"there is no lever '{args.lever}'", where="--lever", fix=fix)


def _verified(
    args: argparse.Namespace,
    console: Console,
    found: list[Diagnosis],
    question: Question | None,
    tried: Tried,
) -> Verified:
    from deploy.diagnose.verifying import Wanted, verify
    from deploy.study.session import run_document

    wanted = Wanted(lever=args.lever, workload=args.workload, repeats=args.repeats or REPEATS, out=args.out)
    return verify(
        found,
        question,
        wanted,
        tried=tried,
        console=console,
        now=datetime.now(UTC),
        run_study=run_document,
    )
