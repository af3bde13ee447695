"""The deployment file as types: what a user may write, with its defaults.

Owns: names, types and defaults of the deployment file. Knows nothing about YAML, files or flags.
Sizes are integer bytes and durations seconds once parsed.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from serving.config.rollout import RolloutSection
from serving.config.section import Section as Section
from serving.config.units import Duration, Size
from serving.modes import AnyMode

Scalar = str | int | float | bool
M = TypeVar("M")


def _cores(value: Any) -> Any:
    counts = type(value) is int and value > 0
    listed = (
        isinstance(value, list | tuple) and len(value) > 0 and all(type(n) is int and n >= 0 for n in value)
    )
    if listed and len(set(value)) == len(value):
        return tuple(value)
    if value == "auto" or counts:
        return value
    raise ValueError("is no choice of cores; write auto, how many each engine gets, or a list such as [0, 1]")


Cores = Annotated[Literal["auto"] | int | tuple[int, ...], BeforeValidator(_cores)]
"""CPU: all of the machine's cores shared out, so many for each engine, or these shared out."""


Alias = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@/-]*$", description="a model's name as in an URL")
]
Origin = Annotated[
    str,
    Field(
        pattern=r"^(\*|https?://[^/\s]+)$",
        description="an origin such as https://app.example, without a path; or *",
    ),
]


def _variable(text: str) -> str:
    if not text.isascii() or not text.isidentifier():
        # Without the value: it may be the key itself.
        raise ValueError(
            "is no variable's name; write the name of a variable that holds the key, never the key"
        )
    return text


_BASE_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?/v1/?")


def _base_url(text: str) -> str:
    if not _BASE_URL.fullmatch(text):
        # Without the value: people write keys into addresses.
        raise ValueError(
            "is no base address; write it as for an OpenAI client, such as http://10.0.0.7:8000/v1"
        )
    return text


def _grafana_url(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", text):
        # Without the value: people write passwords into addresses.
        raise ValueError("is no address of a Grafana; write it like http://127.0.0.1:3000")
    return text


def _path(text: str) -> str:
    if not re.fullmatch(r"/[^\s?#]*", text):
        raise ValueError(f"'{text}' is no path; write it like /health")
    return text


VariableName = Annotated[str, AfterValidator(_variable)]
BaseUrl = Annotated[str, AfterValidator(_base_url)]
UrlPath = Annotated[str, AfterValidator(_path)]


class EngineSection(Section):
    """How each vLLM engine is started."""

    device: Literal["auto", "cpu", "cuda", "rocm"] = "auto"
    version: str = "auto"
    max_model_len: Annotated[int, Field(gt=0)] | None = None
    max_num_seqs: Annotated[int, Field(gt=0)] | None = None
    kv_cache_memory: Size | None = None
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    cores: Cores = "auto"
    start_timeout: Duration = 1200.0
    stuck_after: Duration = 60.0
    env: dict[str, Scalar] = Field(default_factory=dict)
    args: dict[str, Scalar | list[Scalar] | dict[str, Any]] = Field(default_factory=dict)


class TlsSection(Section):
    """The certificate of the public address."""

    cert: str
    key: str


class TracingSection(Section):
    """Where spans of requests are sent."""

    endpoint: Annotated[str, Field(pattern=r"^https?://[^\s]+$", description="an http address")]
    ratio: Annotated[float, Field(ge=0, le=1)] = 1.0


class TimeoutsSection(Section):
    """How long the gateway waits for an engine."""

    connect: Duration = 3.0
    first_token: Duration = 1800.0
    between_tokens: Duration = 300.0
    total: Duration = 7200.0


class RoutingSection(Section):
    """Which engine gets a request, and what happens when it fails."""

    policy: Literal["least_in_flight", "round_robin", "prefix_affinity", "session_affinity"] = (
        "least_in_flight"
    )
    sticky: Literal["none", "key", "session"] = "none"
    slow_start: Duration = 10.0
    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    retry_ratio: Annotated[float, Field(ge=0, le=1)] = 0.2
    rest: Duration = 1.0
    prefill_from_tokens: Annotated[int, Field(ge=0)] = 64
    prefill_timeout: Duration = 60.0
    on_prefill_failure: Literal["aggregate", "error"] = "aggregate"


class GatewaySection(Section):
    """The one address that applications use, and the admin address beside it."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    admin_host: str = "127.0.0.1"
    admin_port: Annotated[int, Field(ge=0, le=65535)] = 8001
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    keys_file: str | None = None
    allow_anonymous: bool = False
    max_body: Size = 10 * 1024**2
    max_in_flight: Annotated[int, Field(gt=0)] = 1024
    queue: Annotated[int, Field(ge=0)] = 1024
    queue_timeout: Duration = 30.0
    aliases: dict[Alias, str] = Field(default_factory=dict)
    tls: TlsSection | None = None
    cors_origins: tuple[Origin, ...] = ()
    access_log: bool = False
    tracing: TracingSection | None = None
    routing: RoutingSection = RoutingSection()
    timeouts: TimeoutsSection = TimeoutsSection()
    grace: Duration = 0.0
    drain_timeout: Duration = 30.0


class SloSection(Section):
    """The service level objectives of one request."""

    ttft: Duration | None = None
    tpot: Duration | None = None
    e2e: Duration | None = None


class PromisedSection(SloSection):
    """What a deployment promises: the objectives, and the share of requests that are to meet them."""

    target: Annotated[float, Field(gt=0, lt=1)] = 0.99
    availability: Annotated[float, Field(gt=0, lt=1)] = 0.995


class PrometheusSection(Section):
    """The Prometheus that is started beside the gateway, where there is one on this machine."""

    enabled: Literal["auto"] | bool = "auto"
    port: Annotated[int, Field(ge=0, le=65535)] = 9090
    retention_time: Duration = 15 * 86400.0
    retention_size: Size = 1024**3


class GrafanaSection(Section):
    """The Grafana that is told what happens, for its boards to mark. Its token is never in the file."""

    url: Annotated[str, AfterValidator(_grafana_url)]
    token_env: VariableName = "GRAFANA_TOKEN"
    token_file: str | None = None


class RevisionSection(Section):
    """A share of the requests, and where they go: to the engines of this file, or to `urls` elsewhere."""

    name: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$", description="letters, digits, . _ and -")
    ]
    weight: Annotated[float, Field(ge=0)] = 1.0
    urls: tuple[BaseUrl, ...] = ()
    key_env: VariableName | None = None
    key_file: str | None = None
    ca_file: str | None = None
    health: UrlPath | None = None
    models: dict[Alias, str] = Field(default_factory=dict)


class Deployment(Section):
    """One deployment: a model, its engines, their modes, and the gateway in front."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
            description="lower-case letters, digits and hyphens, as in a host name",
        ),
    ]
    model: str = "smollm2-135m"
    engine: EngineSection = EngineSection()
    modes: tuple[AnyMode, ...] = ()
    replicas: Annotated[int, Field(ge=1, le=1000)] = 1
    revisions: tuple[RevisionSection, ...] = ()
    gateway: GatewaySection = GatewaySection()
    slo: PromisedSection = PromisedSection()
    prometheus: PrometheusSection = PrometheusSection()
    grafana: GrafanaSection | None = None
    rollout: RolloutSection = RolloutSection()

    def mode(self, kind: type[M]) -> M | None:
        """The mode of that kind, if it is asked for."""
        return next((mode for mode in self.modes if isinstance(mode, kind)), None)

    def placed_mode(self, kind: type[M]) -> tuple[int, M] | None:
        """The same with its index, by which the file's line is found."""
        return next(((at, mode) for at, mode in enumerate(self.modes) if isinstance(mode, kind)), None)
