"""The levers as a table: what each changes in the deployment file, when it helps, what it should gain.

Owns: the levers, their predicted gains and their order. Knows nothing about how evidence is gathered, and
promises nothing that it cannot compute: a gain without a formula or a measured acceptance is None, and says
what to measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from deploy.diagnose.evidence import Evidence
from deploy.diagnose.rules import Bound

HALF_KV_FORMATS = ("auto", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class Gain:
    """A predicted ratio, now to then, of one figure: above 1 is better. `low` and `high` bound it."""

    of: str
    low: float
    high: float
    how: str
    """The formula or the measurement it is from."""


@dataclass(frozen=True, slots=True)
class Lever:
    """One row."""

    id: str
    title: str
    change: str
    """Exactly what to write into the deployment file."""
    helps: frozenset[Bound]
    risk: str
    """What it may do to answers, or to others."""
    gain: Callable[[Evidence], Gain | None]
    not_yet: Callable[[Evidence], str | None] = lambda evidence: None
    """Why it does not come now although it acts on what binds; None: it may."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A lever in its place."""

    lever: Lever
    gain: Gain | None
    why_not_first: str | None
    """None for the one that comes first."""


def _more_kv(e: Evidence) -> Gain | None:
    if _kv_is_small(e):
        return None
    return Gain("KV tokens", 1.9, 2.0, "2 bytes an element become 1; scales of one a tensor cost nothing")


def _kv_is_small(e: Evidence) -> str | None:
    dtype = e.cache_config.get("cache_dtype", "auto")
    return None if dtype in HALF_KV_FORMATS else f"the KV cache is {dtype} already"


def _fewer_weight_bytes(e: Evidence) -> Gain | None:
    """A step reads weights and KV: halving the weights' bytes at best. Bytes: the planner's."""
    if e.weight_bytes is None or e.kv_bytes_per_token is None:
        return None
    kv = e.kv_bytes_per_token * _context_tokens(e)
    return Gain(
        "TPOT",
        1.0,
        (e.weight_bytes + kv) / (e.weight_bytes / 2 + kv),
        "bytes of a step, where bandwidth binds it",
    )


def _context_tokens(e: Evidence) -> float:
    """KV tokens that a step reads: those in use at the peak."""
    total = float(e.cache_config.get("kv_cache_size_tokens", 0) or 0)
    return total * (e.kv_usage_max_ratio or 0.0)


def _no_queue(e: Evidence) -> Gain | None:
    if e.ttft_s is None or e.queue_s is None or e.ttft_s <= e.queue_s:
        return None
    return Gain("TTFT", 1.0, e.ttft_s / (e.ttft_s - e.queue_s), "at best nothing queues any more")


def _cached_prefixes(e: Evidence) -> Gain | None:
    if e.prefix_hit_ratio is None or e.prefix_hit_ratio <= 0:
        return None
    return Gain(
        "prefill work",
        1.0,
        1 / (1 - min(e.prefix_hit_ratio, 0.99)),
        "prompt tokens found in the cache so far",
    )


def _prefix_off(e: Evidence) -> bool:
    return e.cache_config.get("enable_prefix_caching", "True") == "False"


def _drafts(e: Evidence) -> Gain | None:
    if e.speculated is None:
        return None
    most = e.speculated.acceptance_length
    return Gain(
        "TPOT", 1.0, most, "measured acceptance length; the step with drafts costs more, so less than that"
    )


def _acceptance_unknown(e: Evidence) -> str | None:
    if e.speculated is None:
        return (
            "its acceptance is not measured: `teapot study run deploy/studies/speculation.yaml` measures it"
        )
    if e.running_mean is not None and e.running_mean > 16:
        return f"{e.running_mean:.0f} requests ran at once: drafts then compete with them for compute"
    return None


def _halves(what: str) -> Callable[[Evidence], Gain | None]:
    return lambda e: Gain(what, 1.0, 2.0, "twice the devices, at best")


_B = Bound
LEVERS: tuple[Lever, ...] = (
    Lever("seats", "let more requests run at once", "engine: {max_num_seqs: <twice as many>}",
          frozenset({_B.SEATS}), "none to answers; TPOT rises with the batch", _no_queue),
    Lever("kv-dtype", "store the KV cache in 8 bits", "modes: [{kind: quantized_kv, format: fp8}]",
          frozenset({_B.KV_CAPACITY}), "low: compare answers, above all at long context",
          _more_kv, _kv_is_small),
    Lever("max-model-len", "promise a shorter longest context",
          "engine: {max_model_len: <what is really used>}",
          frozenset({_B.KV_CAPACITY}), "requests beyond it are refused", lambda e: None),
    Lever("prefix-cache", "keep prefixes", "modes: [{kind: prefix_cache}]",
          frozenset({_B.PREFILL, _B.QUEUE}), "none: answers stay", _cached_prefixes,
          lambda e: None if _prefix_off(e) else "prefix caching is on already"),
    Lever("chunked-prefill", "smaller or larger chunks of prefill",
          "modes: [{kind: chunked_prefill, max_num_batched_tokens: <half or twice>}]",
          frozenset({_B.PREFILL}), "none to answers; trades TTFT against TPOT", lambda e: None),
    Lever("weights", "store the weights in 8 bits",
          "modes: [{kind: quantized_weights, format: fp8_per_block}]",
          frozenset({_B.DECODE, _B.KV_CAPACITY}), "low: measure quality on your own tasks",
          _fewer_weight_bytes),
    Lever("speculation", "draft tokens", "modes: [{kind: speculative, method: ngram, tokens: 4}]",
          frozenset({_B.DECODE}), "none where the engine verifies; check its proof",
          _drafts, _acceptance_unknown),
    Lever("tensor", "split each layer over more devices", "modes: [{kind: parallel, tensor: 2}]",
          frozenset({_B.DECODE, _B.KV_CAPACITY, _B.COMPUTE}), "none to answers but rounding",
          _halves("TPOT")),
    Lever("host", "take the scheduler out of the way",
          "engine: {args: {async-scheduling: true}}, and fewer CPU tasks beside it",
          frozenset({_B.HOST}), "none", lambda e: None),
    Lever("replicas", "more engines", "replicas: 2",
          frozenset({_B.QUEUE, _B.SEATS, _B.PREFILL, _B.COMPUTE, _B.KV_CAPACITY}), "none; scale out last",
          _halves("requests/s")),
    Lever("disaggregated", "prefill on other engines",
          "modes: [{kind: disaggregated, prefill: 1, decode: 1, connector: {kind: nixl}}]",
          frozenset({_B.PREFILL}), "none; pays only where the KV cache's transfer fits into TTFT's slack",
          lambda e: None),
)  # fmt: skip


def ranked(bound: Bound, evidence: Evidence) -> list[Ranked]:
    """The levers on what binds, in the guide's order: what is ready before what has to be measured first."""
    fitting = [lever for lever in LEVERS if bound in lever.helps]
    reasons: Mapping[str, str | None] = {lever.id: lever.not_yet(evidence) for lever in fitting}
    in_order = sorted(fitting, key=lambda lever: reasons[lever.id] is not None)
    found: list[Ranked] = []
    for number, lever in enumerate(in_order):
        why = reasons[lever.id]
        if why is None and number > 0:
            why = f"the guide puts '{in_order[0].title}' before it"
        found.append(Ranked(lever, lever.gain(evidence), why))
    return found


def elsewhere(bound: Bound) -> list[tuple[Lever, str]]:
    """The levers that act on something else, and on what."""
    return [(lever, ", ".join(sorted(lever.helps))) for lever in LEVERS if bound not in lever.helps]
