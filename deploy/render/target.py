"""What a render target is given, and what it gives.

Owns: the types. Knows nothing about any target: one is imported when it is rendered, for `--help` needs none.
Pure: files are text by their path, nothing is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from serving.config.document import Document
    from serving.config.schema import Deployment
    from serving.modes.mode import ModelFacts

Gateway = Literal["edge", "none"]
"""Our gateway in front, or left out."""
GPUS_PER_NODE = 8
"""Where `--gpus-per-node` does not say: a node of an HGX or DGX."""


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
    """The deployment file and the deployment's name, as what is rendered says where it is from."""
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
    """One way to run a deployment."""

    name: str
    help: str
    by: str
    """What renders it, as `module:function`."""
    takes: frozenset[str] = frozenset()
    """The fields of `Choices` that mean something here; others are refused."""

    def render(self, request: Request) -> Rendered:
        """The files. Raises: UsageError where a deployment cannot be run that way at all."""
        module, _, function = self.by.partition(":")
        made: Callable[[Request], Rendered] = getattr(import_module(module), function)
        return made(request)
