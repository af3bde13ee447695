"""A rollout from a file: begun, or gone on with, by one process at a time.

Owns: which rollout is meant, where its journal is, who it is carried out with, and what is said at its end.
Knows nothing about command lines or signals.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from deploy.marking import Marking, marking
from deploy.rollout import asking, telling
from deploy.rollout.client import Admin
from deploy.rollout.controller import Controller, Talk
from deploy.rollout.doing import unavailable_s
from deploy.rollout.entries import Replayed, begun, replay
from deploy.rollout.hands import RealHands
from deploy.rollout.journal import JOURNAL, Journal, folder_of, newest_first, next_folder
from deploy.rollout.machine import OVER, State
from deploy.rollout.plan import Plan, plan_of
from deploy.rollout.seen import baseline_of, read
from deploy.rollout.watch import Watch
from serving.config.load import load_deployment
from serving.config.revisions import own_revision
from serving.config.schema import Deployment
from serving.config.units import format_duration
from serving.console import Console
from serving.engine.folders import data_folder
from serving.errors import Failed, Interrupted, TeapotError, UsageError
from serving.gateway.revisions import NAME


@dataclass(frozen=True, slots=True)
class Session:
    """One rollout's journal, and where it ends by now."""

    journal: Journal
    before: Replayed

    @property
    def folder(self) -> Path:
        """The rollout's own."""
        return self.journal.path.parent

    @property
    def over(self) -> bool:
        """Whether nothing follows."""
        return self.before.state.name in OVER


def rollouts_of(deployment: str) -> Path:
    """The folder of a deployment's rollouts."""
    return folder_of(data_folder(os.environ, Path.home()).make().root, deployment)


def last(folder: Path) -> Session | None:
    """The newest rollout in a deployment's folder; None: there never was one."""
    for newest in newest_first(folder):
        journal = Journal(newest / JOURNAL)
        found = replay(journal.lines())
        # One without a whole line never began: its process ended, or the disk was full, before its first.
        if found is not None:
            return Session(journal, found)
    return None


def unfinished(folder: Path) -> Session:
    """The rollout that is going on. Raises: Failed where there is none."""
    found = last(folder)
    if found is None or found.over:
        raise Failed(
            "no rollout is going on", where=str(folder), fix="begin one with `teapot rollout start FILE`"
        )
    return found


def begin(path: Path, admin: Admin, name: str | None, console: Console) -> Session:
    """Begin the rollout of a file, or go on with the same one. The caller holds the lock.

    Raises: UsageError, Away; Failed where another one is not over.
    """
    deployment, _ = load_deployment(str(path), ())
    folder = rollouts_of(deployment.name)
    found = last(folder)
    if found is not None and not found.over:
        if found.before.plan.file != str(path):
            raise Failed(
                f"the rollout of {found.before.plan.file} is not over ({found.before.state.name})",
                where=str(found.journal.path),
                fix=f"go on: `teapot rollout start {found.before.plan.file}`; or `teapot rollout abort`",
            )
        console.say(f"going on with the rollout that began before, in {found.folder}")
        if _changed(found.before.plan):
            console.say(
                f"{path} was changed since: its settings of then go on, and engines that run are of then; "
                "to roll out what it says now, `teapot rollout abort` first"
            )
        return found
    plan = planned(deployment, path, admin, name)
    if plan.strategy == "replace":
        wait = format_duration(unavailable_s(plan, read(admin.status())))
        console.say(f"the old engines end first: nobody answers for about {wait}, as clients are told (503)")
    now_s = time.time()
    journal = Journal(next_folder(folder, plan.canary, now_s) / JOURNAL)
    journal.append(begun(plan, at_s=now_s))
    made = replay(journal.lines())
    assert made is not None  # Its first line was written just now.
    return Session(journal, made)


def planned(deployment: Deployment, path: Path, admin: Admin, name: str | None) -> Plan:
    """What is going to be done, by the file and by what runs. Raises: UsageError, Away; Failed where what
    runs cannot answer."""
    seen = read(admin.status())
    if deployment.name != seen.deployment:
        raise UsageError(
            f"the file is of '{deployment.name}', and '{seen.deployment}' runs at {admin.url}",
            where=f"{path}: name",
            fix="give the file of the deployment that runs, or another --admin URL",
        )
    baseline = baseline_of(seen)
    named = own_revision(deployment) if deployment.revisions else None
    canary = name or named or path.stem
    taken = canary in seen.weights and canary != baseline.name
    if not NAME.fullmatch(canary) or taken:
        raise UsageError(
            f"the new revision cannot be called '{canary}'",
            where="--name",
            fix="give a name of letters, digits, '.', '_' and '-' that no revision has",
        )
    plan = plan_of(deployment, str(path), canary=canary, baseline=baseline.name)
    return replace(plan, baseline_file=baseline.file, file_sha256=_sha256(path))


def carry_out(
    session: Session, admin: Admin, console: Console, sleep: Callable[[float], None] = time.sleep
) -> int:
    """Go on with it until it is over or asks; returns the exit code. The caller holds the lock."""
    plan, journal = session.before.plan, session.journal
    revisions = (plan.baseline, plan.canary)
    console.say(f"journal: {journal.path}")
    with closing(_marks(plan, console)) as marks:
        controller = Controller(
            plan,
            session.before.state,
            journal,
            admin,
            RealHands(console),
            Watch.resumed(plan, journal, journal.lines()),
            Talk(console.say, console.progress, lambda text: marks.verdict(text, *revisions)),
            lambda: asking.take(session.folder),
            sleep=sleep,
        )
        try:
            code = controller.run()
        except (KeyboardInterrupt, Interrupted):
            console.say(
                f"interrupted: it stays where it is ({controller.state.name}), and nobody watches it; "
                f"go on: teapot rollout start {plan.file}; or take it back: teapot rollout abort"
            )
            raise
    _conclude(controller.state, journal, plan, console)
    return code


def _marks(plan: Plan, console: Console) -> Marking:
    """Marks as the new file wants them; one that is gone or broken by now keeps nobody from going back."""
    try:
        deployment, _ = load_deployment(plan.file, ())
    except TeapotError as error:
        console.say(f"nothing is marked in Grafana: {error}")
        return Marking(plan.deployment)
    return marking(deployment, Path(plan.file).parent, console.say)


def _conclude(state: State, journal: Journal, plan: Plan, console: Console) -> None:
    lines = journal.lines()
    looks = [line for line in lines if line["kind"] == "look"]
    console.result("\n".join([*telling.shown(plan, lines), *(telling.table(looks[-1]) if looks else ())]))
    console.document({"state": state.name, "why": state.why, "journal": str(journal.path)})
    if state.name == "done":
        console.say(f"the running process serves {plan.file} now; a restart must name it:")
        console.say(f"  teapot serve {plan.file}")
        if _changed(plan):
            console.say("but that file was changed since: as it is now, it serves something else")
    elif state.name == "asking":
        why = state.why or "too little to tell"
        console.say(f"{why}: `teapot rollout promote` passes the step, `teapot rollout abort` goes back")


def _changed(plan: Plan) -> bool:
    return _sha256(Path(plan.file)) not in (plan.file_sha256, "")


def _sha256(path: Path) -> str:
    """Of its bytes; empty where it cannot be read."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
