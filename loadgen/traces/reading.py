"""From the lines of a trace file to its rows: in order of time, from 0, and fit to be sent.

Owns: the registry of forms, which form a file is of, and what makes a row unfit. Knows nothing about
disks: lines come in. All that is wrong is said at once, up to ten rows, and then nothing is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from loadgen.traces import azure, burstgpt, mooncake, plain
from loadgen.traces.row import BadRow, Form, TraceRow
from serving.errors import Problem, UsageError

FORMS: tuple[Form, ...] = (plain.FORM, mooncake.FORM, burstgpt.FORM, azure.FORM)
MOST_SAID = 10


@dataclass(frozen=True, slots=True)
class Trace:
    """The rows that can be sent, by time, and what a user should know of how they became so."""

    rows: tuple[TraceRow, ...]
    notes: tuple[str, ...] = ()


def read_trace(
    lines: Iterable[str],
    *,
    name: str,
    form: str = "auto",
    rows: int | None = None,
    skip_unfit: bool = False,
    times_only: bool = False,
) -> Trace:
    """Read a trace. `name` is the file as errors call it; `times_only` lets lengths be of any kind.

    Raises: UsageError with file, line and what was expected, for up to ten rows.
    """
    numbered = ((number, text) for number, text in enumerate(map(str.strip, lines), start=1) if text)
    first = next(numbered, None)
    if first is None:
        raise UsageError("has no rows", where=name, fix="is it the file you meant?")
    chosen = _form(first[1], name, form)
    header = tuple(cell.strip() for cell in first[1].lstrip("\ufeff").split(",")) if chosen.has_header else ()
    body = numbered if chosen.has_header else _again(first, numbered)
    found, skipped, problems = [], 0, _Problems(name)
    for number, text in islice(body, rows):
        try:
            row = chosen.read(number, text, header)
            if not times_only and _is_empty(row):
                if skip_unfit:
                    skipped += 1
                    continue
                raise BadRow(f"asks for {_lengths(row)}; expected at least one each, or set unfit_rows: skip")
        except BadRow as error:
            problems.add(number, error)
            continue
        found.append(row)
    problems.tell()
    if not found:
        raise UsageError("has no rows that can be sent", where=name, fix=f"expected {chosen.wanted}")
    return _in_order(found, skipped, name)


def fitting(
    trace: Trace, *, name: str, least_tokens: int, max_model_len: int | None, skip_unfit: bool
) -> Trace:
    """The trace without rows that cannot be sent to this model.

    A prompt of less than `least_tokens` (what the chat template and a word cost) cannot be made, one that
    with its answer is longer than the model takes would be refused. Raises: UsageError for such rows, up
    to ten, unless they are to be skipped; or if no row is left.
    """
    problems, kept = _Problems(name), []
    for row in trace.rows:
        needed = (row.input_tokens or 0) + (row.output_tokens or 0)
        if max_model_len is not None and needed > max_model_len:
            what = f"needs {needed} tokens; the model takes {max_model_len}"
        elif row.input_tokens is not None and row.input_tokens < least_tokens:
            what = f"has {row.input_tokens} tokens in; the chat template and a word cost {least_tokens}"
        else:
            kept.append(row)
            continue
        problems.add(row.line, BadRow(f"{what}: set unfit_rows: skip, or take the row out"))
    if not skip_unfit:
        problems.tell()
    if not kept:
        raise UsageError("has no row that this model can be asked", where=name, fix="use another model")
    left_out = len(trace.rows) - len(kept)
    if not left_out:
        return trace
    note = f"{name}: {left_out} rows shorter or longer than this model can be asked were left out"
    rows = tuple(replace(row, at_s=row.at_s - kept[0].at_s) for row in kept)
    return Trace(rows, (*trace.notes, note))


def _form(first: str, name: str, asked: str) -> Form:
    first = first.lstrip("\ufeff")
    if asked != "auto":
        chosen = next(form for form in FORMS if form.name == asked)
        if chosen.has_header and not chosen.recognises(first):
            raise UsageError(
                f"'{first[:60]}' is not the header of {asked}",
                where=f"{name}:1",
                fix=f"expected {chosen.wanted}",
            )
        return chosen
    for form in FORMS:
        if form.recognises(first):
            return form
    known = "; ".join(f"{form.name}: {form.wanted}" for form in FORMS)
    raise UsageError(
        f"'{first[:60]}' begins no known form of trace", where=f"{name}:1", fix=f"known are {known}"
    )


def _again(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest


def _is_empty(row: TraceRow) -> bool:
    return row.input_tokens == 0 or row.output_tokens == 0


def _lengths(row: TraceRow) -> str:
    return f"{row.input_tokens or 0} tokens in and {row.output_tokens or 0} out"


def _in_order(rows: list[TraceRow], skipped: int, name: str) -> Trace:
    notes = []
    if skipped:
        notes.append(f"{name}: {skipped} rows with a length of zero were left out")
    if any(b.at_s < a.at_s for a, b in pairwise(rows)):
        late = sum(b.at_s < a.at_s for a, b in pairwise(rows))
        notes.append(f"{name}: the times were not in order ({late} steps back) and were sorted")
        rows = sorted(rows, key=lambda row: row.at_s)
    begin = rows[0].at_s
    return Trace(tuple(replace(row, at_s=row.at_s - begin) for row in rows), tuple(notes))


class _Problems:
    """What is wrong with the rows of a file: the first ten in full, the rest as a number."""

    def __init__(self, name: str) -> None:
        self._name, self._found, self._more = name, list[Problem](), 0

    def add(self, line: int, error: BadRow) -> None:
        what, _, fix = str(error).partition("; ")
        if len(self._found) < MOST_SAID:
            self._found.append(Problem(what, f"{self._name}:{line}", fix or None))
        else:
            self._more += 1

    def tell(self) -> None:
        """Raises: UsageError if there is anything to tell."""
        if self._more:
            self._found.append(Problem(f"{self._more} more rows are wrong", self._name))
        if self._found:
            raise UsageError.of(self._found)
