"""What was seen of an engine within a window: the numbers that every rule of the diagnosis reads.

Owns: the type, and the ratios that follow from it. Knows nothing about where readings come from
(`readings`), nor what is made of them (`rules`). What was not seen is None: it is never taken for 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

RIDGE_TOKENS = 300.0
"""Tokens of a step above which computing takes longer than reading 16-bit weights, where the device is not
known: operations by bytes a second of an H100 SXM, 295 (`serving/facts/hardware.toml`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculated:
    """What speculation did within the window."""

    acceptance_ratio: float
    """Accepted / drafted tokens."""
    acceptance_length: float
    """Tokens of a step that drafted, the model's own among them."""
    positions: tuple[float, ...]
    """The share of drafts of which the token at each position was accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What the device could do at most, and where that is from."""

    bandwidth_bytes_per_s: float
    flops: float
    source: str
    assumed: bool = False
    """The rates are upper bounds that nobody measured: a small share of them proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFloor:
    """The planner's floor of a decode step at the window's own batch and context."""

    memory_s: float
    compute_s: float

    @property
    def seconds(self) -> float:
        """The floor."""
        return max(self.memory_s, self.compute_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One engine, one window. Means are over requests that finished in it; times in seconds."""

    source: str
    seconds: float
    requests: float | None = None
    running_mean: float | None = None
    running_max: float | None = None
    busy_ratio: float | None = None
    """Share of the window in which something ran."""
    waiting_mean: float | None = None
    waiting_max: float | None = None
    kv_usage_max_ratio: float | None = None
    preemptions: float | None = None
    queue_s: float | None = None
    prefill_s: float | None = None
    decode_s: float | None = None
    ttft_s: float | None = None
    client_ttft_s: float | None = None
    """As the load generator saw it; only a run folder tells."""
    tpot_s: float | None = None
    e2e_s: float | None = None
    prompt_tokens: float | None = None
    computed_prompt_tokens: float | None = None
    """Those that no cache had."""
    output_tokens: float | None = None
    step_tokens: float | None = None
    """Of a mean step: prompt tokens computed and tokens generated together."""
    prefix_hit_ratio: float | None = None
    speculated: Speculated | None = None
    read_bytes_per_s: float | None = None
    """While something ran, by the engine's own estimate."""
    flops_per_s: float | None = None
    restarted: bool = False
    cache_config: Mapping[str, str] = field(default_factory=dict)
    max_num_seqs: int | None = None
    ttft_slo_s: float | None = None
    tpot_slo_s: float | None = None
    step_floor: StepFloor | None = None
    device: Device | None = None

    @property
    def shares(self) -> tuple[float, float, float] | None:
        """Queue, prefill and decode as shares of their sum; None where one of them was not seen."""
        if self.queue_s is None or self.prefill_s is None or self.decode_s is None:
            return None
        whole = self.queue_s + self.prefill_s + self.decode_s
        return (self.queue_s / whole, self.prefill_s / whole, self.decode_s / whole) if whole > 0 else None

    @property
    def prompts_in_step(self) -> float | None:
        """Prompt tokens that a mean step computes."""
        if self.step_tokens is None or self.computed_prompt_tokens is None or not self.output_tokens:
            return None
        computed = self.computed_prompt_tokens
        return self.step_tokens * computed / (computed + self.output_tokens)

    @property
    def ridge_tokens(self) -> float:
        """Tokens of a step above which computing takes longer than reading: operations a byte of the device.

        Formula: 2 operations a parameter and token against 2 bytes a parameter.
        """
        return self.device.flops / self.device.bandwidth_bytes_per_s if self.device else RIDGE_TOKENS

    @property
    def bandwidth_ratio(self) -> float | None:
        """Bytes read by the device's bandwidth: the engine's own estimate, else the floor of a step."""
        if self.read_bytes_per_s is not None and self.device is not None:
            return self.read_bytes_per_s / self.device.bandwidth_bytes_per_s
        return self.step_floor.memory_s / self.tpot_s if self.step_floor and self.tpot_s else None

    @property
    def flops_ratio(self) -> float | None:
        """Operations by the device's peak: the engine's own estimate, else the floor of a step."""
        if self.flops_per_s is not None and self.device is not None:
            return self.flops_per_s / self.device.flops
        return self.step_floor.compute_s / self.tpot_s if self.step_floor and self.tpot_s else None

    @property
    def proven_device(self) -> Device | None:
        """The device, where a small share of its rates proves that something else binds."""
        return None if self.device is None or self.device.assumed else self.device

    @property
    def decoding(self) -> float | None:
        """Requests in a mean decode step: requests by their seconds of decoding (Little's law)."""
        if self.requests is None or self.decode_s is None or not self.seconds or not self.busy_ratio:
            return None
        return self.requests * self.decode_s / (self.seconds * self.busy_ratio)

    @property
    def lengths(self) -> tuple[float, float] | None:
        """Tokens of a mean prompt and of a mean answer."""
        if not self.requests or self.prompt_tokens is None or self.output_tokens is None:
            return None
        return self.prompt_tokens / self.requests, self.output_tokens / self.requests
