"""What the modes' tests stand on: the embedded model on a CPU."""

from __future__ import annotations

import pytest

from serving.modes.mode import EngineContext, MachineFacts, ModelFacts

GIB = 1024**3


@pytest.fixture
def smollm2() -> ModelFacts:
    return ModelFacts(
        name="smollm2-135m",
        architecture="LlamaForCausalLM",
        layers=30,
        attention_heads=9,
        kv_heads=3,
        head_dim=64,
        vocab_size=49152,
        max_position=8192,
        weight_bytes_per_param=2.0,
    )


@pytest.fixture
def small_machine() -> MachineFacts:
    return MachineFacts(
        cores=(0, 1), numa_nodes=1, memory_available_bytes=20 * GIB, shared_memory_free_bytes=8 * GIB
    )


@pytest.fixture
def on_cpu(smollm2: ModelFacts) -> EngineContext:
    return EngineContext(
        device="cpu", version="0.32.0", model=smollm2, kv_cache_bytes=2147483648, max_model_len=2048
    )
