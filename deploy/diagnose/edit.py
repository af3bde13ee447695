"""A fragment of a deployment file put into its text, and what changes as a diff that a user can paste.

Owns: where a key goes in YAML text, with comments and layout left as they are. Knows nothing about what the
keys mean, but that `modes` are told apart by `kind` and an engine's arguments by their flag.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from deploy.study.merge import ARGUMENTS
from serving.config.arguments import same_argument
from serving.config.load import parse

Fragment = Mapping[str, Any]


def spell(fragment: Fragment) -> str:
    """The fragment as lines of a deployment file."""
    return "\n".join(f"{key}: {_flow(value)}" for key, value in fragment.items())


def diff(text: str, name: str, fragment: Fragment) -> str:
    """The change of the file, in the form that `patch` takes."""
    before, after = text.splitlines(), edited(text, fragment).splitlines()
    return "\n".join(difflib.unified_diff(before, after, name, name, lineterm="", n=1))


def edited(text: str, fragment: Fragment) -> str:
    """The file's text with the fragment in it: mappings merge, modes merge by kind, other values replace."""
    for path, value in _leaves(fragment, ()):
        text = _with_mode(text, value) if path == ("modes",) else _with_value(text, path, value)
    return text


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if path == ("modes",):
        yield from ((path, mode) for mode in value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    else:
        yield path, value


def _with_value(text: str, path: tuple[str, ...], value: Any) -> str:
    node: yaml.Node | None = _root(text)
    for depth, key in enumerate(path):
        parent, node = node, _child(node, key)
        if node is None:
            for outer in reversed(path[depth + 1 :]):
                value = {outer: value}
            if path[:depth] == ARGUMENTS and (pair := _spelled_otherwise(parent, key)):
                name, node = pair
                said = f"{key}: {_flow(value)}"
                return f"{text[: name.start_mark.index]}{said}{text[_end(node) :]}"
            return _add_key(text, parent, key, value)
    assert node is not None
    return _replace(text, node, value)


def _with_mode(text: str, mode: Mapping[str, Any]) -> str:
    node = _child(_root(text), "modes")
    if not isinstance(node, yaml.SequenceNode):
        return _add_key(text, _root(text), "modes", [mode]) if node is None else _replace(text, node, [mode])
    for item, there in zip(node.value, parse(text, "").data["modes"], strict=True):
        if isinstance(there, Mapping) and there.get("kind") == mode["kind"]:
            return _replace(text, item, mode)
    if node.flow_style:
        return _insert(text, node.end_mark.index - 1, f"{', ' if node.value else ''}{_flow(mode)}")
    line_end = text.find("\n", _end(node))
    at = len(text) if line_end < 0 else line_end
    return _insert(text, at, f"\n{' ' * node.start_mark.column}- {_flow(mode)}")


def _add_key(text: str, parent: yaml.Node | None, key: str, value: Any) -> str:
    said = f"{key}: {_flow(value)}"
    if not isinstance(parent, yaml.MappingNode) or not parent.value:
        return _replace(text, parent, {key: value}) if parent is not None else f"{text}{said}\n"
    if parent.flow_style:
        return _insert(text, parent.end_mark.index - 1, f", {said}")
    if parent.start_mark.column == 0:
        return f"{text.rstrip()}\n{said}\n"
    return _insert(text, parent.value[0][0].start_mark.index, f"{said}\n{' ' * parent.start_mark.column}")


def _replace(text: str, node: yaml.Node, value: Any) -> str:
    start, end = node.start_mark.index, _end(node)
    gap = " " if start == end else ""
    return f"{text[:start]}{gap}{_flow(value)}{text[end:]}"


def _end(node: yaml.Node) -> int:
    """Where its last word ends: a block's own end lies behind the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _insert(text: str, at: int, added: str) -> str:
    return text[:at] + added + text[at:]


def _root(text: str) -> yaml.Node | None:
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    return node


def _child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


def _spelled_otherwise(node: yaml.Node | None, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    """The name and the value of the argument that is the same flag."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((pair for pair in pairs if same_argument(str(pair[0].value), key)), None)


def _flow(value: Any) -> str:
    return (
        yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)
        .split("\n...")[0]
        .strip()
    )
