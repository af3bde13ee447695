"""Models and questions for tests of the planner: the golden records, and small models made up from a seed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from serving.facts.load import gpus, kv_formats, latent_storage, overheads, weight_storage
from serving.planner.ask import Ask
from serving.planner.fit import Facts
from serving.planner.kv_layers import KvStorage, kv_storage
from serving.planner.model import model_shape
from serving.planner.plan import Plan, make_plan
from serving.planner.shape import ModelShape

GOLDEN = Path(__file__).parents[1] / "golden" / "planner_golden.json"
ARCHITECTURES = {
    "meta-llama/Meta-Llama-3.1-8B": "LlamaForCausalLM",
    "meta-llama/Meta-Llama-3.1-70B": "LlamaForCausalLM",
    "Qwen/Qwen3-0.6B": "Qwen3ForCausalLM",
    "Qwen/Qwen3-8B": "Qwen3ForCausalLM",
    "Qwen/Qwen3-32B": "Qwen3ForCausalLM",
    "mistralai/Mixtral-8x7B-v0.1": "MixtralForCausalLM",
    "Qwen/Qwen3-30B-A3B": "Qwen3MoeForCausalLM",
    "deepseek-ai/DeepSeek-V3": "DeepseekV3ForCausalLM",
    "openai/gpt-oss-20b": "GptOssForCausalLM",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "Llama4ForConditionalGeneration",
    "google/gemma-4-26B-A4B": "Gemma4ForConditionalGeneration",
    "Qwen/Qwen3.5-27B": "Qwen3_5ForConditionalGeneration",
    "nvidia/Nemotron-H-56B-Base-8K": "NemotronHForCausalLM",
    "Qwen/Qwen2.5-7B": "Qwen2ForCausalLM",
    "google/gemma-3-27b-it": "Gemma3ForConditionalGeneration",
}
MISSING: dict[str, dict[str, Any]] = {
    # Fields that the golden records leave out and a whole config.json has.
    "nvidia/Nemotron-H-56B-Base-8K": {"hybrid_override_pattern": "M-" * 44 + "*M-" * 10},
    "google/gemma-3-27b-it": {"num_attention_heads": 32, "intermediate_size": 21504, "vocab_size": 262208},
}
LLAMA_8B = "meta-llama/Meta-Llama-3.1-8B"


@cache
def golden() -> dict[str, Any]:
    """The golden file."""
    return json.loads(GOLDEN.read_text())


def record(name: str) -> dict[str, Any]:
    """The golden record of a model."""
    return next(row for row in golden()["models"] if row["model"] == name)


def config(name: str) -> dict[str, Any]:
    """A golden record's config with what a whole config.json says besides."""
    extra = MISSING.get(name, {})
    return {**record(name)["config"], **extra, "architectures": [ARCHITECTURES[name]]}


def shape(name: str = LLAMA_8B) -> ModelShape:
    """The shape of a golden model."""
    return model_shape(config(name), name, name)


def cache_of(name: str = "bf16", device: str = "cuda") -> KvStorage:
    """A storage of the cache by name."""
    return kv_storage(name, kv_formats(), latent_storage(), device=device)


def facts() -> Facts:
    """All tables."""
    return Facts(kv_formats(), latent_storage(), weight_storage(), gpus(), overheads())


def ask(model: ModelShape | None = None, **changes: Any) -> Ask:
    """A question about a model on one H100, with changes."""
    model = model or shape()
    gpu = gpus()["h100-sxm"]
    base: dict[str, Any] = {
        "shape": model,
        "weights": weight_storage()["bf16"],
        "cache": cache_of(),
        "version": "0.33.0",
        "gpu": gpu,
        "memory_bytes": gpu.memory_bytes,
        "max_model_len": 8192,
    }
    return Ask(**{**base, **changes})


def plan(model: ModelShape | None = None, **changes: Any) -> Plan:
    """The answer to such a question."""
    return make_plan(ask(model, **changes), overheads())


def random_config(random: Random) -> dict[str, Any]:
    """A config that a model could have: dense or a mixture, with windows or without."""
    kv = random.choice((1, 2, 4, 8))
    heads = kv * random.choice((1, 2, 4, 8))
    layers = random.randint(2, 40)
    common = {
        "hidden_size": 64 * random.randint(1, 64),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "head_dim": random.choice((64, 96, 128, 256)),
        "intermediate_size": 128 * random.randint(1, 64),
        "vocab_size": random.randint(1000, 200000),
        "max_position_embeddings": 131072,
        "tie_word_embeddings": random.random() < 0.5,
    }
    kind = random.randrange(4)
    if kind == 0:
        return {**common, "architectures": ["LlamaForCausalLM"]}
    if kind == 1:
        experts = random.choice((4, 8, 64))
        used = random.randint(1, 4)
        return {
            **common,
            "architectures": ["MixtralForCausalLM"],
            "num_local_experts": experts,
            "num_experts_per_tok": used,
        }
    if kind == 2:
        return {**common, "architectures": ["Gemma3ForCausalLM"], "sliding_window": random.randint(64, 4096)}
    linear = {"linear_num_value_heads": 16, "linear_num_key_heads": 8, "linear_key_head_dim": 64}
    linear |= {"linear_value_head_dim": 64, "linear_conv_kernel_dim": 4}
    return {**common, **linear, "architectures": ["Qwen3_5ForCausalLM"], "num_hidden_layers": 4 * layers}
