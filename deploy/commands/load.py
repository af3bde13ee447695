"""`teapot load`: run a workload against a server, look at runs again, compare them, search for a limit.

Owns: what is done and printed for each action. Knows nothing about how anything is measured.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.commands.load_arguments import configure
from serving.console import Console
from serving.errors import EXIT_INVALID_MEASUREMENT, EXIT_OK, EXIT_SIGINT, UsageError

if TYPE_CHECKING:
    from loadgen.moments import Moment
    from loadgen.run import LoadResult
    from loadgen.searching import Search
    from loadgen.workload import Workload

__all__ = ["configure", "run"]


def run(args: argparse.Namespace, console: Console) -> int:
    """Do what was asked and return the exit code: 0, 1, 3, 130 or 143."""
    actions: Mapping[str, Callable[[argparse.Namespace, Console], int]] = {
        "run": _run,
        "summarize": _summarize,
        "report": _report,
        "compare": _compare,
        "search": _search,
        "selftest": _selftest,
    }
    return actions[args.action](args, console)


def _run(args: argparse.Namespace, console: Console) -> int:
    from loadgen.prepare import load_workload
    from loadgen.run import run_load
    from loadgen.target import key_from

    with _marked(args, console) as told:
        result = run_load(
            workload=load_workload(args.workload),
            target=args.target,
            console=console,
            out=args.out,
            metrics_urls=args.metrics,
            api_key=key_from(os.environ),
            processes=args.processes,
            exporter_port=args.exporter_port,
            discovery=_discovery(),
            told=told,
        )
    console.result(result.table)
    console.document(result.summary | {"folder": str(result.folder)})
    console.say(f"files: {result.folder} (open {result.folder / 'report.html'})")
    return result.exit_code


def _marked(args: argparse.Namespace, console: Console) -> AbstractContextManager[Callable[[Moment], None]]:
    from deploy.load_marking import marked_load

    return marked_load(args.grafana, args.grafana_token_file, args.deployment, console.say, os.environ)


def _discovery() -> Path:
    from deploy.scrape_config import load_folder
    from serving.engine.folders import data_folder

    return load_folder(data_folder(os.environ, Path.home()))


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
    folder.of_summary(partial(write_report, folder))
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
    folders = [Path(part.strip()) for part in text.split(",") if part.strip()]
    if not folders:
        raise UsageError(
            f"'{text}' names no run folder", where="A, B", fix="give folders, separated by commas"
        )
    return folders


def _search(
    args: argparse.Namespace, console: Console, run_load: Callable[..., LoadResult] | None = None
) -> int:
    from dataclasses import asdict

    from loadgen.report.search_table import search_table
    from loadgen.searching import search, searched_key

    wanted, ended = _wanted(args), [EXIT_SIGINT]
    with _marked(args, console) as told:
        measure = _measure(args, console, run_load or _runner(), ended, told)
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
    args: argparse.Namespace,
    console: Console,
    run_load: Callable[..., LoadResult],
    ended: list[int],
    told: Callable[[Moment], None],
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
            processes=args.processes,
            exporter_port=args.exporter_port,
            discovery=_discovery(),
            told=told,
        )
        if result.exit_code not in (EXIT_OK, EXIT_INVALID_MEASUREMENT):
            ended[0] = result.exit_code
            return None
        return result.summary

    return measure


def _selftest(args: argparse.Namespace, console: Console) -> int:
    from loadgen.selftest import STEPS, run_selftest

    steps = tuple(sorted(args.streams)) if args.streams else STEPS
    result = run_selftest(console, steps=steps, seconds=args.seconds, processes=args.processes)
    console.result(result.table)
    console.document(result.document())
    return result.exit_code
