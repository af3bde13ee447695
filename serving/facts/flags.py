"""What each vLLM version accepts: flags, environment variables, and words inside values.

Owns: the types of the tables in `flags/` and what is wrong with one flag or variable of one version. Knows
nothing about files, deployments or what a flag does. The tables are made by deploy/engine_scripts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

Kind = Literal["switch", "bool", "int", "float", "size", "json", "text"]
Complaint = tuple[str, str]
"""What is wrong, and what to do."""
RemovedOf = Literal["flag", "variable", "connector", "method", "key"]

_SHAPES: Mapping[str, tuple[re.Pattern[str], str]] = {
    "int": (re.compile(r"[+-]?\d+"), "a whole number"),
    "float": (re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"), "a number"),
    "size": (re.compile(r"-1|auto|\d+(\.\d+)?[kKmMgGtT]?"), "a number such as 8192 or 8k"),
}
_WORDS = {
    "--attention-backend": "attention_backend",
    "--kv-cache-dtype": "kv_cache_dtype",
    "--prefix-caching-hash-algo": "prefix_caching_hash_algo",
    "--quantization": "quantization",
}
"""Flags whose words vLLM checks late, or not in its parser."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of one version. `off` are the spellings that say no; `takes` as argparse's nargs."""

    name: str
    kind: Kind
    also: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    takes: str | None = None
    choices: tuple[str, ...] = ()
    default: str | int | float | bool | None = None
    """None: none, or one that is no plain value."""


@dataclass(frozen=True, slots=True)
class EngineFlags:
    """All that one vLLM version accepts, and how that is known."""

    version: str
    extracted: str
    """The date."""
    source: str
    flags: Mapping[str, Flag]
    """By every spelling."""
    variables: frozenset[str]
    words: Mapping[str, frozenset[str]]

    @property
    def longs(self) -> list[str]:
        """Spellings with two dashes, for suggestions."""
        return [spelling for spelling in self.flags if spelling.startswith("--")]


@dataclass(frozen=True, slots=True)
class Removed:
    """A name that vLLM once accepted, and what to use now."""

    name: str
    of: RemovedOf
    instead: str
    source: str


def parse_engine_flags(data: Mapping[str, Any]) -> EngineFlags:
    """Give one table its types. Raises: TypeError, KeyError on a wrong or missing column."""
    flags: dict[str, Flag] = {}
    for name, row in data["flags"].items():
        plural = {key: tuple(row[key]) for key in ("also", "off", "choices") if key in row}
        flag = Flag(name=name, **{**row, **plural})
        flags |= dict.fromkeys((name, *flag.also, *flag.off), flag)
    words = {key: frozenset(values) for key, values in data["words"].items()}
    variables = frozenset(data["variables"])
    return EngineFlags(data["version"], data["extracted"], data["source"], flags, variables, words)


def parse_removed(rows: Sequence[Mapping[str, Any]]) -> tuple[Removed, ...]:
    """Give the rows of removed.toml their type. Raises: TypeError on a wrong or missing column."""
    return tuple(Removed(**row) for row in rows)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """One version to answer for, the other known ones, and what is gone."""

    version: EngineFlags
    others: Sequence[EngineFlags]
    removed: Sequence[Removed]

    def gone(self, name: str, of: RemovedOf) -> Removed | None:
        """The row of a name that some version lacks, if there is one."""
        return next((row for row in self.removed if (row.name, row.of) == (name, of)), None)

    def flag(self, given: str, words: Sequence[str]) -> Complaint | None:
        """What is wrong with a flag and the words after it; None where the version accepts them."""
        base, dot, _ = given.partition(".")
        known = self.version.flags.get(base)
        if known is None:
            return self._unknown_flag(base)
        if dot and known.kind != "json":
            return f"{base} has no keys inside", f"write {base} and its value"
        if known.kind in ("switch", "bool"):
            return (f"{given} takes no value", "write true or false") if words else None
        if not words and known.takes not in ("?", "*"):
            return f"{given} needs a value", f"give it {_wanted(known)}"
        if len(words) > 1 and known.takes in (None, "?"):
            # The parser would take the second for the model, which may stand without a flag.
            return f"{given} takes one value and not {len(words)}", "give one"
        if dot:
            return None
        return next(filter(None, (self._value(known, word) for word in words)), None)

    def variable(self, name: str) -> Complaint | None:
        """What is wrong with a variable's name; None for one of this version or one that is not vLLM's."""
        if not name.startswith("VLLM_") or name in self.version.variables:
            return None
        what = f"{name} is no variable of vLLM {self.version.version}"
        gone = self.gone(name, "variable")
        if gone:
            return what, gone.instead
        having = [other.version for other in self.others if name in other.variables]
        if having:
            return what, f"it is in {', '.join(having)} only: leave it out"
        return what, _close(name, sorted(self.version.variables))

    def _unknown_flag(self, base: str) -> Complaint:
        what = f"{base} is no flag of vLLM {self.version.version}"
        positive = self.version.flags.get(base.replace("--no-", "--", 1))
        if positive is not None and positive.kind == "switch":
            return f"{positive.name} cannot be said to be false", "leave it out"
        if positive is not None and positive.kind != "bool":
            return f"{positive.name} is neither true nor false", f"give it {_wanted(positive)}"
        gone = self.gone(base, "flag") or self.gone(base.replace("--no-", "--", 1), "flag")
        if gone:
            return what, gone.instead
        having = [other.version for other in self.others if base in other.flags]
        if having:
            return what, f"it is in {', '.join(having)} only: leave it out"
        return what, _close(base, self.version.longs)

    def _value(self, flag: Flag, word: str) -> Complaint | None:
        if flag.choices:
            return self._word(flag.name, word, [choice for choice in flag.choices if choice != "None"])
        if flag.name in _WORDS:
            return self._word(flag.name, word, sorted(self.version.words[_WORDS[flag.name]]))
        if flag.kind in _SHAPES and not _SHAPES[flag.kind][0].fullmatch(word):
            return f"'{word}' is no value for {flag.name}", f"give it {_wanted(flag)}"
        if flag.kind == "json" and word.lstrip()[:1] in ("{", "["):
            return self._inside(flag, word)
        return None

    def _inside(self, flag: Flag, word: str) -> Complaint | None:
        try:
            data = json.loads(word)
        except ValueError as error:
            return f"the value of {flag.name} is not JSON: {error}", "write it as a section of keys"
        if flag.name == "--speculative-config" and isinstance(data, dict) and "method" in data:
            methods = sorted(self.version.words["speculative_method"])
            return self._word("speculative method", str(data["method"]), methods, "method")
        if flag.name == "--kv-transfer-config":
            return next(self._transfer(data), None)
        return None

    def _transfer(self, data: Any) -> Iterator[Complaint]:
        """Connectors, also those inside a MultiConnector; one with a module of its own is not vLLM's."""
        if isinstance(data, list):
            for entry in data:
                yield from self._transfer(entry)
        elif isinstance(data, dict):
            for key, value in data.items():
                gone = self.gone(f"kv_transfer_config.{key}", "key")
                if gone and "kv_connector" in data:
                    yield f"{gone.name} is no key of vLLM {self.version.version}", gone.instead
                if key == "kv_connector" and "kv_connector_module_path" not in data:
                    connectors = sorted(self.version.words["kv_connector"])
                    found = self._word("KV connector", str(value), connectors, "connector")
                    if found:
                        yield found
                yield from self._transfer(value)

    def _word(self, name: str, word: str, known: Sequence[str], of: RemovedOf = "flag") -> Complaint | None:
        forms = {word, word.lower().replace("-", "_"), word.upper()}
        if forms & set(known):
            return None
        what = f"'{word}' is no {name} of vLLM {self.version.version}"
        gone = self.gone(word, of)
        return what, gone.instead if gone else _close(word, known)


def _wanted(flag: Flag) -> str:
    if flag.choices:
        return f"one of {', '.join(choice for choice in flag.choices if choice != 'None')}"
    return _SHAPES[flag.kind][1] if flag.kind in _SHAPES else "a value"


def _close(word: str, known: Sequence[str]) -> str:
    """A close spelling; the whole list only where it is short."""
    close = get_close_matches(word, known, n=1, cutoff=0.75)
    if close:
        return f"did you mean {close[0]}?"
    return f"use one of {', '.join(known)}" if len(known) <= 40 else "its --help=all lists what there is"
