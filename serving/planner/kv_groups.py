"""The pool of KV blocks as vLLM lays it out: layers in groups, one page size, whole blocks only.

Owns: grouping, page sizes, blocks of a request. Knows nothing about where the memory comes from (`budget`).
Source of every rule: vllm 0.32.0 v1/core/kv_cache_utils.py and v1/kv_cache_interface.py; the layer-outermost
layout, which attention backends choose by default.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from serving.planner.kv_layers import KvStorage, boundary, state_bytes, token_bytes
from serving.planner.shape import AttentionKv, ModelShape, StateKv

Kind = Literal["full", "window", "chunked", "state"]
PAD_BELOW = 1.5
"""Types whose largest is below so many times their smallest are padded to the largest, not split."""


class Page(NamedTuple):
    """One layer's part of one block."""

    kind: Kind
    page_bytes: int
    block_tokens: int
    window: int = 0
    states: int = 1
    """Blocks of a request where the page is a state's."""


class Group(NamedTuple):
    """Layers that share one block table."""

    page: Page
    layers: tuple[int, ...]
    """Indices among the model's layers."""

    def blocks(self, tokens: int, in_flight: int) -> int:
        """Blocks that a request of so many tokens takes. `in_flight`: tokens scheduled and not yet
        settled."""
        page = self.page
        if page.kind == "state":
            return page.states
        if page.kind == "window":
            return -(-min(page.window - 1 + in_flight, tokens) // page.block_tokens) + 1
        if page.kind == "chunked":
            return -(-min(page.window + in_flight, tokens) // page.block_tokens)
        return -(-tokens // page.block_tokens)


class KvPool(NamedTuple):
    """The pool of one rank: what a block costs and what a request takes."""

    groups: tuple[Group, ...]
    block_bytes: int
    block_tokens: int
    """Of the full-attention groups, or of the first."""
    in_flight: int

    def blocks(self, tokens: int) -> int:
        """Blocks of one request, over all groups."""
        return sum(group.blocks(tokens, self.in_flight) for group in self.groups)

    def capacity(self, memory_bytes: int, max_model_len: int) -> Capacity:
        """What so much memory holds. Formula: get_max_concurrency_for_kv_cache_config."""
        blocks = max(0, memory_bytes // self.block_bytes)
        concurrency = blocks / self.blocks(max_model_len)
        return Capacity(blocks, int(concurrency * max_model_len), concurrency)

    def users(self, blocks: int, tokens: int) -> int:
        """Requests of so many tokens that fit at once; one block is vLLM's null block."""
        return max(0, blocks - 1) // self.blocks(tokens)

    def longest(self, blocks: int, users: int, most: int) -> int:
        """The longest context that so many users can have at once, at most `most`; 0: none."""
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            if self.users(blocks, middle) >= users:
                low = middle
            else:
                high = middle - 1
        return low


class Capacity(NamedTuple):
    """What a pool holds."""

    blocks: int
    tokens: int
    max_concurrency: float
    """Requests of max_model_len tokens."""


class Split(NamedTuple):
    """How the model is spread and what a block is."""

    block_tokens: int
    tensor: int = 1
    pipeline: int = 1
    in_flight: int = 0
    prefix_cache: bool = True
    """Prefixes are cached, as vLLM does unless told otherwise: a request holds more than one state."""


def stages(layers: int, pipeline: int) -> list[range]:
    """The layers of each pipeline stage; what does not divide goes to the middle and later stages but the
    last.

    Source: vllm 0.32.0 distributed/utils.py get_pp_indices.
    """
    sizes = [layers // pipeline] * pipeline
    for number in range(2, layers % pipeline + 2):
        sizes[-number] += 1
    ends = [sum(sizes[: index + 1]) for index in range(pipeline)]
    return [range(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def kv_pool(shape: ModelShape, storage: KvStorage, split: Split) -> KvPool:
    """Lay out the pool of the fullest rank."""
    groups = _groups(_pages(shape, storage, split))
    parts = stages(len(shape.layers), split.pipeline)
    block_bytes = max(
        sum(page.page_bytes for index, page in group if index in part) for part in parts for group in groups
    )
    made = tuple(Group(group[0][1], tuple(index for index, _ in group)) for group in groups)
    first = next((group for group in made if group.page.kind == "full"), made[0])
    return KvPool(made, block_bytes, first.page.block_tokens, split.in_flight)


Indexed = tuple[int, Page]


def _pages(shape: ModelShape, storage: KvStorage, split: Split) -> list[Indexed]:
    native, pages = boundary(shape, storage), []
    for index, layer in enumerate(shape.layers):
        if layer.kv is None:
            continue
        if isinstance(layer.kv, StateKv):
            state = state_bytes(layer.kv, tensor=split.tensor, element_bytes=shape.element_bytes)
            pages.append((index, Page("state", state, split.block_tokens, states=_states(layer.kv, split))))
            continue
        each = token_bytes(layer.kv, storage, tensor=split.tensor, native=index in native)
        kind: Kind = "full"
        window = 0
        if isinstance(layer.kv, AttentionKv) and layer.kv.window:
            kind, window = ("chunked" if layer.kv.chunked else "window"), layer.kv.window
        pages.append((index, Page(kind, each * split.block_tokens, split.block_tokens, window)))
    return pages


def _states(state: StateKv, split: Split) -> int:
    """Blocks of a request: its state; with prefixes cached also the one before, and what a step puts aside.

    Source: vllm 0.32.0 v1/kv_cache_interface.py MambaSpec.max_memory_usage_bytes.
    """
    return 2 + state.checkpoints if split.prefix_cache else 1


def _groups(pages: Sequence[Indexed]) -> list[list[Indexed]]:
    """One group where all layers need the same token slots, else groups of equally many layers."""
    if len({(page.kind, page.window) for _, page in pages}) == 1:
        return [list(pages)]
    buckets: dict[Page, list[Indexed]] = {}
    for index, page in _unified(pages):
        buckets.setdefault(page, []).append((index, page))
    counts = [len(bucket) for bucket in buckets.values()]
    size = max(counts) if max(counts) < PAD_BELOW * min(counts) else min(counts)
    groups = []
    for bucket in buckets.values():
        number = -(-len(bucket) // size)
        groups += [bucket[first::number] for first in range(number)]
    return groups


def _unified(pages: Sequence[Indexed]) -> list[Indexed]:
    """Give all layers pages of one size: attention takes more tokens a block, what cannot is padded."""
    states = [page.page_bytes for _, page in pages if page.kind == "state"]
    attention = [page for _, page in pages if page.kind != "state"]
    found = list(pages)
    if states and attention:
        # vllm 0.32.0 platforms/interface.py _align_hybrid_block_size: whole blocks of attention hold a state.
        block = attention[0].block_tokens * -(-max(states) // attention[0].page_bytes)
        found = [(index, _with_block(page, block)) for index, page in pages]
    most = max(page.page_bytes for _, page in found)
    return [(index, _with_page(page, most)) for index, page in found]


def _with_block(page: Page, tokens: int) -> Page:
    if page.kind == "state":
        return page
    return page._replace(page_bytes=page.page_bytes // page.block_tokens * tokens, block_tokens=tokens)


def _with_page(page: Page, page_bytes: int) -> Page:
    if page.kind != "state" and page_bytes % page.page_bytes == 0:
        tokens = page.block_tokens * (page_bytes // page.page_bytes)
        return page._replace(page_bytes=page_bytes, block_tokens=tokens)
    return page._replace(page_bytes=page_bytes)


def layout_words(pool: KvPool) -> str:
    """The groups in a few words: `1 group of 32 full layers`."""
    parts = []
    for (kind, size), same in groupby(pool.groups, lambda group: (group.page.kind, len(group.layers))):
        count = len(list(same))
        parts.append(f"{count} group{'s' if count > 1 else ''} of {size} {kind} layers")
    return ", ".join(parts)
