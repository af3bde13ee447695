"""Disaggregated prefill: some engines compute prompts, others write the answers.

Owns: the fields of the mode. Knows nothing about the protocol between the engines: that is the
connector's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from serving.modes.mode import Mode

Engines = Annotated[int, Field(ge=1)]


class ConnectorChoice(BaseModel):
    """Which KV connector moves the cache from the prefilling to the decoding engines."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: Literal["nixl", "lmcache", "mooncake", "offloading", "example"]


class Disaggregated(Mode):
    """Prefill on some engines and decode on others, so that neither disturbs the other."""

    summary: ClassVar[str] = "prefill on some engines, decode on others"
    runs: ClassVar[bool] = False
    owns: ClassVar[Sequence[str]] = ("--kv-transfer-config",)
    works_on: ClassVar[str] = "nixl: cpu, cuda; others: GPU"

    kind: Literal["disaggregated"] = "disaggregated"
    prefill: Engines = Field(1, description="engines that compute prompts")
    decode: Engines = Field(1, description="engines that write answers")
    connector: ConnectorChoice = Field(description="what moves the KV cache, such as {kind: nixl}")

    def asked(self) -> str:
        """How many of each, by which connector."""
        return f"{self.prefill} prefill + {self.decode} decode by {self.connector.kind}"
