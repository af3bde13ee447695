"""Reads the workload file and the files it names: lengths, traces, conversations.

Owns: where these files are looked for, and that they hold what they held before. Knows nothing about
what is made of them. Everything is read and checked before anything is sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from loadgen.prompts.sharegpt import read_sharegpt
from loadgen.prompts.sources import Inputs
from loadgen.traces.reading import Trace, read_trace
from loadgen.traces.row import TraceRow
from loadgen.workload import TEXT_KEYS, Workload
from loadgen.workload_arrivals import TraceTimes
from loadgen.workload_lengths import FromFile
from loadgen.workload_prompts import OnePrompts, ShareGpt, TracePrompts, parts
from serving.config.document import Document, KeyPath
from serving.config.load import read as read_document
from serving.config.load import validate
from serving.errors import Problem, UsageError

MOST_SAID = 10
BODY_LENGTHS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})


def load(path: Path) -> Workload:
    """Read a workload file, and check every file that it names.

    The workload that comes back has their absolute places and the hash of their content.
    Raises: UsageError with `file:line: key` for everything that is wrong.
    """
    return checked(read_document(path))


def checked(document: Document) -> Workload:
    """The same for a workload that was read already; files are looked for beside the document.

    Raises: UsageError with all that is wrong.
    """
    validate(document, Workload)  # what is wrong with keys comes before what is wrong with files
    problems: list[Problem] = []
    data = _located(document.data, (), document, problems)
    if problems:
        raise UsageError.of(problems)
    workload = validate(replace(document, data=data), Workload)
    read_inputs(workload)
    return workload


def read_inputs(workload: Workload) -> Inputs:
    """What the files of a workload hold. Raises: UsageError with the problems of all of them."""
    problems: list[Problem] = []
    lengths, conversations, traces = {}, {}, {}
    times: Trace | None = None
    for section in _file_sections(workload):
        try:
            match section:
                case FromFile():
                    lengths[section.file] = read_lengths(_text(section.file), name=section.file)
                case ShareGpt():
                    conversations[section.file] = read_sharegpt(_text(section.file), name=section.file)
                case TracePrompts():
                    traces[section.file] = _trace(section, workload)
                case TraceTimes() if section.file is not None:
                    times = read_trace(
                        _lines(section.file),
                        name=section.file,
                        form=section.format,
                        times_only=True,
                    )
        except UsageError as error:
            problems += error.problems
    if problems:
        raise UsageError.of(problems)
    return Inputs(lengths, conversations, traces, times)


def read_lengths(text: str, *, name: str) -> tuple[int, ...]:
    """A whole number above 0 in each line. Raises: UsageError with each wrong line, up to ten."""
    found, problems = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        word = line.strip()
        if word.isascii() and word.isdecimal() and int(word) > 0:
            found.append(int(word))
        elif word:
            fix = "expected a whole number of tokens above 0 in each line"
            problems.append(Problem(f"'{word[:60]}' is no length", f"{name}:{number}", fix))
    if len(problems) > MOST_SAID:
        problems[MOST_SAID:] = [Problem(f"{len(problems) - MOST_SAID} more lines are wrong", name)]
    if problems:
        raise UsageError.of(problems)
    if not found:
        raise UsageError("holds no lengths", where=name, fix="write a whole number in each line")
    return tuple(found)


def _file_sections(workload: Workload) -> Iterator[FromFile | TraceTimes | OnePrompts]:
    yield from [workload.arrival] if isinstance(workload.arrival, TraceTimes) else []
    for prompts in parts(workload.prompts):
        yield prompts
        for name in type(prompts).model_fields:
            value = getattr(prompts, name)
            if isinstance(value, FromFile):
                yield value


def _trace(section: TracePrompts, workload: Workload) -> Trace:
    trace = read_trace(
        _lines(section.file),
        name=section.file,
        form=section.format,
        rows=section.rows,
        skip_unfit=section.unfit_rows == "skip",
    )
    wrong = [
        Problem(what, f"{section.file}:{row.line}", fix)
        for row in trace.rows
        for what, fix in _lacking(row, workload)
    ]
    if wrong:
        raise UsageError.of(wrong[:MOST_SAID])
    return trace


def _lacking(row: TraceRow, workload: Workload) -> Iterator[tuple[str, str]]:
    """What a row's own body does not say and must: what is asked, and how long the answer may be."""
    key = TEXT_KEYS[workload.endpoint]
    if row.body and key not in row.body:
        yield f"body has no {key}", f"endpoint {workload.endpoint} needs it"
    if row.input_tokens is None and workload.endpoint != "embeddings":
        told = row.output_tokens or workload.sampling.max_tokens or BODY_LENGTHS & row.body.keys()
        if not told:
            yield "has no length of the answer", "expected output_tokens, or max_tokens in body or sampling"


def _located(value: Any, path: KeyPath, document: Document, problems: list[Problem]) -> Any:
    """The data of a workload file with each `file` as an absolute path and its `sha256` beside it."""
    if isinstance(value, list):
        return [_located(item, (*path, n), document, problems) for n, item in enumerate(value)]
    if not isinstance(value, Mapping) or path[:1] in (("sampling",), ("extra_body",)):
        return value
    made = {key: _located(item, (*path, key), document, problems) for key, item in value.items()}
    if isinstance(value.get("file"), str):
        file = (Path(document.name).parent / value["file"]).absolute()
        try:
            with file.open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            what = f"'{value['file']}' cannot be read: {error.strerror}"
            fix = f"it is looked for at {file}"
            problems.append(Problem(what, document.where((*path, "file")), fix))
            return made
        if value.get("sha256") not in (None, content):
            what = f"'{value['file']}' holds something else: its hash is {content}"
            fix = "get the file that was meant, or correct sha256"
            problems.append(Problem(what, document.where((*path, "sha256")), fix))
        made |= {"file": str(file), "sha256": content}
    return made


def _lines(file: str) -> Iterator[str]:
    """The lines of a file that may be large."""
    try:
        with Path(file).open(encoding="utf-8-sig") as stream:
            yield from stream
    except UnicodeDecodeError as error:
        raise UsageError(
            f"is not UTF-8 text (byte {error.start})", where=file, fix="save it as UTF-8"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=file) from None


def _text(file: str) -> str:
    return "".join(_lines(file))
