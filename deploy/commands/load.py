"""`teapot load`: run a workload against a server, look at runs again, compare them, search for a limit.

Owns: the arguments and what is printed. Knows nothing about how anything is measured.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serving.console import Console
from serving.errors import EXIT_INVALID_MEASUREMENT, EXIT_OK, EXIT_SIGINT, UsageError

if TYPE_CHECKING:
    from loadgen.run import LoadResult
    from loadgen.searching import Search
    from loadgen.workload import Workload

HELP = "send a workload and measure TTFT, TPOT, ITL, E2E and goodput"
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
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="sending processes (default: 1)"
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
        parser.add_argument(f"--{name}", type=float, default=value, metavar="X", help=text)
    parser.add_argument(
        "--confirm", type=int, default=2, metavar="N", help="runs that must agree on each end (default: 2)"
    )
    parser.add_argument("--trials", type=int, default=40, metavar="N", help="runs at most (default: 40)")
    parser.epilog = f"{KEY} Exit: 0 found, 3 not found within the bounds or not confirmed."


def run(args: argparse.Namespace, console: Console) -> int:
    """Do what was asked and return the exit code: 0, 1, 3, 130 or 143."""
    actions: Mapping[str, Callable[[argparse.Namespace, Console], int]] = {
        "run": _run,
        "summarize": _summarize,
        "report": _report,
        "compare": _compare,
        "search": _search,
    }
    return actions[args.action](args, console)


def _run(args: argparse.Namespace, console: Console) -> int:
    from loadgen.prepare import load_workload
    from loadgen.run import run_load
    from loadgen.target import key_from

    _one_process(args)
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


def _one_process(args: argparse.Namespace) -> None:
    if args.processes != 1:
        raise UsageError(
            f"{args.processes} sending processes are not there yet", where="--processes", fix="leave it out"
        )


def _summarize(args: argparse.Namespace, console: Console) -> int:
    from loadgen.results import conclude
    from loadgen.run_folder import RunFolder

    result = conclude(RunFolder(args.folder))
    console.result(result.table)
    console.document(result.summary)
    return result.exit_code


def _report(args: argparse.Namespace, console: Console) -> int:
    from loadgen.results import write_report
    from loadgen.run_folder import RunFolder

    folder = RunFolder(args.folder)
    write_report(folder, folder.summary())
    console.result(str(folder.path / "report.html"))
    console.document({"report": str(folder.path / "report.html")})
    return EXIT_OK


def _compare(args: argparse.Namespace, console: Console) -> int:
    from loadgen.compare import Options, compare_folders
    from loadgen.report.comparison import markdown
    from loadgen.stats.metrics import parse_floor

    options = Options(
        metrics=tuple(args.metric),
        floors=dict(map(parse_floor, args.floor)),
        seed=args.seed,
        other_seeds=args.other_seeds,
    )
    found = compare_folders(_folders(args.a), _folders(args.b), options)
    console.result(markdown(found.as_dict()))
    console.document(found.as_dict())
    return found.exit_code


def _folders(text: str) -> list[Path]:
    return [Path(part.strip()) for part in text.split(",") if part.strip()]


def _search(
    args: argparse.Namespace, console: Console, run_load: Callable[..., LoadResult] | None = None
) -> int:
    from dataclasses import asdict

    from loadgen.report.search_table import search_table
    from loadgen.searching import search, searched_key

    _one_process(args)
    wanted, ended = _wanted(args), [EXIT_SIGINT]
    measure = _measure(args, console, run_load or _runner(), ended)
    finished, trials = search(wanted, args.out, measure, console.say)
    key = searched_key(wanted.workload)
    console.result(search_table(key, trials, finished, goodput=args.goodput))
    console.document(
        {
            "searched": key,
            "goodput": args.goodput,
            "result": None if finished is None else asdict(finished),
            "trials": [asdict(trial) for trial in trials],
            "folder": str(args.out),
        }
    )
    if finished is None:
        return ended[0]
    return EXIT_OK if finished.ended == "found" else EXIT_INVALID_MEASUREMENT


def _runner() -> Callable[..., LoadResult]:
    from loadgen.run import run_load

    return run_load


def _wanted(args: argparse.Namespace) -> Search:
    from loadgen.prepare import load_workload
    from loadgen.search import Settings
    from loadgen.searching import Search, searched_key

    workload = load_workload(args.workload)
    whole = searched_key(workload) == "concurrency"
    start = args.start or float(getattr(workload.arrival, searched_key(workload)))
    settings = Settings(
        start=start,
        lowest=args.min or (1.0 if whole else start / 64),
        highest=args.max or start * 1024,
        precision=args.precision,
        agreeing=args.confirm,
        most_trials=args.trials,
        whole=whole,
    )
    if not 0 < settings.lowest <= start <= settings.highest:
        raise UsageError(
            f"{settings.lowest:g} to {settings.highest:g} does not hold the first load {start:g}",
            where="--min, --max",
            fix="give --start between them",
        )
    return Search(workload=workload, target=args.target, goodput=args.goodput, settings=settings)


def _measure(
    args: argparse.Namespace, console: Console, run_load: Callable[..., LoadResult], ended: list[int]
) -> Callable[[Workload, Path], dict[str, Any] | None]:
    """A function that runs one load; where a signal ended it, its exit code is left in `ended`."""
    from loadgen.target import key_from

    def measure(workload: Workload, folder: Path) -> dict[str, Any] | None:
        result = run_load(
            workload=workload,
            target=args.target,
            console=console,
            out=folder,
            metrics_urls=args.metrics,
            api_key=key_from(os.environ),
        )
        if result.exit_code not in (EXIT_OK, EXIT_INVALID_MEASUREMENT):
            ended[0] = result.exit_code
            return None
        return result.summary

    return measure
