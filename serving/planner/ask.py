"""What a plan is asked for, and what vLLM does where nothing is said.

Owns: the type of the question and vLLM's defaults of batch sizes. Knows nothing about answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from serving.facts.hardware import Gpu
from serving.facts.storage import WeightStorage
from serving.planner.headers import Checkpoint
from serving.planner.kv_layers import KvStorage
from serving.planner.shape import ModelShape
from serving.planner.speculation import Drafting
from serving.planner.weights import Ranks

_GIB = 1024**3
GIVEN_EFFICIENCY = "--efficiency"
"""The source of a share of the floor that is said, not taken from a run."""


class Lengths(NamedTuple):
    """Tokens of a workload's requests: prompt and answer together, at the median and the 95th percentile."""

    input_tokens: int
    output_tokens: int
    p50_tokens: int
    p95_tokens: int
    source: str = "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question. Where vLLM has a default, None asks for it."""

    shape: ModelShape
    weights: WeightStorage
    cache: KvStorage
    device: Literal["cpu", "cuda", "rocm"] = "cuda"
    version: str
    gpu: Gpu | None
    """None: the rates are not known, so there are no floors. On CPU: the cores of one rank."""
    memory_bytes: int
    """Of one device; of the machine on CPU."""
    ranks: Ranks = field(default_factory=Ranks)
    max_model_len: int
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    utilization: float | None = None
    kv_cache_bytes: int | None = None
    graphs: bool = True
    prefix_cache: bool = True
    """As vLLM has it unless told otherwise; a model with states then keeps more than one a request."""
    users: int | None = None
    lengths: Lengths | None = None
    checkpoint: Checkpoint | None = None
    """The files' own sums; None: arithmetic."""
    efficiency: float | None = None
    """Measured share of the decode floor that this machine reaches."""
    efficiency_source: str = GIVEN_EFFICIENCY
    drafting: Drafting | None = None
    draft_shape: ModelShape | None = None
    """A drafting model, whose weights and cache count too."""
    draft_weights: WeightStorage | None = None
    """Its own, which vLLM leaves as it is (vllm 0.33.0 config/speculative.py). None: the model's."""
    engines: int = 1
    """Engines like this one in the deployment; the plan is of one."""
    link_bytes_per_s: float | None = None
    """Between prefilling and decoding engines."""

    @property
    def user_tokens(self) -> int:
        """The length that users are judged by: the workload's at p95, else the longest."""
        return self.lengths.p95_tokens if self.lengths else self.max_model_len

    @property
    def block_tokens(self) -> int:
        """Of a block of the KV cache. Source: vllm 0.32.0 config/cache.py (16), measured on CPU (128)."""
        return 128 if self.device == "cpu" else 16

    @property
    def batch(self) -> Batch:
        """Batch sizes with vLLM's defaults filled in."""
        tokens, seqs = default_batch(self.gpu, self.memory_bytes, self.device, self.ranks.world)
        seqs = self.max_num_seqs or seqs
        tokens = self.max_num_batched_tokens or max(min(tokens, seqs * self.max_model_len), seqs)
        return Batch(tokens, min(seqs, tokens))

    @property
    def in_flight_tokens(self) -> int:
        """Tokens scheduled and not yet settled: a batch a pipeline stage, and one scheduled ahead (not on
        CPU).

        Source: vllm 0.32.0 config/vllm.py max_concurrent_batches with its second model runner, and
        platforms/cpu.py, which schedules nothing ahead.
        """
        batches = self.ranks.pipeline + (self.device != "cpu")
        return batches * self.batch.max_num_batched_tokens


class Batch(NamedTuple):
    """The limits of one step."""

    max_num_batched_tokens: int
    max_num_seqs: int


def default_batch(gpu: Gpu | None, memory_bytes: int, device: str, world: int) -> tuple[int, int]:
    """vLLM's own max_num_batched_tokens and max_num_seqs for a server on this device.

    Source: vllm 0.32.0 engine/arg_utils.py get_batch_defaults.
    """
    if device == "cpu":
        return 2048 * world, 128 * world
    if memory_bytes >= 160 * _GIB:
        return 16384, 1024
    if memory_bytes >= 70 * _GIB and not (gpu and "a100" in gpu.title.lower()):
        return 8192, 1024
    return 2048, 256
