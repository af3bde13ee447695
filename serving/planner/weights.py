"""How many bytes the weights take: by arithmetic in any storage, on the whole and on the fullest rank.

Owns: dividing tensors over ranks as vLLM does, and summing their bytes. Knows nothing about files
(`headers`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatch
from typing import NamedTuple, TypeVar

from serving.errors import UsageError
from serving.facts.storage import WeightStorage
from serving.planner.kv_groups import stages
from serving.planner.shape import AttentionKv, ModelShape, StateKv, Tensor

VOCAB_PADDING = 64
"""vllm 0.32.0 model_executor/layers/vocab_parallel_embedding.py DEFAULT_VOCAB_PADDING_SIZE."""


class Ranks(NamedTuple):
    """The degrees of parallelism."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: bool = False

    @property
    def world(self) -> int:
        """Devices of one copy."""
        return self.tensor * self.pipeline

    @property
    def devices(self) -> int:
        """Devices of all copies."""
        return self.world * self.data


def check_split(shape: ModelShape, ranks: Ranks) -> None:
    """Refuse what vLLM cannot divide. Raises: UsageError with what would work."""
    heads = shape.attention_heads
    kept = sorted({layer.kv.heads for layer in shape.layers if isinstance(layer.kv, AttentionKv)})
    # KV heads are shared out, or each is given to several ranks (vllm model_executor/layers/linear.py).
    torn = [kv for kv in kept if max(kv, ranks.tensor) % min(kv, ranks.tensor)]
    if heads % ranks.tensor or torn:
        works = [
            str(n)
            for n in range(1, heads + 1)
            if heads % n == 0 and not any(max(kv, n) % min(kv, n) for kv in kept)
        ]
        named = f"{heads} attention heads" if heads % ranks.tensor else f"{torn[0]} KV heads"
        raise UsageError(
            f"{named} cannot be shared by {ranks.tensor} ranks",
            where="--tensor",
            fix=f"use {', '.join(works)}",
        )
    _check_states(shape, ranks.tensor)
    if ranks.pipeline > len(shape.layers):
        raise UsageError(
            f"{len(shape.layers)} layers cannot make {ranks.pipeline} stages",
            where="--pipeline",
            fix="use fewer",
        )
    _check_shared(shape, ranks.pipeline)
    if ranks.expert and not shape.experts:
        raise UsageError("the model has no experts to spread", where="--expert", fix="leave it out")


def _check_states(shape: ModelShape, tensor: int) -> None:
    """A state is shared by its heads or groups (vllm 0.32.0 model_executor/layers/mamba)."""
    kept = {layer.kv.heads for layer in shape.layers if isinstance(layer.kv, StateKv)}
    torn = [heads for heads in sorted(kept) if heads > 1 and heads % tensor]
    if torn:
        works = [str(n) for n in range(1, torn[0] + 1) if not any(heads % n for heads in kept)]
        raise UsageError(
            f"states of {torn[0]} heads or groups cannot be shared by {tensor} ranks",
            where="--tensor",
            fix=f"use {', '.join(works)}",
        )


def _check_shared(shape: ModelShape, pipeline: int) -> None:
    """A layer that reads another's cache must be of its stage (vLLM 0.32.0 refuses to start elsewise)."""
    stage = {index: n for n, part in enumerate(stages(len(shape.layers), pipeline)) for index in part}
    for index, layer in enumerate(shape.layers):
        if layer.shares is not None and stage[layer.shares] != stage[index]:
            raise UsageError(
                f"{pipeline} stages part layer {index} from layer {layer.shares}, whose cache it reads",
                where="--pipeline",
                fix="use fewer",
            )


def tensor_bytes(tensor: Tensor, storage: WeightStorage, element_bytes: int, module: str = "") -> int:
    """Bytes of a tensor: in the storage where it applies, else in the model's own 16 bits.

    A storage of all layers (bf16, fp32) decides for everything.
    """
    if storage.layers == "all":
        return tensor.parameters * storage.bits // 8
    stored = tensor.role == "expert" or (tensor.role == "linear" and storage.layers == "linear")
    if not stored or tensor.cols == 1 or _ignored(module or tensor.name, storage.ignore):
        return tensor.parameters * element_bytes
    return tensor.copies * storage.matrix_bytes(tensor.rows, tensor.cols)


def _ignored(module: str, patterns: tuple[str, ...]) -> bool:
    """Whether a checkpoint's ignore list names a module or what holds it: exact, `*` or `re:`."""
    words = module.split(".")
    holders = [".".join(words[: end + 1]) for end in range(len(words))]
    for pattern in patterns:
        if pattern.startswith("re:"):
            if re.match(pattern.removeprefix("re:"), module):
                return True
        elif pattern in words or any(fnmatch(holder, pattern) for holder in holders):
            return True
    return False


def _module(tensor: Tensor, layer: int) -> str:
    name = tensor.name
    if name in {"q_proj", "k_proj", "v_proj", "o_proj"} or name.startswith(("q_", "kv_")):
        name = f"self_attn.{name}"
    elif name.startswith("experts."):
        name = f"mlp.experts.0.{name.removeprefix('experts.')}"
    return f"model.layers.{layer}.{name}"


def on_rank(tensor: Tensor, ranks: Ranks) -> Tensor:
    """The part of a tensor that one tensor-parallel rank holds; what does not divide is rounded up.

    Linear layers are divided by output or input features, heads stay whole (KV heads are repeated where ranks
    are more), the vocabulary is padded to 64 rows. Experts are divided over all ranks of tensor * data: whole
    ones with expert parallelism, by features without; shared ones are then repeated where there is data
    parallelism too. Norms and routers are repeated. What an engine holds twice, or in twice the bytes, has
    twice the copies.
    """
    size = ranks.tensor
    if tensor.held != 1:
        return on_rank(tensor._replace(copies=tensor.copies * tensor.held, held=1), ranks)
    if tensor.repeated and ranks.expert and ranks.data > 1:
        return tensor  # vllm 0.32.0 config/parallel.py use_sequence_parallel_moe
    if tensor.split == "rows":
        if tensor.units:
            each = tensor.rows // tensor.units
            return tensor._replace(rows=each * max(1, tensor.units // size))
        return tensor._replace(rows=-(-tensor.rows // size))
    if tensor.split == "cols":
        return tensor._replace(cols=-(-tensor.cols // size))
    if tensor.split == "vocab":
        padded = -(-tensor.rows // VOCAB_PADDING) * VOCAB_PADDING
        return tensor._replace(rows=-(-padded // size))
    if tensor.split == "experts":
        return _experts_on_rank(tensor, ranks)
    return tensor


def _experts_on_rank(tensor: Tensor, ranks: Ranks) -> Tensor:
    size = ranks.tensor * ranks.data
    if ranks.expert:
        return tensor._replace(copies=-(-tensor.copies // size))
    if "down" in tensor.name:
        return tensor._replace(cols=-(-tensor.cols // size))
    return tensor._replace(rows=-(-tensor.rows // size))


def weight_bytes(shape: ModelShape, storage: WeightStorage) -> int:
    """Bytes of the whole model as its files hold it."""
    around = sum(tensor_bytes(tensor, storage, shape.element_bytes) for tensor in shape.around)
    return around + _sum(shape, storage, range(len(shape.layers)), lambda tensor, size: size(tensor))


def rank_bytes(shape: ModelShape, storage: WeightStorage, ranks: Ranks) -> int:
    """Bytes of the fullest rank. Embedding on the first stage, lm_head and last norm on the last, unless the
    family has them on every stage."""
    parts = stages(len(shape.layers), ranks.pipeline)
    each = [_sum(shape, storage, part, lambda tensor, size: size(on_rank(tensor, ranks))) for part in parts]
    for tensor in shape.around:
        held = tensor_bytes(on_rank(tensor, ranks), storage, shape.element_bytes)
        for stage in _stages_of(tensor, shape.tied, ranks.pipeline):
            each[stage] += held
    return max(each)


def _stages_of(tensor: Tensor, tied: bool, pipeline: int) -> set[int]:
    """The stages that hold something around the layers. Tied embeddings are lm_head on the last as well.

    Source: the classes of vllm 0.32.0 model_executor/models, made stage by stage without memory
    (tests/e2e/test_reference.py).
    """
    if tensor.everywhere:
        return set(range(pipeline))
    if tensor.role == "embedding":
        return {0, pipeline - 1} if tied else {0}
    return {pipeline - 1}


Size = Callable[[Tensor], int]
N = TypeVar("N", int, float)


def _sum(
    shape: ModelShape, storage: WeightStorage, layers: Iterable[int], worth: Callable[[Tensor, Size], N]
) -> N:
    """Sum something over the tensors of layers. Layers that share their tensors are worked out once.

    An ignore list may tell layers apart by their number; then every layer is worked out.
    """
    known: dict[int, N] = {}
    total = None
    for index in layers:
        tensors = shape.layers[index].tensors
        found = None if storage.ignore else known.get(id(tensors))
        if found is None:
            found = _worth(tensors, index, shape.element_bytes, storage, worth)
            known[id(tensors)] = found
        total = found if total is None else total + found
    assert total is not None  # a model has layers, and so has every stage
    return total


def _worth(
    tensors: tuple[Tensor, ...],
    index: int,
    element_bytes: int,
    storage: WeightStorage,
    worth: Callable[[Tensor, Size], N],
) -> N:
    """The sum over one layer."""
    parts = [
        worth(tensor, lambda part: tensor_bytes(part, storage, element_bytes, _module(part, index)))
        for tensor in tensors
    ]
    return sum(parts[1:], parts[0])


def read_bytes(shape: ModelShape, storage: WeightStorage, ranks: Ranks, tokens: int) -> float:
    """Bytes of weights that one device reads in a step of `tokens` tokens, on the slowest way through the
    model.

    All weights but the input embedding (a look-up; tied, it is read as lm_head), and of experts those that
    are hit. The ranks of a pipeline read one after the other, so their bytes add up to one step's time.
    """
    total = _sum(
        shape,
        storage,
        range(len(shape.layers)),
        lambda tensor, size: size(on_rank(tensor, ranks)) * _share_hit(tensor, tokens),
    )
    for tensor in shape.around:
        if tensor.role != "lookup" and (tensor.role != "embedding" or shape.tied):
            total += tensor_bytes(_unpadded(tensor, ranks), storage, shape.element_bytes)
    return total


def _unpadded(tensor: Tensor, ranks: Ranks) -> Tensor:
    return tensor._replace(rows=-(-tensor.rows // ranks.tensor)) if tensor.split == "vocab" else tensor


def _share_hit(tensor: Tensor, tokens: int) -> float:
    if tensor.used is None:
        return 1.0
    return distinct_experts(tensor.copies, tensor.used, tokens) / tensor.copies


def distinct_experts(experts: int, used: int, tokens: int) -> float:
    """Experts of a layer that a step of so many tokens reads, were routing even: E * (1 - (1 - k/E)^T).

    An upper bound: real routing is skewed. min(T * k, E) counts 24 to 55 % too many at common batches.
    """
    return float(experts * (1 - (1 - used / experts) ** tokens))
