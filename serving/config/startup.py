"""All that keeps a deployment from starting as asked, known before anything is paid for.

Owns: bringing together what the modes' table, the layout and the engine version's flags say, with file and
line. Knows nothing about any one problem.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from serving.config.document import Document, parse_path
from serving.config.flags import Placement, engine_command
from serving.config.layout import layout_problems
from serving.config.schema import Deployment
from serving.errors import Failed, Problem
from serving.facts.load_flags import knowledge
from serving.modes.mode import EngineContext, Setting
from serving.modes.problems import Finding, Severity, all_problems

_NOWHERE = Placement(python="python", port=1, model_path="model", model_name="model")
"""Enough to see which flags there will be."""


@dataclass(frozen=True, slots=True)
class StartupProblem:
    """One problem, how grave it is, and who says so where that is not teapot itself."""

    severity: Severity
    problem: Problem
    source: str | None = None


def startup_problems(
    deployment: Deployment, document: Document, *contexts: EngineContext
) -> list[StartupProblem]:
    """Everything known about the start of all engines of a deployment, each problem once, errors first."""
    found = [StartupProblem("error", problem) for problem in _of_the_whole(deployment, document, contexts[0])]
    for context in contexts:
        found += [_told(finding, document) for finding in all_problems(deployment.modes, context)]
        command = engine_command(deployment, document, _NOWHERE, context)
        rejected = rejected_settings(command.settings, context.version)
        found += [StartupProblem("error", problem) for problem in rejected]
        found += [StartupProblem("warning", problem) for problem in _ignored(context)]
    grave: Sequence[Severity] = ("error", "ineffective", "warning")
    return sorted(dict.fromkeys(found), key=lambda entry: grave.index(entry.severity))


def check_startable(
    deployment: Deployment, document: Document, *contexts: EngineContext, allow_ineffective: bool = False
) -> list[Problem]:
    """Refuse what cannot work, and what would do nothing unless allowed; return what remains to be said.

    Raises: Failed with all that is refused.
    """
    found = startup_problems(deployment, document, *contexts)
    allowed: Sequence[Severity] = ("warning", "ineffective") if allow_ineffective else ("warning",)
    refused = [entry.problem for entry in found if entry.severity not in allowed]
    if refused:
        raise Failed.of(refused)
    return [entry.problem for entry in found]


def rejected_settings(settings: Sequence[Setting], version: str) -> list[Problem]:
    """What the vLLM version at hand would not take of a command; nothing where its flags were never read."""
    known = knowledge(version)
    if known is None:
        return []
    found = []
    for setting in settings:
        if setting.name.startswith("-"):
            complaint = known.flag(setting.name, shlex.split(setting.value or ""))
        else:
            complaint = known.variable(setting.name)
        if complaint:
            found.append(Problem(complaint[0], setting.source, complaint[1]))
    return found


def _of_the_whole(deployment: Deployment, document: Document, context: EngineContext) -> Iterator[Problem]:
    if context.machine is not None:
        yield from layout_problems(deployment, document, context.machine, device=context.device)
    engine = deployment.engine
    if engine.gpu_memory_utilization is not None and context.device == "cpu":
        where = document.where(("engine", "gpu_memory_utilization"))
        yield Problem("there is no GPU memory on device cpu", where, "use kv_cache_memory")
    if engine.cores != "auto" and context.device != "cpu":
        what = f"cores are shared out on device cpu only and this is {context.device}"
        yield Problem(what, document.where(("engine", "cores")), "leave it out")


def _told(finding: Finding, document: Document) -> StartupProblem:
    inside = parse_path(finding.key) if finding.key else None
    path = (() if finding.mode_index is None else ("modes", finding.mode_index)) + (inside or ())
    what = f"{finding.what} ({finding.reason})" if finding.reason else finding.what
    return StartupProblem(
        finding.severity, Problem(what, document.where(path), finding.fix), finding.source or None
    )


def _ignored(context: EngineContext) -> Iterator[Problem]:
    """Variables of the shell that engines once obeyed: vLLM itself only warns of them in its log."""
    known = knowledge(context.version)
    if known is None:
        return
    for name in context.inherited:
        removed = known.gone(name, "variable") if known.variable(name) else None
        if removed:
            what = f"{name} is set and vLLM {known.version.version} does not read it"
            yield Problem(what, "the environment", removed.instead)
