"""What does not go with KV connectors: devices, other settings, engines that differ.

Owns: these rows. Knows nothing about protocols: the connectors do.
"""

from __future__ import annotations

from collections.abc import Iterator

from serving.modes.disaggregated import Disaggregated
from serving.modes.mode import EngineContext
from serving.modes.problems.row import Asked, Hit, Row, before


def _device(asked: Asked) -> Iterator[Hit]:
    found, device = asked.find(Disaggregated), asked.context.device
    if found and device not in found[1].connector.connector.works_on:
        what = f"connector {found[1].connector.kind} has not been seen to work on {device}"
        yield Hit(what=what, fix="use connector: {kind: nixl}", mode=found[0], key="connector.kind")


def _extra(asked: Asked) -> Iterator[Hit]:
    found = asked.find(Disaggregated)
    if found:
        choice = found[1].connector
        for what, fix in choice.connector.problems(choice.extra):
            yield Hit(what=what, fix=fix, mode=found[0], key="connector.extra")


def _not_between(asked: Asked) -> Iterator[Hit]:
    found = asked.find(Disaggregated)
    if found and not found[1].connector.connector.between_engines:
        what = f"connector {found[1].connector.kind} moves nothing from one engine to another"
        yield Hit(
            what=what, fix="use connector: {kind: nixl} for two legs", mode=found[0], key="connector.kind"
        )


def _sleep(asked: Asked) -> Iterator[Hit]:
    found, context = asked.find(Disaggregated), asked.context
    if found and "--enable-sleep-mode" in context.args:
        connector = found[1].connector.connector
        if before(context.version, "0.33") or not connector.sleeps:
            what = f"sleep mode with connector {connector.kind} on vLLM {context.version}"
            yield Hit(what=what, fix="leave enable_sleep_mode out", mode=found[0], key="connector.kind")


def _expandable(asked: Asked) -> Iterator[Hit]:
    found, context = asked.find(Disaggregated), asked.context
    if not found or "--enable-cumem-allocator" in context.args:
        return
    for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        if "expandable_segments:True" in context.inherited.get(name, ""):
            fix = f"unset expandable_segments in {name}"
            yield Hit(what=f"{name} has expandable_segments:True", fix=fix, mode=found[0])


def _engines_differ(asked: Asked) -> Iterator[Hit]:
    found = asked.find(Disaggregated)
    if not found:
        return
    for peer in asked.context.peers:
        differing = list(_differences(asked.context, peer))
        if differing:
            here, there = asked.context.slot.name, peer.slot.name
            what = f"engines {here} and {there} differ in {', '.join(differing)}"
            yield Hit(what=what, fix="start both from one revision of the deployment", mode=found[0])


def _differences(one: EngineContext, other: EngineContext) -> Iterator[str]:
    pairs = {
        "vLLM's version": (one.version, other.version),
        "the device": (one.device, other.device),
        "the model": (one.model, other.model),
        "the draft": (one.draft, other.draft),
        "the modes": (one.kinds, other.kinds),
        "max_model_len": (one.max_model_len, other.max_model_len),
        "other flags": (dict(one.args), dict(other.args)),
    }
    return (name for name, (left, right) in pairs.items() if left != right)


def _recompute(asked: Asked) -> Iterator[Hit]:
    found = asked.find(Disaggregated)
    if found and found[1].connector.load_failure == "recompute":
        what = "load_failure: recompute is reported to give wrong output"
        fix = "use fail: the gateway may send the request again"
        yield Hit(what=what, fix=fix, mode=found[0], key="connector.load_failure")


ROWS = (
    Row(
        "connector_not_on_device",
        "a connector on a device where it was not run",
        "error",
        "connectors register the device's memory with a transport of its own",
        "measured: NIXL on CPU; the others read in vLLM 0.32.0",
        _device,
    ),
    Row(
        "connector_settings",
        "settings that a connector lacks or cannot take",
        "error",
        "the engine stops at start",
        "read: vLLM 0.32.0 v1/kv_offload/cpu/spec.py, mooncake_connector.py, example_connector.py",
        _extra,
    ),
    Row(
        "connector_within_one_engine",
        "a connector that does not reach another engine",
        "warning",
        "it is a second tier of one engine's own cache: every request is computed by one engine",
        "read: vLLM 0.32.0 offloading_connector.py",
        _not_between,
    ),
    Row(
        "connector_with_sleep_mode",
        "a connector with sleep mode",
        "error",
        "sleeping frees the memory that the connector has registered",
        "read: vLLM 0.33.0 config/vllm.py supports_sleep_mode; 0.32.0 has no such support",
        _sleep,
    ),
    Row(
        "connector_with_expandable_segments",
        "a connector with PyTorch's expandable segments",
        "error",
        "memory that was registered with a transport is mapped elsewhere, and transfers fail",
        "read: vLLM 0.32.0 config/vllm.py _verify_kv_transfer_compat",
        _expandable,
    ),
    Row(
        "engines_differ",
        "prefilling and decoding engines that differ",
        "error",
        "blocks only mean the same to engines alike in version, model, KV dtype, backend and draft",
        "read: vLLM 0.32.0 nixl/base_worker.py (compatibility hash); vLLM #43523",
        _engines_differ,
    ),
    Row(
        "load_failure_recompute",
        "recomputing blocks that did not come",
        "warning",
        "the local prefill after a failed transfer may answer wrongly",
        "vLLM #49250",
        _recompute,
    ),
)
