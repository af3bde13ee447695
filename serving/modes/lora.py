"""LoRA adapters: several fine-tunings served beside one base model.

Owns: the fields of the mode. Knows nothing about the adapters' files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from serving.modes.mode import Mode


class Lora(Mode):
    """Serve adapters beside the base model, each by its own model name."""

    summary: ClassVar[str] = "serve LoRA adapters beside the base model"
    runs: ClassVar[bool] = False
    owns: ClassVar[Sequence[str]] = ("--enable-lora", "--lora-modules")

    kind: Literal["lora"] = "lora"
    adapters: Annotated[Mapping[str, str], Field(min_length=1)] = Field(
        description="adapters by the name that clients ask for: a local folder or a hub id each"
    )

    def asked(self) -> str:
        """The adapters' names."""
        return ", ".join(self.adapters)
