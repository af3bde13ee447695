"""What a render target is given, and what it gives.

Owns: the types. Knows nothing about any target. Pure: files are text by their path, nothing is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from serving.config.document import Document
from serving.config.schema import Deployment
from serving.modes.mode import ModelFacts


@dataclass(frozen=True, slots=True)
class Request:
    """A deployment to be rendered."""

    deployment: Deployment
    document: Document
    """Tells where each value was said."""
    source: str
    """The deployment file, as it is named in what is rendered."""
    model: ModelFacts | None = None
    """Of a model whose config is known here."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """Files by their path below the output folder, and what they do not carry over."""

    files: Mapping[str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """One way to run a deployment. `render` raises UsageError where it cannot be run that way at all."""

    name: str
    help: str
    render: Callable[[Request], Rendered]
