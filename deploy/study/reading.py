"""Reads a study: its file, the base it names, its workloads; and works out every arm's deployment.

Owns: which files are read, where paths in them lead, and the checks that need more than one of them. Knows
nothing about whether an arm can run (`judge`), or in which order (`design`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.study.file import Fragment, StudyFile, combinations
from deploy.study.merge import ON, WITHOUT, Merged, begin, lay_over
from loadgen.input_files import checked
from loadgen.prepare import load_workload
from loadgen.workload import Workload
from serving.config.document import Document, KeyPath
from serving.config.load import read, validate
from serving.config.rules import deployment_problems
from serving.config.schema import Deployment
from serving.errors import Problem, TeapotError, UsageError
from serving.modes import MODES
from serving.modes.spelling import suggest

AWAY: Mapping[str, Any] = {
    "gateway": {
        "host": "127.0.0.1",
        "port": 0,
        "admin_port": 0,
        "keys_file": None,
        "allow_anonymous": None,
        "tls": None,
    },
    "prometheus": {"enabled": False},
    "revisions": None,
}
"""Over every base, below `set`: a study serves nobody but itself, on free ports of loopback, and starts no
Prometheus with each of its engines."""


@dataclass(frozen=True, slots=True)
class ArmRead:
    """An arm as it is written."""

    name: str
    fragment: Fragment
    on: str | None
    labels: Mapping[str, str]
    document: Merged
    deployment: Deployment


@dataclass(frozen=True, slots=True)
class Study:
    """A study as it is written, checked as far as files go."""

    file: StudyFile
    document: Document
    beside: Path
    """The folder of the study file."""
    arms: tuple[ArmRead, ...]
    workloads: Mapping[str, Workload]

    @property
    def control(self) -> str:
        """The arm that the others are held against."""
        return self.file.control or self.arms[0].name

    def arm(self, name: str) -> ArmRead:
        """The arm of that name. Raises: KeyError."""
        return {arm.name: arm for arm in self.arms}[name]

    def fingerprint(self) -> str:
        """SHA-256 of all that the results hang on: equal for a study that would measure the same."""
        content = {
            "arms": {arm.name: arm.document.data for arm in self.arms},
            "workloads": {name: workload.normalized() for name, workload in self.workloads.items()},
            "control": self.control,
            **self.file.model_dump(mode="json", include={"repeats", "hold", "seed", "quality"}),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_study(path: str | Path, overrides: Sequence[str] = ()) -> Study:
    """Read a study file with everything that it names. Raises: UsageError with all that is wrong."""
    return study_of(read(path, overrides), Path(path).parent)


def study_of(document: Document, beside: Path) -> Study:
    """The same for a document that was read already, or made."""
    file = validate(document, StudyFile)
    problems: list[Problem] = []
    arms = _arms(file, document, beside, problems)
    workloads = dict(_workloads(file, document, beside, problems))
    if file.control is not None and file.control not in file.arm_names:
        known = suggest(file.control, file.arm_names, "arms are")
        problems.append(Problem(f"there is no arm '{file.control}'", document.where(("control",)), known))
    if problems:
        raise UsageError.of(list(dict.fromkeys(problems)))
    return Study(file, document, beside, tuple(arms.values()), workloads)


def _arms(file: StudyFile, document: Document, beside: Path, problems: list[Problem]) -> dict[str, ArmRead]:
    base = _base(file, document, beside)
    base = lay_over(base, Document("teapot", AWAY, {}), ())
    base = lay_over(base, document, ("set",)) if file.set else base
    found = {}
    for name, stack, labels in _stacks(file, document, problems):
        merged = base
        for at in stack:
            merged = lay_over(merged, document, at)
        merged = _located(_named(merged, name), beside)
        try:
            deployment = validate(merged, Deployment)
            problems += deployment_problems(deployment, merged)
        except UsageError as error:
            problems += error.problems
            continue
        fragment = file.arms.get(name) or _united(file, labels)
        found[name] = ArmRead(name, fragment, fragment.get(ON), labels, merged, deployment)
    return found


def _base(file: StudyFile, document: Document, beside: Path) -> Merged:
    if file.base is None:
        return begin(document, ("deployment",))
    try:
        base = begin(read(beside / file.base))
    except UsageError as error:
        where = document.where(("base",))
        raise UsageError.of([*error.problems, Problem("is the base of this study", where)]) from None
    return _located(base, (beside / file.base).parent)


def _stacks(
    file: StudyFile, document: Document, problems: list[Problem]
) -> Iterator[tuple[str, list[KeyPath], Mapping[str, str]]]:
    """Each arm with the places of the fragments that are laid over the base, in their order."""
    for at, fragment, inner in _fragments(file):
        problems += _wrong(fragment, inner, at, document)
    for name, labels in combinations(file.factors).items() if file.factors else ():
        yield name, [("factors", factor, value) for factor, value in labels.items()], labels
    for name in file.arms:
        stack: list[KeyPath] = []
        under: str | None = name
        while under is not None and ("arms", under) not in stack:
            stack.insert(0, ("arms", under))
            above, under = under, file.arms[under].get(ON)
            if under is not None and under not in file.arms:
                fix = suggest(str(under), list(file.arms), "arms are")
                where = document.where(("arms", above, ON))
                problems.append(Problem(f"there is no arm '{under}'", where, fix))
                under = None
        if under is not None:
            where = document.where(("arms", name, ON))
            problems.append(Problem("arms stand on each other in a circle", where, "leave one `on` out"))
            continue
        yield name, stack, {}


def _fragments(file: StudyFile) -> Iterator[tuple[KeyPath, Fragment, bool]]:
    yield ("set",), file.set, False
    for name, fragment in file.arms.items():
        yield ("arms", name), fragment, True
    for factor, values in file.factors.items():
        for value, fragment in values.items():
            yield ("factors", factor, value), fragment, False


def _wrong(fragment: Fragment, may_stand: bool, at: KeyPath, document: Document) -> Iterator[Problem]:
    """What is wrong with a fragment's own two keys; all others are the deployment's."""
    gone = fragment.get(WITHOUT)
    kinds = [mode.model_fields["kind"].default for mode in MODES]
    if gone is not None and not isinstance(gone, list):
        yield Problem("is not a list", document.where((*at, WITHOUT)), "list kinds, such as [prefix_cache]")
    for number, kind in enumerate(gone if isinstance(gone, list) else ()):
        if kind not in kinds:
            where = document.where((*at, WITHOUT, number))
            yield Problem(f"'{kind}' is no kind of mode", where, suggest(str(kind), kinds, "kinds are"))
    if ON in fragment and not may_stand:
        yield Problem("only arms stand on others", document.where((*at, ON)), "leave it out")
    if "name" in fragment:
        yield Problem("arms are named by the study", document.where((*at, "name")), "leave it out")


def _united(file: StudyFile, labels: Mapping[str, str]) -> Fragment:
    """The fragments of a combination, one after the other, for people to read."""
    united: Fragment = {}
    for factor, value in labels.items():
        for key, said in file.factors[factor][value].items():
            both = isinstance(said, dict) and isinstance(united.get(key), dict)
            united[key] = {**united[key], **said} if both else said
    return united


def _named(merged: Merged, name: str) -> Merged:
    """An arm's deployment bears the arm's name, so that metrics and logs tell the arms apart."""
    return lay_over(merged, Document("teapot", {"name": _slug(name)}, {}), ())


def _located(merged: Merged, beside: Path) -> Merged:
    """With the folders of models and drafts as absolute paths, where there are such folders."""
    data = dict(merged.data)
    data["model"] = _place(data.get("model"), beside)
    modes = data.get("modes")
    if isinstance(modes, list):
        data["modes"] = [
            {**mode, "model": _place(mode["model"], beside)}
            if isinstance(mode, dict) and isinstance(mode.get("model"), str)
            else mode
            for mode in modes
        ]
    if data["model"] is None:
        del data["model"]
    return Merged(merged.name, data, {}, frozenset(), merged.origins)


def _place(model: Any, beside: Path) -> Any:
    if not isinstance(model, str):
        return model
    folder = (beside / Path(model).expanduser()).absolute()
    return str(folder) if folder.is_dir() else model


def _workloads(
    file: StudyFile, document: Document, beside: Path, problems: list[Problem]
) -> Iterator[tuple[str, Workload]]:
    for name, said in file.workloads.items():
        at = ("workloads", name)
        try:
            if isinstance(said, str):
                yield name, load_workload(beside / said).model_copy(update={"name": _slug(name)})
                continue
            part = begin(document, at)
            named = {"name": _slug(name), **said}
            yield name, checked(Merged(document.name, named, {}, frozenset(), part.origins))
        except TeapotError as error:
            problems += error.problems
            if isinstance(said, str):
                problems.append(Problem("is a workload of this study", document.where(at)))


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")
