"""Reads a YAML file into a checked model, and says all that is wrong with it at once.

Owns: YAML as teapot understands it (YAML 1.2's plain words: `yes` and `on` are text, no dates, no
duplicate keys) and the way from a file to a model. Knows nothing about particular keys: deployment
and workload files both come through here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from serving.config.document import Document, KeyPath
from serving.config.explain import explain
from serving.config.kinds import other_kind
from serving.config.rules import deployment_problems
from serving.config.schema import Deployment
from serving.errors import UsageError

MAX_BYTES = 1024**2
MAX_NODES = 20_000
"""Aliases can make a small file huge; no deployment has so many keys."""
_PLAIN = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
M = TypeVar("M", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """SafeLoader with the plain words of YAML 1.2's core schema."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's own shape)


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL", "~nN"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+",
        "-+.0123456789",
    ),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("^$"), [""])
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(str(node.value)))
_Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(str(node.value)))


def load_deployment(path: str | Path, overrides: Sequence[str] = ()) -> tuple[Deployment, Document]:
    """Read a deployment file; its document tells where each value was said. Raises: UsageError."""
    document = read(path, overrides)
    deployment = validate(document, Deployment)
    problems = deployment_problems(deployment, document)
    if problems:
        raise UsageError.of(problems)
    return deployment, document


def load_model(path: str | Path, model: type[M], overrides: Sequence[str] = ()) -> M:
    """Read a YAML file into any pydantic model. Raises: UsageError with every problem found."""
    return validate(read(path, overrides), model)


def read(path: str | Path, overrides: Sequence[str] = ()) -> Document:
    """Read a YAML file and apply `--set` texts of the form `key=value`. Raises: UsageError."""
    document = parse(_text(str(path)), str(path))
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UsageError(
                f"'{text}' has no value", where="--set", fix="write it like engine.max_model_len=2048"
            )
        document = document.override(key.strip(), parse(value, f"--set {key.strip()}", whole=False).data)
    return document


def validate(document: Document, model: type[M]) -> M:
    """Check a document's data against a model. Raises: UsageError with every problem, by line."""
    try:
        # JSON, because pydantic then takes lists for tuples and still coerces nothing.
        return model.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        other = other_kind(document.name, document.data or (), model.model_fields)
        raise UsageError.of([*([other] if other else []), *explain(error, document, model)]) from None


def parse(text: str, name: str, *, whole: bool = True) -> Document:
    """Read YAML text. With `whole`, it must be one section with keys. Raises: UsageError with the line."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None and not whole:
            return Document(name, None, {})
        if node is None:
            raise UsageError("the file is empty", where=name)
        if whole and not isinstance(node, yaml.MappingNode):
            raise UsageError("is not a section with keys", where=f"{name}:1", fix="write `key: value` lines")
        builder = _Builder(loader, name)
        data = builder.build(node, ())
        return Document(name, data, builder.lines)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, name) from None
    except yaml.YAMLError as error:
        raise UsageError(f"is not YAML: {str(error).splitlines()[0]}", where=name) from None


class _Builder:
    """Builds plain data from YAML nodes and notes the line of every key and list entry."""

    def __init__(self, loader: _Loader, name: str) -> None:
        self.loader = loader
        self.name = name
        self.lines: dict[KeyPath, int] = {}
        self._nodes = 0

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        """The data of a node; `path` leads to it."""
        self._nodes += 1
        if self._nodes > MAX_NODES or len(path) > 30:
            raise UsageError("has too many keys or is nested too deeply", where=self.name)
        if isinstance(node, yaml.CollectionNode) and node.tag not in _PLAIN:
            where = f"{self.name}:{node.start_mark.line + 1}"
            raise UsageError(f"the tag {node.tag} is not known", where=where, fix="leave it out")
        if isinstance(node, yaml.MappingNode):
            return self._section(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._entry(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _scalar(self, node: yaml.Node) -> str | int | float | bool | None:
        try:
            value = self.loader.construct_object(node)
        except ValueError:
            value = ...
        if value is not None and not isinstance(value, str | int | float | bool):
            where = f"{self.name}:{node.start_mark.line + 1}"
            raise UsageError(f"'{node.value}' is no {node.tag}", where=where, fix="leave the tag out")
        return value

    def _entry(self, node: yaml.Node, path: KeyPath) -> Any:
        self.lines[path] = node.start_mark.line + 1
        return self.build(node, path)

    def _section(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        seen: dict[str, int] = {}
        for key_node, _ in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise UsageError("a key must be plain text", where=f"{self.name}:{line}")
            if key in seen:
                where = f"{self.name}:{line}: {key}"
                raise UsageError(
                    f"is given twice, first in line {seen[key]}", where=where, fix="keep one of them"
                )
            seen[key] = line
        self.loader.flatten_mapping(node)
        section: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            section[key] = self.build(value_node, (*path, key))
        return section


def _text(path: str) -> str:
    file = Path(path)
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise UsageError("is larger than 1 MiB", where=path, fix="is it the file you meant?")
        return raw.decode("utf-8-sig")
    except FileNotFoundError:
        beside = sorted(p.name for p in file.parent.glob("*.yaml")) if file.parent.is_dir() else []
        fix = f"in that folder are {', '.join(beside[:8])}" if beside else "check the path"
        raise UsageError("no such file", where=path, fix=fix) from None
    except IsADirectoryError:
        raise UsageError("is a folder, not a file", where=path, fix="give the YAML file inside it") from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"is not UTF-8 text (byte {error.start})", where=path, fix="save it as UTF-8"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=path) from None


def _syntax_error(error: yaml.MarkedYAMLError, name: str) -> UsageError:
    mark = error.problem_mark or error.context_mark
    where = f"{name}:{mark.line + 1}" if mark else name
    problem = error.problem or error.context or "syntax"
    if "\\t" in problem:
        return UsageError("a tab in the indentation", where=where, fix="indent with spaces")
    column = f" (column {mark.column + 1})" if mark else ""
    return UsageError(
        f"is not YAML: {problem}{column}", where=where, fix="check indentation, quotes and brackets"
    )
