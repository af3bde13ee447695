"""The levers as a table: what each changes in the deployment file, what it acts on, why it may not come now.

Owns: the rows, and their order, which is the guide's (docs/diagnose.md). Knows nothing about what a change
gains (`predict`), nor how it is ranked (`advice`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from deploy.diagnose.edit import Fragment
from deploy.diagnose.evidence import Evidence
from deploy.diagnose.rules import Bound
from serving.planner.ask import Ask
from serving.planner.weights import Ranks

LITTLE_KV = 0.2
HALF_KV_FORMATS = ("auto", "bfloat16", "float16")
DRAFTS = 4
MANY = 16
"""Requests at once from which drafts compete with them for compute."""
MOST_UTILIZATION = 0.95
_MIB = 1024**2


@dataclass(frozen=True, slots=True)
class Seen:
    """What a lever looks at: the window, and where there is a deployment file what it says."""

    evidence: Evidence
    bound: Bound | None = None
    """What binds; None before that is known."""
    ask: Ask | None = None
    """The planner's question about the deployment."""
    replicas: int = 1
    gateway_workers: int = 1
    flags: frozenset[str] | None = None
    """Of `engine.args`, as vLLM gets them (`--no-x` where it is false); None without a file."""
    speculative: Mapping[str, Any] | None = None
    """The mode, as the file has it."""
    best_drafts: int | None = None
    """Tokens that would best be drafted in a step, by the measured acceptance of each position; 0: none."""
    acceptance: float | None = None
    """Of drafts that were tried elsewhere, as the user gives it."""


@dataclass(frozen=True, slots=True)
class Lever:
    """One row."""

    id: str
    title: str
    fragment: Callable[[Seen], Fragment | None]
    """The change of the deployment file; None where it cannot be told without that file."""
    helps: frozenset[Bound]
    risk: str
    """What it may do to answers, or to others."""
    not_yet: Callable[[Seen], str | None] = lambda seen: None
    """Why it does not come now although it acts on what binds; None: it may."""


def _seats(seen: Seen) -> Fragment | None:
    now = seen.evidence.max_num_seqs
    return {"engine": {"max_num_seqs": now * 2}} if now else None


def _kv_memory(seen: Seen) -> Fragment | None:
    ask = seen.ask
    if ask is None:
        return None
    if ask.kv_cache_bytes is not None:
        return {"engine": {"kv_cache_memory": f"{ask.kv_cache_bytes * 2 // _MIB}MiB"}}
    return {"engine": {"gpu_memory_utilization": MOST_UTILIZATION}}


def _memory_is_all(seen: Seen) -> str | None:
    share = seen.ask.utilization if seen.ask and seen.ask.kv_cache_bytes is None else None
    if share is None or share < MOST_UTILIZATION:
        return None
    return f"gpu_memory_utilization is {share:g} already"


def _kv_is_small(seen: Seen) -> str | None:
    dtype = seen.evidence.cache_config.get("cache_dtype", "auto")
    if dtype not in HALF_KV_FORMATS:
        return f"the KV cache is {dtype} already"
    used = seen.evidence.kv_usage_max_ratio
    if seen.bound is Bound.DECODE and seen.ask is None and used is not None and used < LITTLE_KV:
        return f"the KV cache was {used:.0%} full at most: a step reads little of it"
    return None


def _shorter(seen: Seen) -> Fragment | None:
    return {"engine": {"max_model_len": seen.ask.max_model_len // 2}} if seen.ask else None


def _long_requests(seen: Seen) -> str | None:
    lengths = seen.evidence.lengths
    if seen.ask is None or lengths is None or sum(lengths) * 2 < seen.ask.max_model_len // 2:
        return None
    return f"requests take {sum(lengths):.0f} tokens on average: some would be refused"


def _prefix_on(seen: Seen) -> str | None:
    if seen.evidence.cache_config.get("enable_prefix_caching", "True") == "False":
        return None
    hits = seen.evidence.prefix_hit_ratio
    return "prefix caching is on already" + (f", with {hits:.0%} hits" if hits is not None else "")


def _chunk(seen: Seen) -> Fragment | None:
    if seen.ask is None:
        return None
    now = seen.ask.batch.max_num_batched_tokens
    tokens = now // 2 if _tpot_missed(seen.evidence) else now * 2
    return {"modes": [{"kind": "chunked_prefill", "max_batched_tokens": tokens}]}


def _no_side(seen: Seen) -> str | None:
    e = seen.evidence
    late = (e.ttft_slo_s is not None and (e.ttft_s or 0.0) > e.ttft_slo_s, _tpot_missed(e))
    if any(late) and not all(late):
        return None
    return "it trades TTFT against TPOT, and it is not that just one of them misses its objective"


def _tpot_missed(e: Evidence) -> bool:
    return e.tpot_slo_s is not None and (e.tpot_s or 0.0) > e.tpot_slo_s


def _weights(seen: Seen) -> Fragment:
    on_cpu = seen.ask is None or seen.ask.device == "cpu"
    return {"modes": [{"kind": "quantized_weights", "format": "fp8_per_block" if on_cpu else "fp8"}]}


def _weights_are_small(seen: Seen) -> str | None:
    quantized = seen.ask is not None and seen.ask.weights.layers != "all"
    return f"the weights are {seen.ask.weights.name} already" if quantized and seen.ask else None


def _drafts(seen: Seen) -> Fragment:
    lookup = {"prompt_lookup_max": 4, "prompt_lookup_min": 2}
    return {"modes": [{"kind": "speculative", "method": "ngram", "tokens": DRAFTS, **lookup}]}


def _no_drafts_yet(seen: Seen) -> str | None:
    e = seen.evidence
    if e.speculated is not None or seen.speculative is not None:
        return "it speculates already"
    if seen.acceptance is None:
        return (
            "its acceptance is not measured: `teapot study run deploy/studies/speculation.yaml` does that, "
            "and --acceptance tells it here"
        )
    if e.running_mean is not None and e.running_mean > MANY:
        return f"{e.running_mean:.0f} requests ran at once: drafts then compete with them for compute"
    return None


def _other_drafts(seen: Seen) -> Fragment | None:
    if seen.speculative is None or not seen.best_drafts:
        return None
    return {"modes": [{**seen.speculative, "tokens": seen.best_drafts}]}


def _drafts_are_right(seen: Seen) -> str | None:
    e = seen.evidence
    if e.speculated is None:
        return "nothing is drafted"
    found = f"{e.speculated.acceptance_ratio:.0%} of drafted tokens were accepted"
    if seen.speculative is None or seen.best_drafts is None:
        return f"{found}; which number of them is best needs the deployment file and the device's rates"
    if seen.best_drafts == 0:
        return f"{found}: at this batch every number of them loses; take the mode out"
    if seen.best_drafts == seen.speculative.get("tokens"):
        return f"{found}, and no smaller number of them is predicted to be better"
    return None


def _wider(seen: Seen) -> Fragment:
    ranks = seen.ask.ranks if seen.ask else Ranks()
    split = {"tensor": ranks.tensor * 2, "pipeline": ranks.pipeline, "data": ranks.data}
    return {"modes": [{"kind": "parallel", **split}]}


def _apart(seen: Seen) -> Fragment:
    connector = {"connector": {"kind": "nixl"}}
    return {"modes": [{"kind": "disaggregated", "prefill": 1, "decode": 1, **connector}]}


def _same_cores(seen: Seen) -> str | None:
    return "on CPU it shares the same cores" if seen.ask is not None and seen.ask.device == "cpu" else None


def _compiled(seen: Seen) -> Fragment:
    return {"engine": {"args": {"enforce-eager": False}}}


def _compiled_already(seen: Seen) -> str | None:
    if seen.ask is None:
        return "whether steps are compiled is not known without the deployment file"
    return "steps are compiled already" if seen.ask.graphs else None


def _scheduled_ahead(seen: Seen) -> str | None:
    """Source: vllm 0.32.0 and 0.33.0 config/vllm.py: on by itself where it can be, else refused."""
    if seen.flags is None:
        return "vLLM does so unless it is told not to, which is not known without the deployment file"
    if "--no-async-scheduling" not in seen.flags:
        return "vLLM does so already wherever it can: nothing in the file tells it not to"
    method = (seen.speculative or {}).get("method")
    return f"vLLM refuses it beside drafts by {method}" if method in _NOT_AHEAD else None


_NOT_AHEAD = ("ngram", "suffix")
_B = Bound
LEVERS: tuple[Lever, ...] = (
    Lever("seats", "let more requests run at once", _seats, frozenset({_B.SEATS, _B.QUEUE}),
          "none to answers; TPOT rises with the batch",
          lambda seen: None if seen.evidence.max_num_seqs else "max_num_seqs is not known: give the file"),
    Lever("kv-memory", "more memory for the KV cache", _kv_memory, frozenset({_B.KV_CAPACITY}),
          "none to answers; less memory for anything else", _memory_is_all),
    Lever("kv-dtype", "store the KV cache in 8 bits",
          lambda seen: {"modes": [{"kind": "quantized_kv", "format": "fp8"}]},
          frozenset({_B.KV_CAPACITY, _B.DECODE}), "low: compare answers, above all at long context",
          _kv_is_small),
    Lever("max-model-len", "promise a shorter longest context", _shorter, frozenset({_B.KV_CAPACITY}),
          "none to answers; longer requests are refused", _long_requests),
    Lever("gateway", "more processes of the gateway",
          lambda seen: {"gateway": {"workers": seen.gateway_workers * 2}}, frozenset({_B.FRONT}),
          "none to answers"),
    Lever("prefix-cache", "keep prefixes", lambda seen: {"modes": [{"kind": "prefix_cache"}]},
          frozenset({_B.PREFILL, _B.QUEUE}), "none: answers stay", _prefix_on),
    Lever("chunked-prefill", "smaller or larger chunks of prefill", _chunk,
          frozenset({_B.PREFILL, _B.QUEUE}),
          "none to answers; trades TTFT against TPOT", _no_side),
    Lever("compiled", "compile the steps", _compiled, frozenset({_B.HOST, _B.DECODE}),
          "none to answers; a longer start", _compiled_already),
    Lever("async", "schedule the next step while one runs",
          lambda seen: {"engine": {"args": {"async-scheduling": True}}}, frozenset({_B.HOST}),
          "none to answers", _scheduled_ahead),
    Lever("weights", "store the weights in 8 bits", _weights, frozenset({_B.DECODE, _B.KV_CAPACITY}),
          "low: measure quality on your own tasks", _weights_are_small),
    Lever("speculation", "draft tokens", _drafts, frozenset({_B.DECODE, _B.HOST}),
          "none where the engine verifies; check its proof", _no_drafts_yet),
    Lever("drafts", "draft fewer tokens a step", _other_drafts,
          frozenset({_B.DECODE, _B.COMPUTE, _B.HOST}), "none", _drafts_are_right),
    Lever("tensor", "split each layer over more devices", _wider,
          frozenset({_B.DECODE, _B.KV_CAPACITY, _B.COMPUTE}), "none to answers but rounding", _same_cores),
    Lever("replicas", "more engines", lambda seen: {"replicas": seen.replicas * 2},
          frozenset({_B.QUEUE, _B.SEATS, _B.PREFILL, _B.COMPUTE, _B.KV_CAPACITY}),
          "none to answers; scale out last", _same_cores),
    Lever("disaggregated", "prefill on other engines", _apart,
          frozenset({_B.PREFILL, _B.QUEUE}),
          "none; pays only where the KV cache's transfer fits into TTFT's slack", _same_cores),
)  # fmt: skip
