"""Disaggregated prefill: some engines compute prompts, others write the answers.

Owns: the fields of the mode, its one flag, and what an engine shows of its connector. Knows nothing about the
protocol between the engines: that is the connector's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from serving.connectors import CONNECTORS
from serving.connectors.connector import Connector, Leg
from serving.connectors.removed import misplaced_key, removed_connector
from serving.facts.load import engine_metrics
from serving.modes.answers import first_difference
from serving.modes.log_lines import connector
from serving.modes.mode import EngineContext, Flag, Mode, Observation, Verdict
from serving.modes.spelling import suggest

Engines = Annotated[int, Field(ge=1, le=1000)]
REMOTE = "external_kv_transfer"
"""The `source` of prompt tokens that another engine computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """One request that was sent to a prefilling engine and then to a decoding one, and what came of it."""

    prefill: str
    decode: str
    """The engines' names."""
    seen: Observation
    """Of the decoding engine, around the request."""
    prompt_tokens: int = 0
    failure: str | None = None
    """What an engine did in place of its leg."""
    answer: str = ""
    alone: str = ""
    """The prefilling engine's own answer to the same prompt, from the cache it kept."""


class ConnectorChoice(BaseModel):
    """Which KV connector moves the cache from the prefilling to the decoding engines."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

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
        "the connector in the engine's log; a request over both engines moves the decoder's "
        "vllm:prompt_tokens_by_source_total of external_kv_transfer"
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

    def handed_over(self, request: Handover) -> Verdict:
        """Judge by a request over both engines; one may have others, where the other one was restarted."""
        prefill, decode, tokens = request.prefill, request.decode, f"{request.prompt_tokens:,}"
        if request.failure is not None:
            return Verdict(self.kind, self.asked(), False, f"{prefill} to {decode}: {request.failure}")
        metrics = engine_metrics()
        moved = request.seen.moved(metrics["prompt_tokens_by_source"].name, source=REMOTE)
        if moved is None:
            evidence = f"{decode} does not count prompt tokens by source"
            return Verdict(self.kind, self.asked(), None, evidence)
        if not moved:
            evidence = f"{decode} computed a prompt of {tokens} tokens that {prefill} had computed for it"
            return Verdict(self.kind, self.asked(), False, evidence)
        counted = f"{moved:,.0f} of {tokens} prompt tokens"
        if moved > request.prompt_tokens:
            counted = f"{moved:,.0f} prompt tokens, with those of other requests,"
        evidence = f"{counted} came from {prefill} to {decode}"
        nixl = metrics["nixl_transfers"].name
        transfers, took_s = (request.seen.moved(f"{nixl}_{part}") for part in ("count", "sum"))
        if transfers and took_s is not None:
            plural = "" if transfers == 1 else "s"
            evidence += f" in {transfers:.0f} transfer{plural} of {took_s / transfers * 1000:.1f} ms"
        parted = first_difference([request.answer], [request.alone])
        same = () if parted else ("the answer is the one of the prefilling engine alone",)
        warnings = (f"the answer is not the one of {prefill} alone: {parted}",) if parted else ()
        return Verdict(self.kind, self.asked(), True, "; ".join((evidence, *same)), warnings)


def _leg(context: EngineContext) -> Leg:
    slot = context.slot
    return Leg(device=context.device, role=slot.role, side_channel_port=slot.side_channel_port)


def _same_family(made: str, wanted: str) -> bool:
    pull = {"NixlConnector", "NixlPullConnector"}
    return made == wanted or {made, wanted} <= pull
