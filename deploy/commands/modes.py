"""`teapot modes`: every mode an engine can run in, as the modes tell it, and what does not go together.

Owns: how the list and the table are shown. Knows nothing about any one mode or problem.
"""

from __future__ import annotations

import argparse
import textwrap
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from serving.connectors import CONNECTORS
from serving.connectors.connector import Connector
from serving.console import Console
from serving.errors import EXIT_OK
from serving.facts.formats import KvFormat, WeightFormat
from serving.facts.load import kv_formats, weight_formats
from serving.facts.load_flags import engine_flags
from serving.modes import MODES
from serving.modes.mode import Mode
from serving.modes.problems import ROWS, Row

WIDTH = 110
_TYPES = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the one choice."""
    parser.add_argument(
        "--problems", action="store_true", help="what does not go together, why, and who says so"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """List all modes, or the table of problems; the JSON document has both."""
    rows = [describe(mode) for mode in MODES]
    problems = [describe_problem(row) for row in ROWS]
    console.document(
        {
            "modes": rows,
            "formats": {
                "quantized_kv": [_format(row) for row in kv_formats().values() if row.quantized],
                "quantized_weights": [_format(row) for row in weight_formats().values()],
            },
            "connectors": [describe_connector(connector) for connector in CONNECTORS.values()],
            "problems": problems,
        }
    )
    shown = [render_problem(row) for row in problems] if args.problems else [render(row) for row in rows]
    console.result("\n\n".join(shown))
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
        "versions": versions(mode),
        "flags": list(mode.owns),
        "evidence": mode.evidence,
        "keeps_answers": mode.keeps_answers,
        "fields": fields,
    }


def versions(mode: type[Mode]) -> list[str]:
    """The vLLM versions that have every flag of a mode."""
    return [name for name, known in engine_flags().items() if all(flag in known.flags for flag in mode.owns)]


def describe_connector(connector: Connector) -> dict[str, Any]:
    """One KV connector as a row of the JSON document."""
    return {
        "kind": connector.kind,
        "name": connector.name,
        "summary": connector.summary,
        "works_on": list(connector.works_on),
        "packages": list(connector.packages),
        "two_legs": connector.legs is not None,
        "proven": connector.proven,
    }


def describe_problem(row: Row) -> dict[str, Any]:
    """One line of the table of problems as a row of the JSON document."""
    return {
        "id": row.id,
        "severity": row.severity,
        "title": row.title,
        "reason": row.reason,
        "source": row.source,
    }


def render(row: dict[str, Any]) -> str:
    """One mode for people."""
    state = "" if row["runs"] else "  [cannot be started yet in this version]"
    lines = [f"{row['kind']}: {row['summary']}{state}"]
    width = max((len(field["name"]) for field in row["fields"]), default=0)
    for field in row["fields"]:
        given = "required" if field["required"] else f"default {_value(field['default'])}"
        description = f": {field['description']}" if field["description"] else ""
        lines += _wrapped(f"  {field['name']:<{width}}  ", f"{field['type']}, {given}{description}")
    lines += _wrapped("  becomes   ", " ".join(row["flags"]))
    lines += _wrapped("  works on  ", f"{row['works_on']} (vLLM {', '.join(row['versions'])})")
    lines += _wrapped("  shown by  ", row["evidence"])
    return "\n".join(lines)


def render_problem(row: dict[str, Any]) -> str:
    """One problem for people."""
    lines = [f"{row['id']} ({row['severity']}): {row['title']}"]
    lines += _wrapped("  why     ", row["reason"])
    lines += _wrapped("  source  ", row["source"])
    return "\n".join(lines)


def type_name(annotation: Any) -> str:
    """A field's type in words: allowed values are listed, optional types lose their None."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return type_name(get_args(annotation)[0])
    if origin is Literal:
        return " | ".join(str(word) for word in get_args(annotation))
    if origin in (Union, UnionType):
        return " | ".join(type_name(inner) for inner in get_args(annotation) if inner is not NoneType)
    return _TYPES.get(annotation, "section")


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
    )


def _format(row: KvFormat | WeightFormat) -> dict[str, Any]:
    bits = row.bits if isinstance(row, WeightFormat) else row.key_bits
    return {"name": row.name, "bits": bits, "works_on": list(row.devices), "source": row.source}


def _value(default: Any) -> str:
    if default is None:
        return "the engine's own"
    return str(default).lower() if isinstance(default, bool) else str(default)
