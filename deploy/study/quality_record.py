"""What a measurement of quality asks, and what came back: log-probabilities of a text, and greedy answers.

Owns: the plan (documents, their windows, the beginnings that are continued), the record and its JSON.
Knows nothing about engines, and draws no conclusion (`quality_compare.py` does).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from serving.errors import UsageError

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Document:
    """One document of the text, by a name that is unique in it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityPlan:
    """What is asked of an engine; two records can be compared where both come from the same plan."""

    documents: tuple[Document, ...]
    window_chars: int = 2000
    """The longest piece of a document that is scored in one prompt: one window, without overlap."""
    cuts: int = 3
    """Greedy prompts a document gives: its first 1/(cuts+1), 2/(cuts+1), ... of characters."""
    answer_tokens: int = 24

    def __post_init__(self) -> None:
        if len({document.name for document in self.documents}) < len(self.documents):
            raise UsageError("two documents have the same name", fix="give each a name of its own")
        if not self.documents or not all(document.text.strip() for document in self.documents):
            raise UsageError("a document is empty, or there is none", fix="give documents with text")
        if self.window_chars < 1 or self.cuts < 0 or self.answer_tokens < 1:
            raise UsageError(
                f"window_chars={self.window_chars}, cuts={self.cuts}, answer_tokens={self.answer_tokens}",
                fix="window_chars and answer_tokens are at least 1, cuts at least 0",
            )

    @property
    def sha256(self) -> str:
        """Of everything that is asked, so that records of different plans are never compared."""
        said = "\0".join(part for document in self.documents for part in (document.name, document.text))
        settings = f"{self.window_chars}\0{self.cuts}\0{self.answer_tokens}\0"
        return hashlib.sha256((settings + said).encode()).hexdigest()

    def prompts(self) -> Iterator[tuple[str, str]]:
        """Each greedy prompt by its name: a document's beginning, cut after a whole word."""
        for document in self.documents:
            for cut in range(1, self.cuts + 1):
                end = len(document.text) * cut // (self.cuts + 1)
                yield f"{document.name}:{cut}/{self.cuts + 1}", _whole_words(document.text[:end])


def _whole_words(text: str) -> str:
    """Without the piece of a word at the end, nor the space before it, which tokenizers join to the next."""
    kept = text.rsplit(None, 1)[0] if len(text.split()) > 1 else text
    return kept.rstrip()


def windows(text: str, chars: int) -> tuple[str, ...]:
    """Cut a text into pieces of at most `chars`, at an empty line, a line's end or a space where it has one.

    Joined, the pieces are the text.
    """
    pieces = []
    while len(text) > chars:
        ends = (text.rfind(mark, 1, chars) for mark in ("\n\n", "\n", " "))
        # A cut near the start would leave a piece too short to say anything.
        end = next((end for end in ends if end >= chars / 2), chars)
        pieces.append(text[:end])
        text = text[end:]
    return (*pieces, text)


@dataclass(frozen=True, slots=True)
class DocumentScore:
    """What the engine thought of one document."""

    document: str
    windows: int
    tokens_sha256: str
    """Of the tokens' names: the same only under the same tokenization."""
    nll: tuple[float, ...]
    """Negative log-probability of each scored token, in nats. A window's first token has none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The greedy continuation of one prompt, as the tokens' names."""

    prompt: str
    tokens: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRecord:
    """One measurement of one engine, as it goes into `quality.json`."""

    model: str
    plan_sha256: str
    window_chars: int
    answer_tokens: int
    documents: tuple[DocumentScore, ...]
    answers: tuple[Answer, ...]

    @property
    def tokens(self) -> int:
        """How many were scored."""
        return sum(len(document.nll) for document in self.documents)

    @property
    def mean_nll(self) -> float:
        """Nats a token, over all scored tokens."""
        return sum(math.fsum(document.nll) for document in self.documents) / self.tokens

    @property
    def perplexity(self) -> float:
        """exp(mean NLL)."""
        return math.exp(self.mean_nll)

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON document; log-probabilities to six decimals."""
        document = asdict(self)
        for row in document["documents"]:
            row["nll"] = [round(value, 6) for value in row["nll"]]
        derived = {"perplexity": self.perplexity, "tokens": self.tokens}
        return {"schema": SCHEMA, "kind": "quality", **derived, **document}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], where: str | None = None) -> QualityRecord:
        """Read what `to_json` wrote, from the file `where`. Raises: UsageError for anything else."""
        if document.get("schema") != SCHEMA or document.get("kind") != "quality":
            raise UsageError(
                f"not a quality record of schema {SCHEMA}",
                where=where,
                fix="give the quality.json that this version of teapot wrote",
            )
        try:
            record = TypeAdapter(cls).validate_python(document)
            scored = record.documents and all(row.nll for row in record.documents)
            lost = None if scored else "documents: not all have scored tokens"
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            lost = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        if lost:
            what = f"a quality record that is not whole ({lost})"
            raise UsageError(what, where=where, fix="measure quality again")
        return record


def tokens_sha256(tokens: Sequence[str]) -> str:
    """One hash of a document's tokens, in order."""
    return hashlib.sha256("\0".join(tokens).encode()).hexdigest()
