"""`teapot diagnose`: what binds a running deployment, and which lever comes next.

Owns: the command's arguments, and what the deployment file adds to the evidence. Knows nothing about rules.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from deploy.commands.argument_types import duration
from deploy.diagnose.evidence import Evidence, Reading, of_readings
from deploy.diagnose.report import diagnose, document, text
from deploy.diagnose.sources import Readings, from_engine, from_prometheus, from_run
from serving.config.load import load_deployment
from serving.console import Console
from serving.errors import EXIT_INVALID_MEASUREMENT, EXIT_OK, UsageError

HELP = "what binds a running deployment, which lever comes next and what it should gain"
DEFAULT_PROMETHEUS = "http://127.0.0.1:9090"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="the deployment file: adds its objectives and max_num_seqs"
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--prometheus",
        metavar="URL",
        help=f"a Prometheus that scrapes the engines (default: {DEFAULT_PROMETHEUS})",
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


def run(args: argparse.Namespace, console: Console) -> int:
    """Diagnose every engine that was seen."""
    readings = _readings(args, console)
    found = [diagnose(_evidence(name, each, args.file)) for name, each in readings.items() if len(each) > 1]
    if not found:
        raise UsageError(
            "no engine was read twice", where="--for", fix="look at a longer time, such as --for 2m"
        )
    console.document(document(found))
    console.result(text(found))
    return EXIT_INVALID_MEASUREMENT if all(each.refused for each in found) else EXIT_OK


def _readings(args: argparse.Namespace, console: Console) -> Readings:
    if args.run is not None:
        return from_run(args.run)
    if args.engine is not None:
        console.say(f"watching {args.engine} for {args.within:.0f} s")
        return from_engine(args.engine, args.within)
    return from_prometheus(args.prometheus or DEFAULT_PROMETHEUS, args.deployment, args.within, time.time())


def _evidence(name: str, readings: Sequence[Reading], file: str | None) -> Evidence:
    evidence = of_readings(name, readings)
    if file is None:
        return evidence
    deployment, _ = load_deployment(file)
    return replace(
        evidence,
        max_num_seqs=deployment.engine.max_num_seqs,
        ttft_slo_s=deployment.slo.ttft,
        tpot_slo_s=deployment.slo.tpot,
    )
