"""What is rendered for clusters, as tests look at it: the golden files, their parts, the published schemas.

Owns: the golden files' list and how they are made anew: `cd tests && ../.venv/bin/python -m fakes.clusters`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from deploy.commands.render import render
from deploy.render.target import NONE, Choices

TOP = Path(__file__).parents[2]
FOLDER = "tests/golden/render"
SCHEMAS = TOP.parent / "shared/facts/schemas"
"""Others' schemas, which are not part of the project."""
IN_FRONT = Choices(gateway="edge", platform_url="http://inner.example/models/divided/v1")
GOLDEN = (
    ("kubernetes", "chat", NONE),
    ("lws", "large", NONE),
    ("kserve", "chat", NONE),
    ("kserve", "divided", IN_FRONT),
    ("production-stack", "chat", NONE),
    ("ray", "chat", NONE),
    ("ray", "divided", NONE),
)
"""Target, deployment file, choices."""
NOT_KEPT = ("rules.yaml", "dashboards.yaml")
"""The same for all; they are held against `dashboards/generated/`."""

Document = dict[str, Any]


@cache
def golden(target: str, source: str, choices: Choices) -> Mapping[str, str]:
    """The files that are kept, by their path in the repository."""
    at = Path.cwd()
    os.chdir(TOP)  # the file's name is in what is rendered
    try:
        files = render(target, f"{FOLDER}/{source}.yaml", (), choices).files
    finally:
        os.chdir(at)
    return {f"{FOLDER}/{source}/{path}": text for path, text in files.items() if not path.endswith(NOT_KEPT)}


def rendered(tmp_path: Path, target: str, text: str, choices: Choices = NONE) -> Mapping[str, str]:
    """All files of a deployment that is written down in a test."""
    file = tmp_path / "d.yaml"
    file.write_text(text)
    return render(target, str(file), (), choices).files


def documents(text: str) -> list[Document]:
    return [document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document]


def find(text: str, kind: str, name: str) -> Document:
    """The one object of that kind and name."""
    [found] = [d for d in documents(text) if d["kind"] == kind and d["metadata"]["name"] == name]
    return found


def flag(args: list[str], name: str) -> str:
    """The word after a flag."""
    return args[args.index(name) + 1]


def schema_file(name: str) -> Path:
    """A published schema; the test is skipped, and says so, where it is not there."""
    path = SCHEMAS / name
    if not path.is_file():
        pytest.skip(f"no {path}: the published schemas are not part of the project")
    return path


@cache
def custom_resource(file: str, version: str) -> jsonschema.Draft202012Validator:
    """A validator of one version of a custom resource; what an API server would drop is an error."""
    with schema_file(file).open(encoding="utf-8") as stream:
        definition = yaml.load(stream, Loader=yaml.CSafeLoader)
    [found] = [each for each in definition["spec"]["versions"] if each["name"] == version]
    schema = _closed(found["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    return jsonschema.Draft202012Validator(schema)


def _closed(schema: Document) -> Document:
    """The schema with unknown keys refused wherever Kubernetes would prune them."""
    closed = {key: value for key, value in schema.items() if key != "properties"}
    properties = {key: _closed(value) for key, value in schema.get("properties", {}).items()}
    if properties:
        closed["properties"] = properties
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            closed[key] = _closed(schema[key])
    if schema.get("x-kubernetes-int-or-string"):
        closed.pop("type", None)
        closed.setdefault("anyOf", [{"type": "integer"}, {"type": "string"}])
    open_ended = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if schema.get("type") == "object" and not open_ended:
        closed["additionalProperties"] = False
    return closed


def _write() -> Iterator[str]:
    for target, source, choices in GOLDEN:
        for path, text in golden(target, source, choices).items():
            (TOP / path).parent.mkdir(parents=True, exist_ok=True)
            (TOP / path).write_text(text, encoding="utf-8")
            yield path


if __name__ == "__main__":
    list(_write())
