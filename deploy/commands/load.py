"""`teapot load`: run a workload against a server, or summarize and report a run again.

Owns: the arguments and what is printed. Knows nothing about how anything is measured.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from serving.console import Console
from serving.errors import EXIT_OK, UsageError

HELP = "send a workload and measure TTFT, TPOT, ITL, E2E and goodput"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands `run`, `summarize` and `report`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    run_ = actions.add_parser("run", help="probe, prepare, send, summarize")
    run_.add_argument(
        "workload", type=Path, metavar="WORKLOAD", help="workload file, such as deploy/workloads/chat.yaml"
    )
    run_.add_argument("--target", required=True, metavar="URL", help="server, such as http://127.0.0.1:8000")
    run_.add_argument("--out", type=Path, metavar="DIR", help="run folder (default: runs/<time>-<name>)")
    run_.add_argument(
        "--metrics",
        action="append",
        default=[],
        metavar="URL",
        help="an engine's /metrics, read every second (repeat for several engines)",
    )
    run_.add_argument("--processes", type=int, default=1, metavar="N", help="sending processes (default: 1)")
    run_.epilog = "The key comes from TEAPOT_API_KEY or OPENAI_API_KEY."
    for name, text in (("summarize", "compute summary.json again"), ("report", "write report.html again")):
        again = actions.add_parser(name, help=text)
        again.add_argument("folder", type=Path, metavar="DIR", help="run folder")


def run(args: argparse.Namespace, console: Console) -> int:
    """Do what was asked and return the exit code: 0, 3 (invalid measurement), 130 or 143."""
    if args.action == "run":
        return _run(args, console)
    return _again(args, console)


def _run(args: argparse.Namespace, console: Console) -> int:
    from loadgen.prepare import load_workload
    from loadgen.run import run_load
    from loadgen.target import key_from

    if args.processes != 1:
        raise UsageError(
            f"{args.processes} sending processes are not there yet", where="--processes", fix="leave it out"
        )
    result = run_load(
        workload=load_workload(args.workload),
        target=args.target,
        console=console,
        out=args.out,
        metrics_urls=args.metrics,
        api_key=key_from(os.environ),
    )
    console.result(result.table)
    console.document(result.summary | {"folder": str(result.folder)})
    console.say(f"files: {result.folder} (open {result.folder / 'report.html'})")
    return result.exit_code


def _again(args: argparse.Namespace, console: Console) -> int:
    from loadgen.results import conclude, write_report
    from loadgen.run_folder import RunFolder

    folder = RunFolder(args.folder)
    if args.action == "report":
        write_report(folder, folder.summary())
        console.result(str(folder.path / "report.html"))
        console.document({"report": str(folder.path / "report.html")})
        return EXIT_OK
    result = conclude(folder)
    console.result(result.table)
    console.document(result.summary)
    return result.exit_code
