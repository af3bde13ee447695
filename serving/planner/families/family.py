"""What a family of models offers: the names it answers to, and the way from its fields to a shape.

Owns: the type. Knows nothing about any family.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from serving.planner.fields import Fields
from serving.planner.shape import ModelShape


class Family(NamedTuple):
    """Models that are laid out alike."""

    name: str
    architectures: tuple[str, ...]
    """As `architectures` of config.json names them."""
    model_types: tuple[str, ...]
    """As `model_type` names them, for a config without architectures."""
    build: Callable[[Fields], ModelShape]
