"""What a KV connector is: how it becomes vLLM's --kv-transfer-config, and the legs of its protocol.

Owns: the types that every connector file fills. Knows nothing about modes, engines or HTTP: bodies come
and go as parsed JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

Role = Literal["any", "prefill", "decode"]
Body = Mapping[str, Any]
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """The engine that a connector is configured for."""

    device: str
    role: Role
    side_channel_port: int | None = None


class Legs(NamedTuple):
    """A protocol of two requests: first to a prefilling engine, then to a decoding one."""

    prefill_body: Callable[[Body], dict[str, Any]]
    """The client's body as the prefilling engine is to get it."""
    decode_body: Callable[[Body, Body], dict[str, Any]]
    """The client's body and the params of the prefiller's answer, as the decoding engine is to get them."""
    params_of: Callable[[Body], Body | None]
    """The params in the prefiller's answer; None: it transferred nothing."""
    whole: Callable[[Body], str | None]
    """Why a request cannot be divided, or None: then one engine answers it alone."""


class Connector:
    """Base of all connectors. A new one is a file with a subclass, and a line in `serving.connectors`."""

    kind: ClassVar[str]
    """What the deployment file says."""
    name: ClassVar[str]
    """vLLM's own name of the class."""
    summary: ClassVar[str]
    works_on: ClassVar[tuple[str, ...]] = ("cuda", "rocm")
    packages: ClassVar[tuple[str, ...]] = ()
    """What the engine environment needs beside vLLM."""
    required: ClassVar[Mapping[str, str]] = {}
    """Keys that `extra` must have, each with an example."""
    between_engines: ClassVar[bool] = True
    """It moves the cache from one engine to another, not only between an engine's own memories."""
    legs: ClassVar[Legs | None] = None
    """None: the engines find each other's cache by themselves, requests need no second leg."""
    sleeps: ClassVar[bool] = True
    """Whether vLLM 0.33 lets it run with sleep mode (its supports_sleep_mode)."""
    proven: ClassVar[str] = "not run"
    """What has been tried."""

    def role_of(self, role: Role) -> str:
        """vLLM's kv_role for an engine of a role."""
        return {"prefill": "kv_producer", "decode": "kv_consumer", "any": "kv_both"}[role]

    def config(self, leg: Leg, extra: Mapping[str, Any], load_failure: str | None) -> dict[str, Any]:
        """The JSON of --kv-transfer-config."""
        config: dict[str, Any] = {"kv_connector": self.name, "kv_role": self.role_of(leg.role)}
        if leg.device == "cpu":
            config["kv_buffer_device"] = "cpu"
        if extra:
            config["kv_connector_extra_config"] = dict(extra)
        if load_failure:
            config["kv_load_failure_policy"] = load_failure
        return config

    def environment(self, leg: Leg) -> dict[str, str]:
        """The variables that the engine needs for it."""
        return {}

    def problems(self, extra: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with `extra`: what, and what to do."""
        for key, example in self.required.items():
            if key not in extra:
                yield f"connector {self.kind} needs extra.{key}", f"write extra: {{{key}: {example}}}"
