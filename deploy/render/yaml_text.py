"""YAML as rendered files have it: keys in their order, nothing aliased, a head that says where it is from.

Owns: that form. Knows nothing about what is in the files.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

WIDTH = 110
_READ_OTHERWISE = re.compile(
    r"[-+]?(\.\d+|\d[\d_]*(\.[\d_]*)?)(e[-+]?\d+)?|[-+]?0[xob][\da-f_]+|[-+]?\.(inf|nan)|y|n", re.IGNORECASE
)
"""Words to PyYAML, and numbers or truths to the readers of Kubernetes, Helm and Compose: 1e3, 0o17, y."""


def yaml_text(document: Mapping[str, Any]) -> str:
    """One document."""
    return yaml.dump(dict(document), Dumper=_Plain, sort_keys=False, width=WIDTH)


def manifests(documents: Iterable[Mapping[str, Any]]) -> str:
    """Several documents of one file, as `kubectl apply -f` reads them."""
    return "---\n".join(yaml_text(document) for document in documents)


def head(source: str, target: str, *paragraphs: str, notes: Iterable[str] = ()) -> str:
    """The comment at the top: what the file was made from, how it is used, what it does not carry over."""
    lines = [f"Rendered from {source} by `teapot render {target}`; a change here is lost, change that file."]
    for paragraph in paragraphs:
        lines += ["", *paragraph.splitlines()]
    notes = tuple(notes)
    if notes:
        lines += ["", "Not carried over:"]
        for note in notes:
            wrapped = textwrap.wrap(note, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
            lines += [f"- {wrapped[0]}", *(f"  {line}" for line in wrapped[1:])]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


class _Plain(yaml.SafeDumper):
    """Writes what occurs twice twice, and not as an alias of the first; texts of several lines as such."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
    style = "|" if "\n" in data else "'" if _READ_OTHERWISE.fullmatch(data) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Plain.add_representer(str, _text)
