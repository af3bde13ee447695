"""What a render target is given, and what it gives.

Owns: the types. Knows nothing about any target. Pure: files are text by their path, nothing is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from serving.config.document import Document
from serving.config.schema import Deployment
from serving.modes.mode import ModelFacts

Gateway = Literal["edge", "none"]
"""Our gateway in front, or left out."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a deployment file does not say and a target may ask for; None: the target's own default."""

    gateway: Gateway | None = None
    gpus_per_node: int | None = None
    platform_url: str | None = None
    """Where the platform's own router answers, for a gateway in front of it; it ends in /v1."""
    image_prefix: str | None = None
    """Registry and folder of our own images, such as `registry.example/team/`."""


NONE = Choices()
"""Nothing was chosen."""


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
    choices: Choices = NONE


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
    takes: frozenset[str] = frozenset()
    """The fields of `Choices` that mean something here; others are refused."""
