"""The arguments of `teapot load`: every action with its options, defaults and units.

Owns: these, and what each help text says. Knows nothing about what an action does with them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from deploy.commands.argument_types import count, positive

KEY = "The key comes from TEAPOT_API_KEY or OPENAI_API_KEY."


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    run_ = actions.add_parser("run", help="probe, prepare, send, summarize")
    _sending(run_)
    run_.add_argument("--out", type=Path, metavar="DIR", help="run folder (default: runs/<time>-<name>)")
    run_.epilog = f"{KEY} Exit: 0 a measurement, 3 one that must not be believed."
    for name, text in (("summarize", "compute summary.json again"), ("report", "write report.html again")):
        again = actions.add_parser(name, help=text)
        again.add_argument("folder", type=Path, metavar="DIR", help="run folder")
    _configure_compare(actions.add_parser("compare", help="is B worse than A, by more than chance?"))
    _configure_search(
        actions.add_parser("search", help="the highest rate or concurrency that meets the SLOs")
    )
    _configure_selftest(actions.add_parser("selftest", help="how many streams this machine measures truly"))


def _configure_selftest(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Measure more and more streams of 50 tokens/s from a built-in server that notes when it wrote what."
    )
    _processes(parser)
    parser.add_argument(
        "--streams",
        type=count,
        action="append",
        metavar="N",
        help="measure this many (repeat; default: 50 to 2000)",
    )
    parser.add_argument(
        "--seconds", type=positive, default=6.0, metavar="S", help="of each step (default: 6)"
    )
    parser.epilog = "Exit: 0 some were measured truly, 1 not even the fewest."


def _sending(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "workload", type=Path, metavar="WORKLOAD", help="workload file, such as deploy/workloads/chat.yaml"
    )
    parser.add_argument(
        "--target", required=True, metavar="URL", help="server, such as http://127.0.0.1:8000"
    )
    parser.add_argument(
        "--metrics",
        action="append",
        default=[],
        metavar="URL",
        help="an engine's /metrics, read every second (repeat for several engines)",
    )
    _processes(parser)
    _grafana(parser)
    parser.add_argument(
        "--exporter-port",
        type=_exporter_port,
        default="auto",
        metavar="PORT",
        help="port of the generator's own /metrics while it sends: a number, auto or off (default: auto)",
    )


def _grafana(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--grafana",
        metavar="URL",
        help="mark begin, stages and end on its boards (default: GRAFANA_URL, or nowhere)",
    )
    parser.add_argument(
        "--grafana-token-file",
        type=Path,
        metavar="FILE",
        help="a file with a service account's token (default: GRAFANA_TOKEN)",
    )
    parser.add_argument(
        "--deployment", metavar="NAME", help="whose boards are to show these marks, beside Load test"
    )


def _processes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--processes", type=count, default=1, metavar="N", help="sending processes (default: 1)"
    )


def _configure_compare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Compare two sides of one run or more each. Requests are paired by their place in the timetable;"
        " with several runs a side, chance is what differs from run to run."
    )
    for side in ("a", "b"):
        parser.add_argument(side, metavar=side.upper(), help="run folders, separated by commas")
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="compare by this one (repeat; default: ttft, tpot and e2e at p50 and p95, goodput, failed;"
        " of a closed loop also output_tokens_per_s)",
    )
    parser.add_argument(
        "--floor",
        action="append",
        default=[],
        metavar="NAME=%,ABS",
        help="from where on a change for the worse counts, such as ttft.p50=5%%,5ms: the larger of the two"
        " (defaults: docs/measurement.md)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the bootstrap (default: 1)")
    parser.add_argument(
        "--other-seeds",
        action="store_true",
        help="compare workloads that differ in their seed, without pairing",
    )
    parser.epilog = "Exit: 0 no regression, 1 regression, 3 inconclusive or not comparable."


def _configure_search(parser: argparse.ArgumentParser) -> None:
    _sending(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder of the search; given again, it goes on"
    )
    for name, value, text in (
        ("start", None, "first load, requests/s or users (default: the workload's)"),
        ("min", None, "lowest load (default: start / 64, users: 1)"),
        ("max", None, "highest load (default: start * 1024)"),
        ("precision", 0.1, "the answer is known to this ratio (default: 0.1)"),
        ("goodput", 0.95, "share of intended requests that must meet every SLO (default: 0.95)"),
    ):
        check = _share if name == "goodput" else positive
        parser.add_argument(f"--{name}", type=check, default=value, metavar="X", help=text)
    parser.add_argument(
        "--confirm", type=count, default=2, metavar="N", help="runs that must agree on each end (default: 2)"
    )
    parser.add_argument("--trials", type=count, default=40, metavar="N", help="runs at most (default: 40)")
    parser.epilog = f"{KEY} Exit: 0 found, 3 not found within the bounds or not confirmed."


def _share(text: str) -> float:
    value = positive(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no share of at most 1, such as 0.95")
    return value


def _exporter_port(text: str) -> str:
    if text in ("auto", "off") or (text.isdecimal() and int(text) < 65536):
        return text
    raise argparse.ArgumentTypeError(
        f"'{text}' is no port; write a number up to 65535 (0: any free one), auto or off"
    )
