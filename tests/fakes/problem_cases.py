"""For every row of the table of problems: deployments that have it, and neighbours that do not.

Facts of models are those of public config.json files; machines are made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from serving.modes.mode import Accelerator, EngineContext, EngineSlot, MachineFacts, ModelFacts

GIB = 1024**3
SMOLLM2 = ModelFacts("smollm2-135m", "LlamaForCausalLM", 30, 9, 3, 64, 49152, 8192, 2.0)
LLAMA_8B = ModelFacts("llama-8b", "LlamaForCausalLM", 32, 32, 8, 128, 128256, 131072, 2.0)
LLAMA_FP8 = replace(LLAMA_8B, name="llama-8b-fp8", quantization="fp8")
MIXTRAL = replace(LLAMA_8B, name="mixtral", architecture="MixtralForCausalLM", experts=8)
LLAMA_1B = ModelFacts("llama-1b", "LlamaForCausalLM", 16, 32, 8, 64, 128256, 131072, 2.0)
QWEN_SMALL = ModelFacts("qwen3-0.6b", "Qwen3ForCausalLM", 28, 16, 8, 128, 151936, 40960, 2.0)

BOX = MachineFacts((0, 1), 1, 20 * GIB, 8 * GIB)
CPU = EngineContext("cpu", "0.32.0", SMOLLM2, 2 * GIB, 2048, machine=BOX)
CPU_LLAMA = replace(CPU, model=LLAMA_8B)
FREE_GPU = Accelerator("H100", 80 * GIB, 79 * GIB)
GPUS = MachineFacts(tuple(range(16)), 1, 200 * GIB, 32 * GIB, (FREE_GPU,) * 4)
GPU = EngineContext("cuda", "0.33.0", LLAMA_8B, None, 8192, machine=GPUS)

Kinds = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A deployment with the problem, then one that differs a little and has it not."""

    row: str
    modes: Kinds
    context: EngineContext
    neighbour_modes: Kinds | None = None
    neighbour_context: EngineContext | None = None


def parallel(**fields: Any) -> dict[str, Any]:
    return {"kind": "parallel", **fields}


def speculative(method: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "speculative", "method": method, "tokens": 3, **fields}


def weights(name: str) -> dict[str, Any]:
    return {"kind": "quantized_weights", "format": name}


def kv(name: str) -> dict[str, Any]:
    return {"kind": "quantized_kv", "format": name}


def pair(connector: str = "nixl", engines: int = 1, **choice: Any) -> dict[str, Any]:
    return {"kind": "disaggregated", "prefill": engines, "connector": {"kind": connector, **choice}}


NGRAM = speculative("ngram", prompt_lookup_max=4)
DRAFT = speculative("draft_model", model="draft")
EAGLE3 = speculative("eagle3", model="draft")
LORA = {"kind": "lora", "adapters": {"sql": "adapters/sql"}}
NODES = {"nnodes": 2, "master_addr": "10.0.0.1", "tensor": 2}
HOSTS = {"tensor": 2, "hosts": ("10.0.0.1", "10.0.0.2")}
AT_HOME = replace(GPUS, interfaces={"127.0.0.1": "lo", "10.0.0.1": "eth0"})
NO_SHM = replace(GPUS, shared_memory_free_bytes=64 * 1024**2)
SLEEPING = replace(GPU, version="0.32.0", args={"--enable-sleep-mode": None})
EXPANDABLE = replace(GPU, inherited={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
DRAFTED = replace(GPU, draft=LLAMA_1B)
BUSY_GPU = FREE_GPU._replace(free_bytes=7 * GIB)

CASES = (
    Case("heads_not_divisible", [parallel(tensor=2)], CPU, [parallel(tensor=3)], replace(CPU, machine=None)),
    Case("kv_heads_replicated", [parallel(tensor=16)], GPU, [parallel(tensor=8)]),
    Case("stages_without_layers", [parallel(pipeline=33)], GPU, [parallel(pipeline=32)]),
    Case("pipeline_with_speculation", [parallel(pipeline=2), NGRAM], GPU, [parallel(pipeline=2), EAGLE3]),
    Case("experts_of_a_dense_model", [parallel(expert=True)], GPU, None, replace(GPU, model=MIXTRAL)),
    Case(
        "external_data_parallel_of_a_dense_model",
        [],
        replace(GPU, args={"--data-parallel-external-lb": None}),
        None,
        replace(GPU, model=MIXTRAL, args={"--data-parallel-external-lb": None}),
    ),
    Case(
        "pipeline_on_one_numa_node",
        [parallel(pipeline=2)],
        CPU,
        None,
        replace(CPU, machine=replace(BOX, numa_nodes=2)),
    ),
    Case("ray_on_cpu", [parallel(tensor=2, executor="ray")], CPU_LLAMA, [parallel(tensor=2, executor="mp")]),
    Case(
        "ray_with_nnodes",
        [parallel(executor="ray", **NODES)],
        GPU,
        [parallel(executor="mp", **NODES)],
    ),
    Case("headless_node", [parallel(node_rank=1, **NODES)], GPU, [parallel(node_rank=0, **NODES)]),
    Case(
        "nodes_of_several_engines",
        [parallel(**HOSTS)],
        replace(GPU, machine=AT_HOME, peers=(GPU,)),
        None,
        replace(GPU, machine=AT_HOME),
    ),
    Case(
        "address_not_here",
        [parallel(**HOSTS)],
        replace(GPU, machine=replace(GPUS, interfaces={"127.0.0.1": "lo", "10.0.0.9": "eth0"})),
        [parallel(tensor=2, nnodes=2, master_addr="first.example")],
        replace(GPU, machine=AT_HOME),
    ),
    Case("shared_memory_too_small", [parallel(tensor=2)], replace(GPU, machine=NO_SHM), [parallel()]),
    Case("kv_format_not_stored", [kv("int4_per_token_head")], CPU, [kv("fp8_e5m2")]),
    Case("kv_format_not_stored", [kv("turboquant_4bit_nc")], CPU, None, GPU),
    Case("kv_format_not_stored", [kv("int8_per_token_head")], CPU, [kv("fp8")]),
    Case("kv_e5m2_of_fp8_checkpoint", [kv("fp8_e5m2")], replace(GPU, model=LLAMA_FP8), [kv("fp8")]),
    Case("kv_without_scales", [kv("fp8")], CPU, [kv("fp8_e5m2")]),
    Case(
        "kv_without_scales",
        [kv("fp8")],
        replace(GPU, model=replace(LLAMA_FP8, kv_scales=False)),
        None,
        replace(GPU, model=replace(LLAMA_FP8, kv_scales=True)),
    ),
    Case("weights_without_kernel", [weights("fp8")], CPU, [weights("fp8_per_block")]),
    Case("weights_without_kernel", [weights("mxfp8")], CPU, None, GPU),
    Case(
        "weights_of_experts_only",
        [weights("int8_per_channel_weight_only")],
        CPU,
        None,
        replace(GPU, model=MIXTRAL),
    ),
    Case("weights_unusably_slow", [weights("fp8_per_channel")], CPU, None, GPU),
    Case(
        "weights_against_checkpoint",
        [weights("fp8_per_block")],
        replace(GPU, model=LLAMA_FP8),
        [weights("fp8")],
    ),
    Case("weights_against_checkpoint", [weights("checkpoint")], GPU, None, replace(GPU, model=LLAMA_FP8)),
    Case("lora_with_speculation", [LORA, NGRAM], GPU, [LORA]),
    Case(
        "medusa_is_gone",
        [speculative("medusa", model="heads")],
        GPU,
        None,
        replace(GPU, version="0.32.0"),
    ),
    Case("suffix_needs_package", [speculative("suffix")], GPU, [NGRAM]),
    Case("speculation_not_seen_on_cpu", [EAGLE3], CPU, [NGRAM]),
    Case("draft_vocabulary_differs", [DRAFT], replace(GPU, draft=QWEN_SMALL), None, DRAFTED),
    Case(
        "draft_tensor_differs",
        [parallel(tensor=4), DRAFT | {"draft_tensor": 2}],
        DRAFTED,
        [parallel(tensor=4), DRAFT | {"draft_tensor": 4}],
    ),
    Case(
        "draft_heads_not_divisible",
        [parallel(tensor=4), DRAFT],
        replace(GPU, draft=SMOLLM2),
        [parallel(tensor=4), DRAFT | {"draft_tensor": 1}],
    ),
    Case(
        "draft_longer_than_it_can",
        [DRAFT | {"draft_max_model_len": 9000}],
        DRAFTED,
        [DRAFT | {"draft_max_model_len": 8000}],
    ),
    Case(
        "draft_shorter_than_context",
        [DRAFT],
        replace(DRAFTED, draft=replace(LLAMA_1B, max_position=4096)),
        None,
        DRAFTED,
    ),
    Case("draft_as_large_as_the_model", [DRAFT], replace(GPU, draft=LLAMA_8B), None, DRAFTED),
    Case("connector_not_on_device", [pair("lmcache")], CPU, [pair("nixl")]),
    Case(
        "connector_settings",
        [pair("offloading")],
        GPU,
        [pair("offloading", extra={"cpu_bytes_to_use": 10 * GIB})],
    ),
    Case(
        "connector_settings",
        [pair("mooncake", extra={"mooncake_protocol": "udp"})],
        GPU,
        [pair("mooncake", extra={"mooncake_protocol": "tcp"})],
    ),
    Case(
        "connector_within_one_engine",
        [pair("offloading", extra={"cpu_bytes_to_use": GIB})],
        GPU,
        [pair("nixl")],
    ),
    Case("connector_with_sleep_mode", [pair()], SLEEPING, None, replace(SLEEPING, version="0.33.0")),
    Case("connector_with_sleep_mode", [pair("nixl_push")], replace(SLEEPING, version="0.33.0"), None, GPU),
    Case(
        "connector_with_expandable_segments",
        [pair()],
        EXPANDABLE,
        None,
        replace(EXPANDABLE, args={"--enable-cumem-allocator": None}),
    ),
    Case(
        "engines_differ",
        [pair()],
        replace(GPU, peers=(replace(GPU, version="0.32.0", slot=EngineSlot("decode-0", "decode")),)),
        None,
        replace(GPU, peers=(replace(GPU, slot=EngineSlot("decode-0", "decode")),)),
    ),
    Case("load_failure_recompute", [pair(load_failure="recompute")], GPU, [pair(load_failure="fail")]),
    Case(
        "longer_than_the_model", [], replace(CPU, max_model_len=8193), None, replace(CPU, max_model_len=8192)
    ),
    Case(
        "gpu_memory_not_free",
        [],
        replace(GPU, machine=replace(GPUS, accelerators=(BUSY_GPU,))),
        None,
        replace(GPU, machine=replace(GPUS, accelerators=(BUSY_GPU,)), gpu_memory_utilization=0.08),
    ),
    Case(
        "memory_not_free",
        [],
        replace(CPU, kv_cache_bytes=21 * GIB),
        None,
        replace(CPU, kv_cache_bytes=19 * GIB),
    ),
    Case(
        "step_shorter_than_a_prompt",
        [{"kind": "chunked_prefill", "enabled": False, "max_batched_tokens": 1024}],
        CPU,
        [{"kind": "chunked_prefill", "max_batched_tokens": 1024}],
    ),
)
