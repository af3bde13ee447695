"""`teapot rollout`: a new revision in the place of the one that serves, under gates.

Owns: the sub-commands, whose rollout is meant, and the exit codes. Knows nothing about how a rollout goes.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from deploy.commands.status import DEFAULT_ADMIN
from deploy.marking import marking
from deploy.rollout import asking, telling
from deploy.rollout.client import Admin, Away
from deploy.rollout.controller import Controller, Talk
from deploy.rollout.entries import Replayed, begun, replay
from deploy.rollout.hands import RealHands
from deploy.rollout.journal import JOURNAL, LOCK, Busy, Journal, folder_of, latest, lock
from deploy.rollout.machine import OVER, State
from deploy.rollout.plan import Plan, plan_of
from deploy.rollout.seen import baseline_of, read
from deploy.rollout.watch import Watch
from deploy.signals import terminable
from serving.config.load import load_deployment
from serving.config.revisions import own_revision
from serving.config.schema import Deployment
from serving.console import Console
from serving.engine.folders import data_folder
from serving.errors import EXIT_FAILED, EXIT_OK, Failed, Interrupted, UsageError
from serving.gateway.revisions import NAME

HELP = "bring a new revision in under gates, or take it back"
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
    admin = Admin(args.admin)
    plan = _plan(deployment, path, admin, args.name)
    folder = _folder(plan.deployment)
    with lock(folder):
        found = _latest(folder)
        if found is not None and found[1].state.name not in OVER:
            journal, before = found
            if before.plan.file != plan.file:
                raise Failed(
                    f"the rollout of {before.plan.file} is not over ({before.state.name})",
                    where=str(journal.path),
                    fix=f"go on with `teapot rollout start {before.plan.file}`, or `teapot rollout abort`",
                )
            console.say(f"going on with the rollout that began before, in {journal.path.parent}")
            return _carry_out(journal, before, args, console)
        journal = Journal(folder / f"{_stamp()}-{plan.canary}" / JOURNAL)
        journal.append(begun(plan, at_s=time.time()))
        return _carry_out(journal, Replayed(plan, State(since_s=time.time()), None), args, console)


def _plan(deployment: Deployment, path: Path, admin: Admin, name: str | None) -> Plan:
    """What is going to be done, by the file and by what runs. Raises: UsageError, Away."""
    seen = read(admin.status())
    if deployment.name != seen.deployment:
        raise UsageError(
            f"the file is of '{deployment.name}', and '{seen.deployment}' runs at {admin.url}",
            where=f"{path}: name",
            fix="give the file of the deployment that runs, or another --admin URL",
        )
    running = _running(_folder(seen.deployment), path)
    if running is not None:
        return running
    baseline = baseline_of(seen)
    named = own_revision(deployment) if deployment.revisions else None
    canary = name or named or path.stem
    if not NAME.fullmatch(canary) or (seen.row(canary) is not None and canary != baseline.name):
        raise UsageError(
            f"the new revision cannot be called '{canary}'",
            where="--name",
            fix="give a name of letters, digits, '.', '_' and '-' that no revision has",
        )
    plan = plan_of(deployment, str(path), canary=canary, baseline=baseline.name)
    return replace(plan, baseline_file=baseline.file)


def _running(folder: Path, path: Path) -> Plan | None:
    """The plan of a rollout of the same file that was interrupted."""
    found = _latest(folder)
    if found is None or found[1].state.name in OVER or found[1].plan.file != str(path):
        return None
    return found[1].plan


def _carry_out(journal: Journal, before: Replayed, args: argparse.Namespace, console: Console) -> int:
    plan = before.plan
    deployment, _ = load_deployment(plan.file, ())
    marks = marking(deployment, Path(plan.file).parent, console.say)
    revisions = (plan.baseline, plan.canary)
    folder = journal.path.parent
    controller = Controller(
        plan,
        before.state,
        journal,
        Admin(args.admin),
        RealHands(console),
        Watch.resumed(plan, journal, journal.lines()),
        Talk(console.say, console.progress, lambda text: marks.verdict(text, *revisions)),
        lambda: asking.take(folder),
    )
    console.say(f"journal: {journal.path}")
    try:
        with terminable():
            code = controller.run()
    except (KeyboardInterrupt, Interrupted):
        console.say(
            f"interrupted: it stays where it is ({controller.state.name}), and nobody watches it; "
            f"go on: teapot rollout start {plan.file}; or take it back: teapot rollout abort"
        )
        raise
    finally:
        marks.close()
    _conclude(controller.state, journal, plan, console)
    return code


def _conclude(state: State, journal: Journal, plan: Plan, console: Console) -> None:
    lines = journal.lines()
    looks = [line for line in lines if line["kind"] == "look"]
    console.result("\n".join([*telling.shown(plan, lines), *(telling.table(looks[-1]) if looks else ())]))
    console.document({"state": state.name, "why": state.why, "journal": str(journal.path)})
    if state.name == "done":
        console.say(f"the running process serves {plan.file} now; a restart must name it:")
        console.say(f"  teapot serve {plan.file}")
    elif state.name == "asking":
        console.say(
            "too little to tell: `teapot rollout promote` passes the step, `teapot rollout abort` goes back"
        )


def _status(args: argparse.Namespace, console: Console) -> int:
    folder = _folder(_whose(args))
    told = 0
    while True:
        found = _latest(folder)
        if found is None:
            raise Failed("there never was a rollout of it here", where=str(folder))
        journal, now = found
        lines = journal.lines()
        if args.follow:
            rows = list(telling.shown(now.plan, lines))
            for row in rows[told:]:
                console.result(row)
            told = len(rows)
        if not args.follow or now.state.name in OVER:
            break
        time.sleep(FOLLOW_S)
    if not args.follow:
        console.result("\n".join(telling.shown(now.plan, lines)))
    if now.judgement is not None:
        console.result("\n".join(["the last look", *telling.table(now.judgement)]))
    if now.state.name not in OVER and not _held(folder):
        console.say(
            "nobody is carrying it out; go on: teapot rollout start "
            f"{now.plan.file}; or take it back: teapot rollout abort"
        )
    state = {"state": now.state.name, "step": now.state.step, "why": now.state.why}
    console.document(
        {**state, "plan": now.plan.to_json(), "look": now.judgement, "journal": str(journal.path)}
    )
    return EXIT_OK


def _ask(args: argparse.Namespace, console: Console) -> int:
    """Tell the process that carries it out; where there is none, be that process."""
    folder = _folder(_whose(args))
    try:
        with lock(folder):
            journal, now = _unfinished(folder)
            asking.ask(journal.path.parent, args.what)
            code = _carry_out(journal, now, args, console)
    except Busy:
        journal, now = _unfinished(folder)
        asking.ask(journal.path.parent, args.what)
        while asking.waits(journal.path.parent):
            if not _held(folder):
                asking.take_back(journal.path.parent)
                raise Failed(
                    "the process that carried it out has ended; ask again", where=str(folder)
                ) from None
            time.sleep(FOLLOW_S / 10)
        console.say("the process that carries it out has taken it; see: teapot rollout status --follow")
        return EXIT_OK
    return EXIT_OK if args.what == "abort" and code == EXIT_FAILED else code


def _unfinished(folder: Path) -> tuple[Journal, Replayed]:
    found = _latest(folder)
    if found is None or found[1].state.name in OVER:
        raise Failed(
            "no rollout is going on", where=str(folder), fix="begin one with `teapot rollout start FILE`"
        )
    return found


def _latest(folder: Path) -> tuple[Journal, Replayed] | None:
    newest = latest(folder)
    if newest is None:
        return None
    journal = Journal(newest / JOURNAL)
    found = replay(journal.lines())
    return None if found is None else (journal, found)


def _whose(args: argparse.Namespace) -> str:
    if args.deployment is not None:
        return str(args.deployment)
    try:
        return str(Admin(args.admin).status()["name"])
    except Away as error:
        raise Failed(
            str(error.problems[0].what), where=error.problems[0].where,
            fix="give the right --admin URL, or say whose rollout with --deployment NAME",
        ) from error  # fmt: skip


def _held(folder: Path) -> bool:
    """Whether a process carries a rollout out, by its lock's file: to try the lock could be in its way."""
    try:
        pid = int((folder / LOCK).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return False
    return Path(f"/proc/{pid}").exists()


def _folder(deployment: str) -> Path:
    return folder_of(data_folder(os.environ, Path.home()).make().root, deployment)


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
