"""Conversations that people had with models, in the form of the ShareGPT files.

Owns: this form, and which conversations can be replayed. Knows nothing about disks: the text comes in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.lengths import Draw
from loadgen.prompts.prompt import Count, Prompt, Turn
from loadgen.schedule import stream
from serving.errors import Problem, UsageError

ASKS = frozenset({"human", "user"})
ANSWERS = frozenset({"gpt", "assistant", "chatgpt", "bing", "bard"})
ABOUT_CHARACTERS = 4
"""A token of English prose, roughly: used only where the target cannot count."""
MOST_SAID = 10
WANTED = 'a list of {"conversations": [{"from": "human", "value": "..."}, {"from": "gpt", "value": "..."}]}'


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was asked, and what was answered."""

    asked: str
    answered: str


@dataclass(frozen=True, slots=True)
class ShareGptSource:
    """Takes the conversations of the file in turn, and from the top again when they are used up."""

    conversations: Sequence[Sequence[Exchange]]
    turns: int
    salt: str
    count: Count | None
    overhead_tokens: int
    output_tokens: Draw | None
    think_s: float

    def make(self, index: int) -> Prompt:
        """The conversation of request `index`; a mark of the run's salt stands before its first words."""
        first, *rest = self.conversations[index % len(self.conversations)][: self.turns]
        mark = stream(self.salt, f"salt/{index}").getrandbits(48)
        text = f"Reference {mark:012x}.\n\n{first.asked}"
        counted = self.count(text) if self.count else None
        later = tuple(
            Turn(turn.asked, self._tokens(turn.asked), self._output(index, turn), self.think_s)
            for turn in rest
        )
        return Prompt("sharegpt", text, counted, self._output(index, first), turns=later)

    def _output(self, index: int, exchange: Exchange) -> int:
        return self.output_tokens(index) if self.output_tokens else self._tokens(exchange.answered)

    def _tokens(self, text: str) -> int:
        if self.count is None:
            return max(1, len(text) // ABOUT_CHARACTERS)
        return max(1, self.count(text) - self.overhead_tokens)


def read_sharegpt(text: str, *, name: str) -> tuple[tuple[Exchange, ...], ...]:
    """The conversations that begin with a question and its answer; others cannot be replayed.

    Takes a JSON list, or one JSON object in each line. Raises: UsageError with what was expected, for up
    to ten entries, or if nothing can be replayed.
    """
    entries = _entries(text, name)
    found, problems = [], []
    for number, entry in enumerate(entries, start=1):
        try:
            exchanges = _exchanges(entry)
        except ValueError as error:
            what, _, fix = str(error).partition("; ")
            problems.append(Problem(what, f"{name}: entry {number}", fix))
            continue
        if exchanges:
            found.append(exchanges)
    if problems:
        more = len(problems) - MOST_SAID
        tail = [Problem(f"{more} more entries are wrong", name)] if more > 0 else []
        raise UsageError.of([*problems[:MOST_SAID], *tail])
    if not found:
        raise UsageError("holds no question with its answer", where=name, fix=f"expected {WANTED}")
    return tuple(found)


def _entries(text: str, name: str) -> Sequence[Any]:
    try:
        if text.lstrip().startswith("["):
            entries: Sequence[Any] = json.loads(text)
            return entries
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        made = []
        for number, line in lines:
            try:
                made.append(json.loads(line))
            except ValueError:
                raise UsageError("is not JSON", where=f"{name}:{number}", fix=f"expected {WANTED}") from None
        return made
    except json.JSONDecodeError as error:
        raise UsageError(
            f"is not JSON: {error.msg}", where=f"{name}:{error.lineno}", fix=f"expected {WANTED}"
        ) from None


def _exchanges(entry: Any) -> tuple[Exchange, ...]:
    """The leading pairs of question and answer. Raises: ValueError if it is not of this form."""
    said = _said(entry)
    while said and said[0][0] not in ASKS:  # a system prompt, or the tail of an older conversation
        said = said[1:]
    pairs = []
    for (who, asked), (whom, answered) in zip(said[::2], said[1::2], strict=False):
        if who not in ASKS or whom not in ANSWERS or not asked.strip() or not answered.strip():
            break
        pairs.append(Exchange(asked, answered))
    return tuple(pairs)


def _said(entry: Any) -> list[tuple[str, str]]:
    rows = entry.get("conversations", entry.get("messages")) if isinstance(entry, Mapping) else None
    if not isinstance(rows, list):
        raise ValueError(f"has no conversations; expected {WANTED}")
    said = []
    for row in rows:
        who = row.get("from", row.get("role")) if isinstance(row, Mapping) else None
        text = row.get("value", row.get("content")) if isinstance(row, Mapping) else None
        if not isinstance(who, str) or not isinstance(text, str):
            raise ValueError(f"has a message without from and value; expected {WANTED}")
        said.append((who, text))
    return said
