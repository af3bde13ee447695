"""`teapot rollout`: a new revision in the place of the one that serves, under gates.

Owns: the sub-commands, whose rollout is meant, and the exit codes. Knows nothing about how a rollout goes.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from deploy.commands.status import DEFAULT_ADMIN, checked
from deploy.rollout import asking, telling
from deploy.rollout.client import Admin, Away
from deploy.rollout.journal import LOCK, Busy, lock
from deploy.rollout.session import begin, carry_out, last, rollouts_of, unfinished
from deploy.signals import terminable
from serving.config.load import load_deployment
from serving.console import Console
from serving.errors import EXIT_FAILED, EXIT_OK, Failed

FOLLOW_S = 1.0
_ENDS = """exit codes of start and promote: 0 promoted; 1 rolled back or failed; 2 wrong usage or file;
3 inconclusive, and asking: promote or abort; 130/143 after a signal: the rollout stays where it is."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands and their arguments."""
    parser.epilog = _ENDS
    commands = parser.add_subparsers(dest="what", required=True, metavar="start|status|promote|abort")
    start = commands.add_parser("start", help="begin, or go on with one that was interrupted")
    start.add_argument("file", metavar="FILE", help="the new deployment file; its section rollout: says how")
    start.add_argument(
        "--name", default=None, help="what the new revision is called; none: as in the file, else the file"
    )
    status = commands.add_parser("status", help="where it is, and what the gate said last")
    status.add_argument("--follow", action="store_true", help="go on showing what happens, until it is over")
    promote = commands.add_parser("promote", help="pass the step that it is on, whatever the gate says")
    abort = commands.add_parser("abort", help="take the new revision back")
    for sub in (start, status, promote, abort):
        sub.add_argument(
            "--admin", metavar="URL", default=DEFAULT_ADMIN, help="the admin address of the running gateway"
        )
    for sub in (status, promote, abort):
        sub.add_argument(
            "--deployment", metavar="NAME", default=None, help="whose rollout, where the gateway is away"
        )


def run(args: argparse.Namespace, console: Console) -> int:
    """Do the sub-command."""
    return {"start": _start, "status": _status, "promote": _ask, "abort": _ask}[args.what](args, console)


def _start(args: argparse.Namespace, console: Console) -> int:
    path = Path(args.file).absolute()
    deployment, _ = load_deployment(str(path), ())
    admin = Admin(checked(args.admin))
    with lock(rollouts_of(deployment.name)), terminable():
        return carry_out(begin(path, admin, args.name, console), admin, console)


def _status(args: argparse.Namespace, console: Console) -> int:
    folder = rollouts_of(_whose(args))
    if args.follow:
        _follow(folder, console)
    found = last(folder)
    if found is None:
        raise Failed("there never was a rollout of it here", where=str(folder))
    now = found.before
    if not args.follow:
        console.result("\n".join(telling.shown(now.plan, found.journal.lines())))
    if now.judgement is not None:
        console.result("\n".join(["the last look", *telling.table(now.judgement)]))
    if not found.over and not _held(folder):
        console.say(
            f"nobody is carrying it out; go on: teapot rollout start {now.plan.file}; "
            "or take it back: teapot rollout abort"
        )
    state = {"state": now.state.name, "step": now.state.step, "why": now.state.why}
    journal = str(found.journal.path)
    console.document({**state, "plan": now.plan.to_json(), "look": now.judgement, "journal": journal})
    return EXIT_OK


def _follow(folder: Path, console: Console) -> None:
    """Show what happens as it happens, until it is over or nobody carries it out."""
    told = 0
    while (found := last(folder)) is not None:
        rows = list(telling.shown(found.before.plan, found.journal.lines()))
        for row in rows[told:]:
            console.result(row)
        told = len(rows)
        if found.over or not _held(folder):
            return
        time.sleep(FOLLOW_S)


def _ask(args: argparse.Namespace, console: Console) -> int:
    """Tell the process that carries it out; where there is none, be that process."""
    folder, admin = rollouts_of(_whose(args)), Admin(checked(args.admin))
    unfinished(folder)  # Where there is none, no folder is made for its lock.
    try:
        with lock(folder), terminable():
            session = unfinished(folder)
            asking.ask(session.folder, args.what)
            code = carry_out(session, admin, console)
    except Busy:
        session = unfinished(folder)
        asking.ask(session.folder, args.what)
        while asking.waits(session.folder):
            if not _held(folder):
                asking.take_back(session.folder)
                raise Failed(
                    "the process that carried it out has ended; ask again", where=str(folder)
                ) from None
            time.sleep(FOLLOW_S / 10)
        console.say("the process that carries it out has taken it; see: teapot rollout status --follow")
        return EXIT_OK
    return EXIT_OK if args.what == "abort" and code == EXIT_FAILED else code


def _whose(args: argparse.Namespace) -> str:
    if args.deployment is not None:
        return str(args.deployment)
    try:
        return str(Admin(checked(args.admin)).status()["name"])
    except Away as error:
        raise Failed(
            str(error.problems[0].what), where=error.problems[0].where,
            fix="give the right --admin URL, or say whose rollout with --deployment NAME",
        ) from error  # fmt: skip


def _held(folder: Path) -> bool:
    """Whether a process carries a rollout out: the one that its lock's file names, with that file open.

    To try the lock could be in its way, and the number alone may be another's by now, as after a reboot.
    """
    try:
        held = (folder / LOCK).stat()
        pid = int((folder / LOCK).read_text(encoding="ascii"))
        open_files = list(Path(f"/proc/{pid}/fd").iterdir())
    except (OSError, ValueError):
        return False
    return any(_is(file, held) for file in open_files)


def _is(file: Path, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(file.stat(), wanted)
    except OSError:
        return False  # Closed since it was listed.
