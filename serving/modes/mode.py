"""What a mode is: fields in the deployment file, flags and environment, problems, and its evidence.

Owns: the types that every mode file fills and that the engine room consumes. Knows nothing about
how an engine is started or how observations are made: those come in as values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from serving.modes.answers import first_difference

Device = Literal["cpu", "cuda", "rocm"]
Role = Literal["any", "prefill", "decode"]
CHANGES_ANSWERS = frozenset({"quantized_weights", "quantized_kv"})
"""Kinds that change greedy answers by their nature."""
Flag = tuple[str, str | tuple[str, ...] | None]
"""A flag's name with its value, its several words, or None where it stands alone."""
MetricKey = tuple[str, tuple[tuple[str, str], ...]]
"""A sample's identity: exposed name, and its labels as sorted (name, value) pairs."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a model's config.json says that modes need. Sizes are counts, not bytes."""

    name: str
    architecture: str
    layers: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int
    max_position: int
    weight_bytes_per_param: float
    quantization: str | None = None
    uniform_layers: bool = True
    """Every layer is full attention of the same shape; else KV bytes are not a simple product."""
    kv_scales: bool | None = None
    """Whether the checkpoint carries scales for a quantized KV cache; None: its files were not looked at."""
    experts: int = 0
    """Routed experts of a mixture; 0: a dense model."""


class Accelerator(NamedTuple):
    """One GPU as the machine reports it."""

    name: str
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """What the machine offers, read once before anything is started."""

    cores: tuple[int, ...]
    """The cores that this process may use."""
    numa_nodes: int
    memory_available_bytes: int
    shared_memory_free_bytes: int
    """Of /dev/shm."""
    accelerators: tuple[Accelerator, ...] = ()
    interfaces: Mapping[str, str] = field(default_factory=dict)
    """The network interface of each IPv4 address of this machine; empty: not looked at."""


@dataclass(frozen=True, slots=True)
class EngineSlot:
    """The place of one engine among the engines of a deployment."""

    name: str = "engine"
    role: Role = "any"
    index: int = 0
    cores: tuple[int, ...] = ()
    """Cores of this engine alone; empty: all of them."""
    devices: tuple[int, ...] = ()
    """Indices of the accelerators of this engine alone; empty: all of them."""
    side_channel_port: int | None = None
    """Where a KV connector's control traffic goes, on loopback; None without a connector."""


@dataclass(frozen=True, slots=True)
class KvBlock:
    """One block of an engine's KV cache on its fullest rank, as planned for all layers, a draft's too."""

    tokens: int
    asked_bytes: int
    """In the format that is asked for."""
    native_bytes: int
    """Were all of it in 16 bits."""


@dataclass(frozen=True, slots=True)
class EngineContext:
    """Where a mode is to work: device, vLLM version, the model, KV cache bytes (None: engine decides)."""

    device: Device
    version: str
    model: ModelFacts | None
    """None: a hub model whose config.json is not on this machine yet."""
    kv_cache_bytes: int | None = None
    max_model_len: int | None = None
    kv_block: KvBlock | None = None
    """None: the KV cache was not planned, or it is not in a quantized format."""
    kinds: frozenset[str] = frozenset()
    """The kinds of all modes of the same deployment."""
    slot: EngineSlot = EngineSlot()
    draft: ModelFacts | None = None
    """The drafting model of speculative decoding, where there is one and its config.json is at hand."""
    machine: MachineFacts | None = None
    """None: not looked at (as for `teapot flags` of another machine)."""
    gpu_memory_utilization: float | None = None
    """Share of a GPU's total memory; None: vLLM's own default."""
    args: Mapping[str, str | None] = field(default_factory=dict)
    """The other flags of the deployment by name (`--enable-sleep-mode`), with value or None."""
    inherited: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that the engine would get from its parent."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """By the word in the deployment file that names a draft or an adapter: the folder where its files are."""
    peers: tuple[EngineContext, ...] = ()
    """The other engines of the same deployment; only their own peers are left out."""


class Setting(NamedTuple):
    """One flag or environment variable of an engine, and where its value came from."""

    name: str
    value: str | None
    """None: a flag without a value."""
    source: str
    """For people: `demo.yaml:8: modes[1].format`, `default`, `teapot` ..."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen of a running engine, for a mode to judge.

    `before` and `after` are metric samples around all probes; `cache_config` holds the labels of
    `vllm:cache_config_info`. Probes that no mode of the engine asked for were not sent.
    """

    before: Mapping[MetricKey, float]
    after: Mapping[MetricKey, float]
    cache_config: Mapping[str, str]
    log: Sequence[str] = ()
    answers: Sequence[str] = ()
    """Greedy answers to a few fixed short prompts, in order."""
    repeated: Sequence[str] = ()
    """Greedy answers to one new prompt of several blocks that was sent twice: cold, then warm."""
    longest_prompt_tokens: int | None = None
    """Of the probes that were answered."""
    reference: Sequence[str] | None = None
    """Answers to the same prompts by an engine of the same model, version, device and formats in no mode that
    should keep them; None: no such engine has run yet."""
    ranks: int | None = None
    """Worker processes that were seen living; None: not looked at."""
    models: Sequence[str] | None = None
    """The ids of `/v1/models`; None: not looked at."""
    answers_by: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Greedy answers to the same short prompts by each model that a mode adds, where the engine offers it."""

    def moved(self, name: str, **labels: str) -> float | None:
        """By how much the metric grew over the probe, summed over matching series; None if absent."""
        wanted = set(labels.items())
        keys = [k for k in self.after if k[0] == name and wanted <= set(k[1])]
        if not keys:
            return None
        return sum(self.after[k] - self.before.get(k, 0.0) for k in keys)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a mode is in effect: True, False or None (cannot tell), with what shows it."""

    kind: str
    asked: str
    in_effect: bool | None
    evidence: str
    warnings: Sequence[str] = field(default_factory=tuple)
    not_compared: str | None = None
    """Why greedy answers that the mode should keep were held against nothing, and what to do; else None."""


class Mode(BaseModel):
    """Base of all modes: a frozen piece of the deployment file that can become flags and be proven.

    A new mode is one file with one subclass, and one line in `serving.modes.MODES`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    summary: ClassVar[str]
    """One line for `teapot modes`."""
    runs: ClassVar[bool] = True
    """False: the kind is parsed and checked, but this version cannot start it yet."""
    owns: ClassVar[Sequence[str]] = ()
    """The vLLM flags that this kind decides, so that `engine.args` may not."""
    works_on: ClassVar[str] = "cpu, cuda, rocm"
    """Where the mode really works, for `teapot modes`."""
    evidence: ClassVar[str] = ""
    """What shows the mode in effect, for `teapot modes`."""
    keeps_answers: ClassVar[bool] = True
    """Greedy answers should not change by this mode; if they do, the verdict says where they part."""
    repeats: ClassVar[bool] = False
    """It is judged by a long prompt that is sent twice."""

    kind: str

    def asked(self) -> str:
        """What was asked for, in a few words, for tables and `/status`."""
        fields = self.model_dump(exclude={"kind"}, exclude_none=True)
        return ", ".join(f"{k}={v}" for k, v in fields.items()) or "on"

    def flags(self, context: EngineContext) -> Sequence[Flag]:
        """The vLLM flags of this mode, as (`--name`, value, words or None)."""
        return ()

    def environment(self, context: EngineContext) -> Mapping[str, str]:
        """The environment variables of this mode."""
        return {}

    def added_models(self) -> Sequence[str]:
        """The names by which requests reach what this mode adds beside the model; each is probed."""
        return ()

    def verdict(self, seen: Observation, context: EngineContext) -> Verdict:
        """Judge from what was observed whether the mode is in effect."""
        return Verdict(self.kind, self.asked(), None, "no evidence is collected for this mode")

    def judge(self, seen: Observation, context: EngineContext) -> Verdict:
        """The verdict, and whether answers that this mode should keep are the reference's.

        A difference never turns a verdict: numbers that are summed in another order may part greedy answers.
        """
        verdict = self.verdict(seen, context)
        if not self.keeps_answers or not seen.answers:
            return verdict
        if seen.reference is None:
            others = " and ".join(sorted(context.kinds & CHANGES_ANSWERS))
            serve = f"serve once with no other mode than {others}" if others else "serve once without modes"
            return replace(verdict, not_compared=f"no reference answers yet: {serve} to have them")
        parted = first_difference(seen.answers, seen.reference)
        if parted is None:
            same = f"all {len(seen.answers)} greedy answers are the reference's"
            return replace(verdict, evidence=f"{verdict.evidence}; {same}")
        return replace(verdict, warnings=(*verdict.warnings, f"greedy answers changed: {parted}"))
