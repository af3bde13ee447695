"""Reads the fact tables that ship with the package, each once.

Owns: where the tables lie and their caching. Knows nothing about what the rows mean: that is in the
module named like the table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from serving.facts.formats import KvFormat, WeightFormat, parse_kv_formats, parse_weight_formats
from serving.facts.hardware import Gpu, parse_gpus
from serving.facts.overheads import Overheads, parse_overheads
from serving.facts.storage import LatentStorage, WeightStorage, parse_latent_storage, parse_weight_storage

if TYPE_CHECKING:
    from serving.facts.messages import Message
    from serving.facts.metrics import Metric
    from serving.facts.processors import Processors


@cache
def kv_formats() -> Mapping[str, KvFormat]:
    """All KV cache formats by the name that `--kv-cache-dtype` takes."""
    return parse_kv_formats(_table("formats")["kv"])


@cache
def weight_formats() -> Mapping[str, WeightFormat]:
    """All formats that weights can be quantized to while loaded, by the name `--quantization` takes."""
    return parse_weight_formats(_table("formats")["weights"])


@cache
def gpus() -> Mapping[str, Gpu]:
    """All kinds of GPUs that teapot knows, by short name."""
    return parse_gpus(_table("hardware"))


@cache
def processors() -> Processors:
    """What the cores of CPUs can do at best."""
    from serving.facts.processors import parse_processors

    return parse_processors(_table("processors"))


@cache
def overheads() -> Overheads:
    """What engines need beside weights and KV cache, by vLLM version."""
    return parse_overheads(_table("overheads"))


@cache
def weight_storage() -> Mapping[str, WeightStorage]:
    """All ways to store weights, by name."""
    return parse_weight_storage(_table("storage")["weights"])


@cache
def latent_storage() -> Mapping[str, LatentStorage]:
    """The ways of their own to store the cache of MLA layers, by the name `--kv-cache-dtype` takes."""
    return parse_latent_storage(_table("storage")["latent"])


@cache
def model_configs() -> Mapping[str, Mapping[str, Any]]:
    """The config.json fields of the models that teapot knows by name."""
    return {name: row["config"] for name, row in _table("models").items()}


@cache
def public_models() -> Mapping[str, Mapping[str, Any]]:
    """The config.json fields of public models, for footprints that need no files."""
    return {name: row["config"] for name, row in _table("public_models").items()}


@cache
def engine_metrics() -> Mapping[str, Metric]:
    """The vLLM metrics that teapot reads, by a short name of ours."""
    return _metrics("vllm")


@cache
def own_metrics() -> Mapping[str, Metric]:
    """The metrics that the gateway exposes, by a short name."""
    return _metrics("teapot")


@cache
def load_metrics() -> Mapping[str, Metric]:
    """The metrics that the load generator exposes while a run is on, by a short name."""
    return _metrics("load")


@cache
def rollout_metrics() -> Mapping[str, Metric]:
    """The metrics that are exposed of a rollout, by a short name."""
    return _metrics("rollout")


@cache
def histogram_buckets() -> Mapping[str, tuple[float, ...]]:
    """vLLM's default bucket bounds in seconds by the family that `--custom-histogram-buckets` names."""
    return {name: tuple(row["bounds"]) for name, row in _table("metrics")["buckets"].items()}


@cache
def engine_messages() -> tuple[Message, ...]:
    """What engines write when they fail, most telling first."""
    from serving.facts.messages import parse_messages

    return parse_messages(_table("messages")["message"])


def _metrics(group: str) -> Mapping[str, Metric]:
    from serving.facts.metrics import parse_metrics

    return parse_metrics(_table("metrics")[group])


@cache
def _table(name: str) -> dict[str, Any]:
    text = resources.files("serving.facts").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
