"""The rules of the diagnosis as a table, in the guide's order: fit, then the split, then what binds.

Owns: one row a rule, with what it reads, its threshold and its source. Knows nothing about levers.

A rule looks at the evidence and says what it saw, or nothing. The first rule that sees something names what
binds; the others are told as seen beside it. A rule whose inputs were not seen stays silent, and is named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from deploy.diagnose.evidence import Evidence

LEAST_REQUESTS = 20
LEAST_SECONDS = 20.0
KV_FULL = 0.9
BUSY = 1.0
SEATS_TAKEN = 0.95
SHARE_QUEUED = 0.3
SHARE_PREFILL = 0.4
RIDGE = 1.0
BEFORE_ENGINE = 1.5
LEAST_BEFORE_S = 0.05
ROOF_REACHED = 0.4
ROOF_FAR = 0.2


class Bound(StrEnum):
    """What keeps the engine from doing more, or from doing it faster."""

    FRONT = "what stands before the engine"
    KV_CAPACITY = "KV cache capacity"
    SEATS = "max_num_seqs"
    QUEUE = "queueing"
    PREFILL = "prefill compute"
    DECODE = "decode bandwidth"
    COMPUTE = "decode compute"
    HOST = "the host or the scheduler"
    TRAFFIC = "nothing: there is little to do"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule saw."""

    rule: str
    symptom: str
    bound: Bound
    evidence: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: `look` gives the finding's words, or None where its threshold is not reached."""

    id: str
    symptom: str
    bound: Bound
    inputs: tuple[str, ...]
    """Fields of `Evidence` without which it cannot tell."""
    threshold: str
    source: str
    look: Callable[[Evidence], str | None]


def too_little(evidence: Evidence) -> str | None:
    """Why there is too little to say anything; None where there is enough."""
    if evidence.restarted:
        return "the engine was started anew within the window"
    if evidence.requests is None:
        return f"{evidence.source} shows no vLLM request metrics"
    if evidence.requests < LEAST_REQUESTS:
        return (
            f"{evidence.requests:.0f} requests finished within {evidence.seconds:.0f} s and "
            f"{LEAST_REQUESTS} are needed"
        )
    if evidence.seconds < LEAST_SECONDS:
        return f"the window is {evidence.seconds:.0f} s and {LEAST_SECONDS:.0f} s are needed"
    return None


def _preempted(e: Evidence) -> str | None:
    if not e.preemptions:
        return None
    return f"{e.preemptions:.0f} preemptions within {e.seconds:.0f} s: requests lost their cache"


def _kv_full(e: Evidence) -> str | None:
    usage, waiting = e.kv_usage_max_ratio or 0.0, e.waiting_max or 0.0
    if usage <= KV_FULL or waiting <= 0:
        return None
    return f"the KV cache was {usage:.0%} full while up to {waiting:.0f} requests waited"


def _seats(e: Evidence) -> str | None:
    if not _seats_taken(e) or not e.waiting_mean or _full(e) or _prompts_fill(e):
        return None
    return (
        f"{e.running_max:.0f} of {e.max_num_seqs} seats were taken while {e.waiting_mean:.1f} requests "
        f"waited on average, with the KV cache {e.kv_usage_max_ratio or 0.0:.0%} full"
    )


def _before_engine(e: Evidence) -> str | None:
    seen, own = e.client_ttft_s or 0.0, e.ttft_s or 0.0
    if seen < BEFORE_ENGINE * own or seen - own < LEAST_BEFORE_S:
        return None
    return (
        f"clients waited {seconds(seen)} for the first token and the engine took {seconds(own)} of that: "
        "the rest is the gateway, the network or the client"
    )


def _queued(e: Evidence) -> str | None:
    """Whatever the queue is for: where prompts fill the steps, the rule `prompts` has said so."""
    if e.shares is None or e.shares[0] < SHARE_QUEUED or _prompts_fill(e):
        return None
    words = f"requests queued {seconds(e.queue_s)} on average, {e.shares[0]:.0%} of their time"
    return words if e.max_num_seqs else f"{words}; whether for seats is not known without max_num_seqs"


def _seats_taken(e: Evidence) -> bool:
    return (e.running_max or 0.0) >= SEATS_TAKEN * (e.max_num_seqs or float("inf"))


def _full(e: Evidence) -> bool:
    return (e.kv_usage_max_ratio or 0.0) > KV_FULL


def _prompts_fill(e: Evidence) -> bool:
    """Whether steps are bound by computing prompts, so that whatever waits, waits for that."""
    return e.prompts_in_step is not None and e.prompts_in_step >= RIDGE * e.ridge_tokens


def _prompts(e: Evidence) -> str | None:
    if not _prompts_fill(e):
        return None
    shares = (
        f"; queue and prefill are {e.shares[0] + e.shares[1]:.0%} of a request's time" if e.shares else ""
    )
    return (
        f"a mean step computes {e.prompts_in_step:.0f} prompt tokens, and from {e.ridge_tokens:.0f} on "
        f"computing takes longer than reading weights: answers wait for others' prompts{shares}"
    )


def _idle(e: Evidence) -> str | None:
    if (
        (e.running_mean or 0.0) >= BUSY
        or e.waiting_max
        or _slow(e.ttft_s, e.ttft_slo_s)
        or _slow(e.tpot_s, e.tpot_slo_s)
    ):
        return None
    return f"{e.running_mean:.1f} requests ran on average: latencies are those of an engine that has time"


def _prefill(e: Evidence) -> str | None:
    if e.shares is None or e.prefill_s is None or e.queue_s is None or e.prefill_s <= e.queue_s:
        return None
    late = _slow(e.ttft_s, e.ttft_slo_s)
    if e.shares[1] < SHARE_PREFILL and not late:
        return None
    beyond = f"; TTFT {seconds(e.ttft_s)} against an objective of {seconds(e.ttft_slo_s)}" if late else ""
    return f"prefill took {seconds(e.prefill_s)} on average, {e.shares[1]:.0%} of a request's time{beyond}"


def _host(e: Evidence) -> str | None:
    moved, computed = e.bandwidth_ratio, e.flops_ratio
    if moved is not None and computed is not None and max(moved, computed) < ROOF_FAR:
        return f"steps take {moved:.0%} of the bandwidth and {computed:.0%} of the operations of {_device(e)}"
    return None


def _compute(e: Evidence) -> str | None:
    moved, computed = e.bandwidth_ratio, e.flops_ratio
    if moved is None or computed is None or computed < ROOF_REACHED or computed <= moved:
        return None
    return f"{computed:.0%} of the operations and {moved:.0%} of the bandwidth of {_device(e)}"


def _decode(e: Evidence) -> str | None:
    if e.shares is None or e.shares[2] <= max(e.shares[0], e.shares[1]):
        return None
    words = [f"decoding is {e.shares[2]:.0%} of a request's time, {seconds(e.tpot_s)} a token"]
    if e.tpot_slo_s is not None and _slow(e.tpot_s, e.tpot_slo_s):
        words.append(f"against an objective of {seconds(e.tpot_slo_s)}")
    if e.bandwidth_ratio is not None:
        words.append(f"{e.bandwidth_ratio:.0%} of the bandwidth of {_device(e)}")
    return "; ".join(words)


_SHARES = ("queue_s", "prefill_s", "decode_s")
_GUIDE = "docs/diagnose.md"
RULES: tuple[Rule, ...] = (
    Rule("preemptions", "batch will not grow", Bound.KV_CAPACITY, ("preemptions",), "preemptions > 0",
         f"{_GUIDE}: fit", _preempted),
    Rule("kv-full", "batch will not grow", Bound.KV_CAPACITY, ("kv_usage_max_ratio", "waiting_max"),
         f"KV usage > {KV_FULL} and requests waiting", f"{_GUIDE}: fit", _kv_full),
    Rule("seats", "slow first token", Bound.SEATS, ("running_max", "max_num_seqs", "waiting_mean"),
         f"running >= {SEATS_TAKEN} max_num_seqs, waiting > 0, KV usage <= {KV_FULL}, no `prompts`",
         f"{_GUIDE}: fit", _seats),
    Rule("front", "slow first token", Bound.FRONT, ("client_ttft_s", "ttft_s"),
         f"the client's TTFT >= {BEFORE_ENGINE} times the engine's, and {LEAST_BEFORE_S * 1000:.0f} ms above",
         f"{_GUIDE}: split", _before_engine),
    Rule("low-traffic", "none", Bound.TRAFFIC, ("running_mean",),
         f"running < {BUSY} on average, none waiting, no objective missed", "a choice of ours", _idle),
    Rule("prompts", "slow first token", Bound.PREFILL, ("prompts_in_step",),
         "prompt tokens of a mean step >= the device's operations a byte", "roofline (docs/planner.md: Time)",
         _prompts),
    Rule("queue", "slow first token", Bound.QUEUE, _SHARES, f"queue >= {SHARE_QUEUED} of the time",
         f"{_GUIDE}: split", _queued),
    Rule("prefill", "slow first token", Bound.PREFILL, _SHARES,
         f"prefill above queue, and >= {SHARE_PREFILL} of the time or TTFT above its objective",
         f"{_GUIDE}: split", _prefill),
    Rule("host", "slow tokens per user", Bound.HOST, ("proven_device", "bandwidth_ratio", "flops_ratio"),
         f"bytes and operations both < {ROOF_FAR} of rates that are published, or given",
         f"{_GUIDE}: what binds", _host),
    Rule("compute", "slow tokens per user", Bound.COMPUTE, ("bandwidth_ratio", "flops_ratio"),
         f"operations >= {ROOF_REACHED} of the device, above bytes", f"{_GUIDE}: what binds", _compute),
    Rule("decode", "slow tokens per user", Bound.DECODE, _SHARES, "decode is the largest share",
         f"{_GUIDE}: split, what binds", _decode),
)  # fmt: skip


def look(evidence: Evidence) -> tuple[list[Finding], list[Rule]]:
    """What the rules saw, the one that binds first; and the rules that could not tell for want of inputs."""
    seen, silent = [], []
    for rule in RULES:
        if any(getattr(evidence, name) is None for name in rule.inputs):
            silent.append(rule)
        elif (words := rule.look(evidence)) is not None:
            seen.append(Finding(rule.id, rule.symptom, rule.bound, words))
    return seen, silent


def _slow(seconds: float | None, objective_s: float | None) -> bool:
    return seconds is not None and objective_s is not None and seconds > objective_s


def seconds(value: float | None) -> str:
    """A time as people read it."""
    if value is None:
        return "not seen"
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.1f} ms"


def _device(e: Evidence) -> str:
    if e.device is None:
        return "the device"
    return f"{e.device.source}, at most as assumed" if e.device.assumed else e.device.source
