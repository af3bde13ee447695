"""`teapot study`: measure levers on this machine, and show what came out.

Owns: what is done and printed for each action. Knows nothing about how a study is run or summarized.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from serving.console import Console
from serving.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from deploy.study.folder import StudyFolder
    from deploy.study.making import Made
    from deploy.study.reading import Study
    from deploy.study.results import Summary

_CODES = (
    "Exit codes: 0; 1 it failed; 2 a wrong file; 3 something that was to be measured is missing, or a load"
    " is not valid"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    run = actions.add_parser(
        "run",
        help="run a study file, or what is not done of it",
        description="Run a study file: engines up one after another, modes proven, loads sent, a summary and"
        f" a page. Ctrl-C ends it in order; --resume goes on. {_CODES}; 130 and 143 after a signal.",
    )
    run.add_argument("file", metavar="FILE", help="the study file (see deploy/studies and docs/study.md)")
    run.add_argument(
        "--out", type=Path, default=None, metavar="DIR",
        help="the study's folder (default: a new one in runs/)",
    )  # fmt: skip
    run.add_argument("--resume", action="store_true", help="go on with the study in --out: what is not done")
    run.add_argument("--dry-run", action="store_true", help="show cells and time, and start nothing")
    run.add_argument("--verbose", action="store_true", help="say what engines and loads say, too")
    run.add_argument(
        "--grafana", default=None, metavar="URL",
        help="mark starts and cells on the boards of this Grafana (its token: GRAFANA_TOKEN)",
    )  # fmt: skip
    run.add_argument(
        "--set", dest="overrides", metavar="KEY=VALUE", action="append", default=[],
        help="override a value of the study file, such as repeats=5 or set.model=DIR; may be repeated",
    )  # fmt: skip
    report = actions.add_parser(
        "report",
        help="summarize and draw a study's folder again",
        description="Derive summary.json and report.html anew from what the folder holds, also where the"
        f" study still runs or was broken off. {_CODES}.",
    )
    report.add_argument("folder", type=Path, metavar="DIR", help="a study's folder")


def run(args: argparse.Namespace, console: Console) -> int:
    """Do what was asked. Exit codes: 0; 3 where something is missing or not valid; 130, 143."""
    return _report(args, console) if args.action == "report" else _run(args, console)


def _run(args: argparse.Namespace, console: Console) -> int:
    from deploy.study.marks import marked_study
    from deploy.study.reading import read_study
    from deploy.study.session import Session

    if args.resume and args.out is None:
        raise UsageError("nobody says what to go on with", where="--resume", fix="give --out DIR")
    study = read_study(args.file, args.overrides)
    session = Session(study, console)
    if args.verbose:
        session.detail = lambda line: console.say(f"    {line}")
    if args.dry_run:
        return _dry_run(session.made(), console)
    with marked_study(args.grafana, study.file.name, console.say) as mark:
        session.mark = mark
        out = args.out or _new_folder(study)
        folder, made = session.resume(out) if args.resume else session.begin(out)
        for line in _plan(made):
            console.say(line)
        console.say(f"folder: {folder.path}")
        code, summary = session.run(folder, made)
    _show(summary, folder, console)
    return code


def _new_folder(study: Study) -> Path:
    from datetime import datetime

    from deploy.study.folder import default_folder

    return default_folder(study.file.name, datetime.now().astimezone())


def _dry_run(made: Made, console: Console) -> int:
    for line in _plan(made, cells=True):
        console.result(line)
    console.document(asdict(made.design))
    return EXIT_OK


def _plan(made: Made, *, cells: bool = False) -> list[str]:
    """What will be run and how long that takes."""
    from deploy.study.counting import many
    from serving.config.units import format_duration

    design = made.design
    runs = [arm.name for arm in design.arms if arm.runs]
    lines = [
        f"{design.name}: {many(len(runs), 'arm')}, {many(len(design.workloads), 'workload')},"
        f" {many(design.repeats, 'repeat')}:"
        f" {many(len(design.starts), 'start')}, {many(len(design.cells), 'cell')}, about"
        f" {format_duration(design.estimate.total_s)}"
    ]
    lines += [f"  time: {source}" for source in design.estimate.sources]
    lines += [f"  ruled out: {arm.name}: {arm.ruled_out}" for arm in design.arms if not arm.runs]
    if cells:
        for start in design.starts:
            took = format_duration(made.pace.start(start))
            lines.append(f"  start {start.number:03d}  {start.arm}  (about {took} to start and end)")
            lines += [
                f"    {cell.id}  block {cell.block}  {format_duration(made.pace.cell(cell))}"
                for cell in start.cells
            ]
    return lines


def _report(args: argparse.Namespace, console: Console) -> int:
    from deploy.study.conclude import conclude
    from deploy.study.folder import StudyFolder
    from deploy.study.report.writing import write_report

    folder = StudyFolder(args.folder)
    summary = conclude(folder)
    write_report(folder)
    _show(summary, folder, console)
    return summary.exit_code


def _show(summary: Summary, folder: StudyFolder, console: Console) -> None:
    from deploy.study.table import table

    console.result(table(summary))
    console.result(f"\nreport  {folder.report_path}\nfiles   {folder.path}")
    console.document({**asdict(summary), "folder": str(folder.path), "report": str(folder.report_path)})
