"""Turns pydantic's errors into problems with a file, a line, a key and a way out.

Owns: the wording. Knows nothing about particular keys: any pydantic model may be behind a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from serving.config.document import Document, KeyPath
from serving.config.units import UnitError
from serving.errors import Problem
from serving.modes.spelling import suggest

_SECTION = ("a section with keys", "write `key: value` lines below it")
_LIST = ("a list", "begin each entry with a dash")
_WANTED = {
    "int": ("a whole number", "write digits, such as 8"),
    "float": ("a number", "write digits, such as 0.5"),
    "string": ("text", "put it in quotes"),
    "bool": ("true or false", "write true or false"),
    **{"list": _LIST, "tuple": _LIST, "dict": _SECTION, "model": _SECTION, "mapping": _SECTION},
}
"""By the first word of pydantic's error type: what the value should be, and how to write it."""


UNKNOWN_KEY = "unknown key"
_MEANT = re.compile(r"did you mean '(?P<key>.+)'\?")


def explain(error: ValidationError, document: Document, model: type[BaseModel]) -> list[Problem]:
    """Say all that is wrong with a document, in the order of its lines, once for each key."""
    found: dict[KeyPath, tuple[int, Problem]] = {}
    for details in error.errors(include_url=False):
        path = _path(details, document.data)
        if path not in found:
            what, fix = _say(details, path, model)
            found[path] = (document.line(path), Problem(what, document.where(path), fix))
    for path, (_, problem) in list(found.items()):
        # A misspelt key is one mistake, not also a missing one.
        misspelt = _MEANT.fullmatch(problem.fix or "") if problem.what == UNKNOWN_KEY else None
        if misspelt:
            found.pop((*path[:-1], misspelt["key"]), None)
    return [problem for _, problem in sorted(found.values(), key=lambda entry: entry[0])]


def _path(details: ErrorDetails, data: Any) -> KeyPath:
    """The keys that lead to the error: pydantic's location without the tags of unions it puts in between."""
    path: list[str | int] = []
    location = details["loc"]
    for position, part in enumerate(location):
        inside = part in data if isinstance(data, dict) else isinstance(data, list) and isinstance(part, int)
        if inside:
            path.append(part)
            data = data[part]
        elif position == len(location) - 1 and details["type"] == "missing":
            path.append(part)
    if details["type"].startswith("union_tag"):
        path.append(str(details["ctx"]["discriminator"]).strip("'"))
    return tuple(path)


def _say(details: ErrorDetails, path: KeyPath, model: type[BaseModel]) -> tuple[str, str | None]:
    """What is wrong and what to do, from one error of pydantic."""
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    if kind == "extra_forbidden":
        return UNKNOWN_KEY, suggest(str(path[-1]), _keys(details, model), "known keys")
    if kind == "missing" or kind == "union_tag_not_found":
        return "missing", _how_to_add(details, model, str(path[-1]))
    if kind in ("literal_error", "union_tag_invalid"):
        allowed = _quoted(str(context.get("expected", context.get("expected_tags", ""))))
        given = str(context["tag"]) if "tag" in context else value
        return f"{_show(given)} is not known", suggest(str(given), allowed, "use one of")
    if kind == "value_error":
        return _own_words(context["error"])
    if value is None:
        return "is empty", "give it a value or leave the key out"
    if kind == "string_pattern_mismatch":
        description = _description(details, model)
        return f"{_show(value)} is not allowed", description or f"it must match {context['pattern']}"
    wanted = _WANTED.get(kind.split("_")[0])
    if wanted and kind.rsplit("_", 1)[-1] in ("type", "parsing", "float"):
        return _wrong_type(value, *wanted)
    message = details["msg"].removeprefix("Input ")
    return f"{_show(value)} is not allowed", f"it {message}"


def _wrong_type(value: Any, wanted: str, fix: str) -> tuple[str, str]:
    if wanted == "text" and not isinstance(value, list | dict):
        return f"{_show(value)} is not text", f'put it in quotes: "{_plain(value)}"'
    if wanted == "true or false" and str(value).lower() in ("yes", "on", "no", "off"):
        return (
            f"{_show(value)} is not true or false",
            f"write {'true' if value in ('yes', 'on') else 'false'}",
        )
    if "number" in wanted and isinstance(value, str) and value.strip().isdecimal():
        return f"{_show(value)} is text", f"write {value.strip()} without quotes"
    return f"{_show(value)} is not {wanted}", fix


def _own_words(error: Any) -> tuple[str, str | None]:
    """Validators of ours say `what; what to do` in one text."""
    if isinstance(error, UnitError):
        return error.what, error.fix
    what, _, fix = str(error).partition("; ")
    return what, fix or None


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _show(value: Any) -> str:
    if isinstance(value, dict):
        return _SECTION[0]
    if isinstance(value, list):
        return _LIST[0]
    text = _plain(value)
    if not isinstance(value, str):
        return text
    return f"'{text[:60]}...'" if len(text) > 60 else f"'{text}'"


def _quoted(expected: str) -> list[str]:
    """The words in pydantic's `'a', 'b' or 'c'`."""
    return expected.split("'")[1::2]


def _how_to_add(details: ErrorDetails, model: type[BaseModel], key: str) -> str:
    if details["type"] == "union_tag_not_found":
        tags = [tag for owner in _owners(details["loc"], model) for tag in _tags(owner, key)]
        return f"add {key}, one of {', '.join(tags)}" if tags else f"add {key}"
    description = _description(details, model)
    return f"add it: {description}" if description else f"add `{key}: ...`"


def _description(details: ErrorDetails, model: type[BaseModel]) -> str | None:
    owners = _owners(details["loc"][:-1], model)
    fields = (owner.model_fields.get(str(details["loc"][-1])) for owner in owners)
    return next((field.description for field in fields if field and field.description), None)


def _keys(details: ErrorDetails, model: type[BaseModel]) -> list[str]:
    return [key for owner in _owners(details["loc"][:-1], model) for key in owner.model_fields]


def _owners(location: Sequence[str | int], model: type[BaseModel]) -> list[type[BaseModel]]:
    """The models that may stand at a location of pydantic's: several where a union is not yet decided."""
    owners = [model]
    for part in location:
        if isinstance(part, int):
            continue
        tagged = [owner for owner in owners if any(part in _tags(owner, key) for key in owner.model_fields)]
        if tagged and len(owners) > 1:
            owners = tagged
            continue
        fields = [owner.model_fields[part] for owner in owners if part in owner.model_fields]
        owners = [found for field in fields for found in _models(field.annotation)]
    return owners


def _tags(owner: type[BaseModel], key: str) -> tuple[str, ...]:
    field = owner.model_fields.get(key)
    is_literal = field is not None and get_origin(field.annotation) is Literal
    return get_args(field.annotation) if field and is_literal else ()


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The pydantic models inside an annotation, through unions, lists and Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (Annotated, Union, UnionType, list, tuple, dict):
        for inner in get_args(annotation):
            yield from _models(inner)
