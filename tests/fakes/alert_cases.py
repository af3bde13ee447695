"""What the alerts are to do with samples made up by hand: `fires` by the words that are to be read.

Owns: the cases. Knows nothing about the rules under test: labels, values and times are worked out by hand.
Samples are a minute apart, as promtool writes them: `0+2x30` begins at 0 and adds 2, thirty times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

ENGINE = 'deployment="demo", revision="main", role="any", instance="http://127.0.0.1:9", job="engine"'
VLLM = f'{ENGINE}, engine="0", model_name="m"'
SECOND = VLLM.replace('engine="0"', 'engine="1"')
BACKEND = 'deployment="demo", revision="main", role="any", backend="http://127.0.0.1:9", job="gateway"'
GATEWAY = 'deployment="demo", instance="127.0.0.1:8001", job="gateway"'
AT_ENGINE = {"deployment": "demo", "revision": "main", "role": "any", "instance": "http://127.0.0.1:9"}
AT_BACKEND = {"deployment": "demo", "revision": "main", "role": "any", "backend": "http://127.0.0.1:9"}
DEMO = {"deployment": "demo"}
CRITICAL, WARNING = {"severity": "critical"}, {"severity": "warning"}


@dataclass(frozen=True)
class Case:
    """An alert, samples, and what fires at a time."""

    alert: str
    says: str
    samples: Mapping[str, str]
    at: str
    fires: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By summary, the labels."""


def _nothing_ready() -> Iterator[Case]:
    name, ready = "TeapotNothingReady", "teapot_gateway_backend_ready"
    other = BACKEND.replace(":9", ":8")
    fires = {"demo: no engine may be given requests": {**DEMO, **CRITICAL}}
    yield Case(name, "no engine", {f"{ready}{{{BACKEND}}}": "1x3 0x20"}, "10m", fires)
    prefills = {f"{ready}{{{BACKEND}}}": "0x20", f"{ready}{{{other.replace('any', 'prefill')}}}": "1x20"}
    yield Case(name, "an engine that only prefills answers nobody", prefills, "10m", fires)
    one = {f"{ready}{{{BACKEND}}}": "0x20", f"{ready}{{{other}}}": "1x20"}
    yield Case(name, "one of two is enough", one, "10m")
    yield Case(name, "not yet for five minutes", {f"{ready}{{{BACKEND}}}": "1x5 0x20"}, "10m")
    yield Case(name, "no data", {}, "10m")


def _refuses() -> Iterator[Case]:
    name = "TeapotGatewayRefuses"
    of = f'{BACKEND}, path="/v1/completions"'
    requests = f'teapot_gateway_requests_total{{{of}, outcome="%s", code="%s", traffic="client"}}'
    ok, full, limited = (
        requests % ("ok", "200"),
        requests % ("rejected", "503"),
        requests % ("rejected", "429"),
    )
    fires = {"demo: 10% of the requests that ended were refused": {**DEMO, **WARNING}}
    yield Case(name, "the queue is full", {ok: "0+18x20", full: "0+2x20"}, "15m", fires)
    yield Case(name, "a caller over its rate is not our doing", {ok: "0+18x20", limited: "0+2x20"}, "15m")
    yield Case(name, "one refusal of few requests", {ok: "0+1x20", full: "0x9 1x11"}, "15m")
    yield Case(name, "too few of many", {ok: "0+1000x20", full: "0+2x20"}, "15m")
    yield Case(name, "it is over", {ok: "0+18x40", full: "0+2x10 20x30"}, "30m")
    yield Case(name, "no data", {}, "15m")


def _queue() -> Iterator[Case]:
    name = "TeapotQueueByCapacity"
    waiting = f'vllm:num_requests_waiting_by_reason{{{VLLM}, reason="%s"}}'
    capacity = waiting % "capacity"
    fires = {
        "demo: 4 or more requests wait for capacity at http://127.0.0.1:9 (main, any)": {
            **AT_ENGINE,
            **WARNING,
        }
    }
    yield Case(name, "it was never empty", {capacity: "0x3 9 4 6 4 6 4 6 4 6 4 6 4 6 4"}, "14m", fires)
    ranks = {capacity: "3x20", capacity.replace('engine="0"', 'engine="1"'): "1x20"}
    yield Case(name, "the ranks of an engine count together", ranks, "10m", fires)
    yield Case(name, "it was empty in between", {capacity: "9 9 9 0 9 9 9 0 9 9 9 0 9 9 9 0 9"}, "15m")
    yield Case(name, "deferred is not capacity", {waiting % "deferred": "4x20"}, "15m")
    yield Case(name, "no data", {}, "15m")


def _kv_cache() -> Iterator[Case]:
    name = "TeapotKvCacheFull"
    usage, lost = f"vllm:kv_cache_usage_perc{{{VLLM}}}", f"vllm:num_preemptions_total{{{VLLM}}}"
    says = "demo: the KV cache of http://127.0.0.1:9 reaches 97% and running requests lose their blocks"
    fires = {says: {**AT_ENGINE, **WARNING}}
    yield Case(name, "full, and requests lose their blocks", {usage: "0.97x20", lost: "0+1x20"}, "12m", fires)
    rank = {usage: "0.2x20", f"vllm:kv_cache_usage_perc{{{SECOND}}}": "0.97x20", lost: "0+1x20"}
    yield Case(name, "the fullest rank counts", rank, "12m", fires)
    yield Case(name, "full only", {usage: "0.97x20", lost: "7x20"}, "12m")
    yield Case(name, "preemptions of a half empty cache", {usage: "0.5x20", lost: "0+1x20"}, "12m")
    yield Case(name, "one preemption", {usage: "0.97x20", lost: "0x4 1x20"}, "12m")
    yield Case(name, "no data", {}, "12m")


def _failures() -> Iterator[Case]:
    failures = f"teapot_engine_failures_total{{{BACKEND}}}"
    says = "demo: failures of http://127.0.0.1:9 (main) in {}: {}"
    once = {says.format("15 minutes", 1): {**AT_BACKEND, **WARNING}}
    yield Case("TeapotEngineFailed", "once", {failures: "0x5 1x30"}, "8m", once)
    yield Case("TeapotEngineFailed", "long ago", {failures: "0x5 1x30"}, "30m")
    yield Case("TeapotEngineFailed", "the gateway was started again", {failures: "3x5 0x30"}, "8m")
    yield Case("TeapotEngineFailed", "no data", {}, "8m")
    name = "TeapotEngineKeepsFailing"
    thrice = {says.format("an hour", 3): {**AT_BACKEND, **CRITICAL}}
    ready = f"teapot_gateway_backend_ready{{{BACKEND}}}"
    often = {failures: "0x5 1x9 2x9 3x60", ready: "1x5 0x60"}
    yield Case(name, "three times", often, "40m", thrice)
    yield Case(name, "three times, and it came back each time", {**often, ready: "0x24 1x60"}, "40m", thrice)
    yield Case(name, "it has been ready for half an hour since", {**often, ready: "0x24 1x60"}, "56m")
    yield Case(name, "twice", {failures: "0x5 1x9 2x30", ready: "0x60"}, "40m")
    apart = {failures: "0x5 1x9", failures.replace(":9", ":8"): "0x5 2x30", ready: "0x60"}
    yield Case(name, "three times, but not the same engine", apart, "40m")
    yield Case(name, "no data", {}, "40m")


def _no_tokens() -> Iterator[Case]:
    name = "TeapotNoTokens"
    running, tokens = f"vllm:num_requests_running{{{VLLM}}}", f"vllm:generation_tokens_total{{{VLLM}}}"
    usage = f"vllm:kv_cache_usage_perc{{{VLLM}}}"
    says = "demo: http://127.0.0.1:9 (main) runs 2 requests and has made no token for 5 minutes"
    fires = {says: {**AT_ENGINE, **CRITICAL}}
    stuck = {running: "2x20", tokens: "0+50x4 200x16", usage: "0.1+0.01x4 0.14x16"}
    yield Case(name, "it hangs", stuck, "10m", fires)
    yield Case(name, "not yet for five minutes", stuck, "8m")
    yield Case(name, "it makes tokens", {**stuck, tokens: "0+1x20"}, "15m")
    yield Case(name, "it reads a long prompt", {**stuck, usage: "0.1+0.01x20"}, "15m")
    yield Case(name, "it has nothing to do", {**stuck, running: "2x4 0x16"}, "15m")
    yield Case(name, "no data", {}, "15m")


def _mode() -> Iterator[Case]:
    name, mode = "TeapotModeNotInEffect", 'teapot_mode_in_effect{deployment="demo", kind="%s", job="gateway"}'
    says = "demo: speculative was asked for and is not in effect"
    fires = {says: {**DEMO, "kind": "speculative", **WARNING}}
    yield Case(name, "one is not", {mode % "speculative": "0x9", mode % "lora": "1x9"}, "5m", fires)
    yield Case(name, "all are", {mode % "speculative": "1x9", mode % "lora": "1x9"}, "5m")
    yield Case(name, "it is not known yet", {mode % "lora": "1x9"}, "5m")
    yield Case(name, "no data", {}, "5m")


def _fallback() -> Iterator[Case]:
    name = "TeapotPrefillFallback"
    of = 'deployment="demo", revision="main", job="gateway"'
    legs = f"teapot_gateway_prefill_leg_seconds_count{{{of}}}"
    alone = f'teapot_gateway_fallbacks_total{{{of}, reason="%s"}}'
    failed, lost = alone % "prefill_failed", alone % "transfer_failed"
    says = "demo: 10% of the divided requests of main were answered by one engine alone"
    fires = {says: {**DEMO, "revision": "main", **WARNING}}
    yield Case(name, "for both reasons", {legs: "0+20x30", failed: "0+1x30", lost: "0+1x30"}, "25m", fires)
    yield Case(name, "rarely", {legs: "0+100x30", failed: "0+2x30"}, "25m")
    yield Case(name, "a few requests", {legs: "0x20 8x10", failed: "0x20 4x10"}, "29m")
    yield Case(name, "never, and its counter is not born", {legs: "0+20x30"}, "25m")
    yield Case(name, "no data", {}, "25m")


def _drafts() -> Iterator[Case]:
    name = "TeapotDraftsWasted"
    drafts, accepted = (
        f"vllm:spec_decode_num_{what}_total{{{VLLM}}}" for what in ("drafts", "accepted_tokens")
    )
    says = "demo: with its drafts main makes only 1.05 tokens a step"
    fires = {says: {**DEMO, "revision": "main", **WARNING}}
    yield Case(
        name, "one of twenty drafts has a token", {drafts: "0+100x60", accepted: "0+5x60"}, "50m", fires
    )
    yield Case(
        name, "none has", {drafts: "0+100x60", accepted: "0x60"}, "50m", {says.replace("5", "0"): fires[says]}
    )
    yield Case(name, "one of five", {drafts: "0+100x60", accepted: "0+20x60"}, "50m")
    yield Case(name, "hardly any drafts", {drafts: "0+10x60", accepted: "0x60"}, "50m")
    yield Case(name, "other prompts for a while", {drafts: "0+100x60", accepted: "0+60x30 1800x30"}, "60m")
    yield Case(name, "no data", {}, "50m")


def _down() -> Iterator[Case]:
    name, gateway = "TeapotGatewayDown", f"up{{{GATEWAY}}}"
    says = "demo: the gateway at 127.0.0.1:8001 does not answer Prometheus"
    labels = {**DEMO, "instance": "127.0.0.1:8001", "job": "gateway"}
    yield Case(name, "it does not answer", {gateway: "1x3 0x9"}, "6m", {says: {**labels, **CRITICAL}})
    yield Case(name, "it missed one scrape", {gateway: "1x3 0 1x9"}, "6m")
    yield Case(name, "no data", {}, "6m")
    name, engine = "TeapotTargetDown", f"up{{{ENGINE}}}"
    says = "demo: the engine at http://127.0.0.1:9 does not answer Prometheus"
    fires = {says: {**AT_ENGINE, "job": "engine", **WARNING}}
    yield Case(name, "an engine does not answer", {engine: "1x3 0x20"}, "15m", fires)
    yield Case(name, "an engine is starting", {engine: "0x8 1x20"}, "15m")
    yield Case(name, "a load generator is done", {engine.replace('"engine"', '"load"'): "0x20"}, "15m")
    yield Case(name, "it is somebody else's", {'up{job="node", instance="127.0.0.1:7"}': "0x20"}, "15m")
    yield Case(name, "no data", {}, "15m")


def _gone() -> Iterator[Case]:
    name, gateway, engine = "TeapotGatewayGone", f"up{{{GATEWAY}}}", f"up{{{ENGINE}}}"
    fires = {"demo: its gateway is no longer a target of Prometheus": {**DEMO, **WARNING}}
    other = gateway.replace("demo", "other")
    yield Case(name, "it was one", {gateway: "1x5 stale", other: "1x60"}, "20m", fires)
    yield Case(name, "it does not answer but is one", {gateway: "1x5 0x60"}, "20m")
    yield Case(name, "engines without a gateway", {engine: "1x60"}, "20m")
    yield Case(name, "it is long gone", {gateway: "1x5 stale"}, "370m")
    yield Case(name, "no data", {}, "20m")
    name = "TeapotNothingWatched"
    fires = {"Prometheus has neither a gateway nor an engine among its targets": WARNING}
    yield Case(name, "only itself", {'up{job="prometheus"}': "1x60"}, "10m", fires)
    yield Case(name, "no data", {}, "10m", fires)
    yield Case(name, "a gateway, though it is down", {gateway: "0x60"}, "10m")
    yield Case(name, "engines alone", {engine: "1x60"}, "10m")


def _blind() -> Iterator[Case]:
    name = "TeapotObjectivesBlind"
    finished = f'vllm:request_success_total{{{VLLM}, finished_reason="length"}}'
    judged = f'teapot_slo_requests_total{{{BACKEND}, slo="availability", met="true"}}'
    up = {f"up{{{GATEWAY}}}": "1x60"}
    says = "demo: engines finished 75 requests in 15 minutes and the gateway judged none"
    fires = {says: {**DEMO, **WARNING}}
    yield Case(name, "none judged", {**up, finished: "0+5x60", judged: "9x60"}, "40m", fires)
    yield Case(name, "its counter is not there", {**up, finished: "0+5x60"}, "40m", fires)
    yield Case(name, "some judged", {**up, finished: "0+5x60", judged: "0+1x60"}, "40m")
    yield Case(name, "hardly any traffic", {**up, finished: "0x20 9x40"}, "40m")
    yield Case(name, "there is no gateway to judge", {finished: "0+5x60"}, "40m")
    yield Case(name, "no data", {}, "40m")


CASES: tuple[Case, ...] = (
    *_nothing_ready(), *_refuses(), *_queue(), *_kv_cache(), *_failures(), *_no_tokens(),
    *_mode(), *_fallback(), *_drafts(), *_down(), *_gone(), *_blind(),
)  # fmt: skip
