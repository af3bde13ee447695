"""`teapot modes`: every mode an engine can run in, as the modes themselves tell it.

Owns: how the list is shown. Knows nothing about any one mode.
"""

from __future__ import annotations

import argparse
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from serving.console import Console
from serving.errors import EXIT_OK
from serving.modes import MODES
from serving.modes.mode import Mode

HELP = "every mode, its fields, the flags it becomes, where it works"
_TYPES = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def configure(parser: argparse.ArgumentParser) -> None:
    """This command takes no arguments of its own."""


def run(args: argparse.Namespace, console: Console) -> int:
    """List all modes."""
    rows = [describe(mode) for mode in MODES]
    console.document({"modes": rows})
    console.result("\n\n".join(render(row) for row in rows))
    return EXIT_OK


def describe(mode: type[Mode]) -> dict[str, Any]:
    """One mode as a row of the JSON document."""
    fields = [
        {
            "name": name,
            "type": type_name(field.rebuild_annotation()),
            "required": field.is_required(),
            "default": None if field.default is PydanticUndefined else field.default,
            "description": field.description,
        }
        for name, field in mode.model_fields.items()
        if name != "kind"
    ]
    return {
        "kind": mode.model_fields["kind"].default,
        "summary": mode.summary,
        "runs": mode.runs,
        "works_on": mode.works_on,
        "flags": list(mode.owns),
        "fields": fields,
    }


def render(row: dict[str, Any]) -> str:
    """One mode for people."""
    state = "" if row["runs"] else "  [cannot be started yet in this version]"
    lines = [f"{row['kind']}: {row['summary']}{state}"]
    width = max((len(field["name"]) for field in row["fields"]), default=0)
    for field in row["fields"]:
        given = "required" if field["required"] else f"default {_value(field['default'])}"
        description = f": {field['description']}" if field["description"] else ""
        lines.append(f"  {field['name']:<{width}}  {field['type']}, {given}{description}")
    lines.append(f"  becomes   {' '.join(row['flags'])}")
    lines.append(f"  works on  {row['works_on']}")
    return "\n".join(lines)


def type_name(annotation: Any) -> str:
    """A field's type in words: allowed values are listed, optional types lose their None."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return type_name(get_args(annotation)[0])
    if origin is Literal:
        return " | ".join(get_args(annotation))
    if origin in (Union, UnionType):
        return " | ".join(type_name(inner) for inner in get_args(annotation) if inner is not NoneType)
    return _TYPES.get(annotation, "section")


def _value(default: Any) -> str:
    if default is None:
        return "the engine's own"
    return str(default).lower() if isinstance(default, bool) else str(default)
