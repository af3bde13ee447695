"""Disaggregated prefill: some engines compute prompts, others write the answers.

Owns: the fields of the mode, its one flag, and what an engine shows of its connector. Knows nothing about the
protocol between the engines: that is the connector's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from serving.connectors import CONNECTORS
from serving.connectors.connector import Connector, Leg
from serving.connectors.removed import misplaced_key, removed_connector
from serving.facts.load import engine_metrics
from serving.modes.log_lines import connector
from serving.modes.mode import EngineContext, Flag, Mode, Observation, Verdict
from serving.modes.spelling import suggest

Engines = Annotated[int, Field(ge=1)]
REMOTE = "external_kv_transfer"
"""The `source` of prompt tokens that another engine computed."""


class ConnectorChoice(BaseModel):
    """Which KV connector moves the cache from the prefilling to the decoding engines."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: str = Field(description=f"one of {', '.join(CONNECTORS)}")
    load_failure: Literal["fail", "recompute"] | None = Field(
        None, description="blocks that do not come: fail the request (vLLM's default) or compute them"
    )
    extra: Mapping[str, Any] = Field(
        default_factory=dict, description="the connector's own settings, by vLLM's names"
    )

    @model_validator(mode="before")
    @classmethod
    def _nothing_removed(cls, data: Any) -> Any:
        for key in data if isinstance(data, Mapping) else ():
            if instead := misplaced_key(str(key)):
                raise ValueError(f"'{key}' is not a key of a connector; {instead}")
        return data

    @field_validator("kind")
    @classmethod
    def _known(cls, value: str) -> str:
        if instead := removed_connector(value):
            raise ValueError(f"{value} is gone from vLLM; {instead}")
        by_name = next((c.kind for c in CONNECTORS.values() if c.name == value), None)
        if by_name:
            raise ValueError(f"'{value}' is vLLM's word; did you mean '{by_name}'?")
        if value not in CONNECTORS:
            raise ValueError(f"'{value}' is not known; {suggest(value, list(CONNECTORS), 'connectors')}")
        return value

    @property
    def connector(self) -> Connector:
        """What the kind stands for."""
        return CONNECTORS[self.kind]


class Disaggregated(Mode):
    """Prefill on some engines and decode on others, so that neither disturbs the other."""

    summary: ClassVar[str] = "prefill on some engines, decode on others"
    owns: ClassVar[Sequence[str]] = ("--kv-transfer-config",)
    works_on: ClassVar[str] = "nixl: cpu, cuda, rocm; nixl_push, lmcache, mooncake, offloading, example: GPU"
    evidence: ClassVar[str] = (
        "the connector in the engine's log; vllm:prompt_tokens_by_source_total of external_kv_transfer moved"
    )

    kind: Literal["disaggregated"] = "disaggregated"
    prefill: Engines = Field(1, description="engines that compute prompts")
    decode: Engines = Field(1, description="engines that write answers")
    connector: ConnectorChoice = Field(description="what moves the KV cache, such as {kind: nixl}")

    def asked(self) -> str:
        """How many of each, by which connector."""
        return f"{self.prefill} prefill + {self.decode} decode by {self.connector.kind}"

    def flags(self, context: EngineContext) -> Sequence[Flag]:
        """One flag, whose value is the connector's JSON for this engine's role."""
        choice = self.connector
        config = choice.connector.config(_leg(context), choice.extra, choice.load_failure)
        return (("--kv-transfer-config", json.dumps(config, separators=(",", ":"))),)

    def environment(self, context: EngineContext) -> Mapping[str, str]:
        """The connector's side channel of this engine alone."""
        return self.connector.connector.environment(_leg(context))

    def verdict(self, seen: Observation, context: EngineContext) -> Verdict:
        """A decoding engine shows tokens that another computed; before any, only the connector shows."""
        wanted, made = self.connector.connector.name, connector(seen.log)
        if made is None:
            return Verdict(self.kind, self.asked(), None, "the log tells of no connector")
        # A name may be an alias of another class (NixlConnector is NixlPullConnector in some versions).
        if not _same_family(made, wanted):
            return Verdict(self.kind, self.asked(), False, f"the engine made {made}, not {wanted}")
        metrics = engine_metrics()
        moved = seen.moved(metrics["prompt_tokens_by_source"].name, source=REMOTE)
        transfers = seen.moved(f"{metrics['nixl_transfers'].name}_count")
        if moved:
            counted = f", {transfers:,.0f} transfers" if transfers else ""
            evidence = f"{moved:,.0f} prompt tokens came from another engine{counted} ({made})"
            return Verdict(self.kind, self.asked(), True, evidence)
        evidence = f"{made} is up as {context.slot.role}; no request went over both legs yet"
        return Verdict(self.kind, self.asked(), None, evidence)


def _leg(context: EngineContext) -> Leg:
    slot = context.slot
    return Leg(device=context.device, role=slot.role, side_channel_port=slot.side_channel_port)


def _same_family(made: str, wanted: str) -> bool:
    pull = {"NixlConnector", "NixlPullConnector"}
    return made == wanted or {made, wanted} <= pull
