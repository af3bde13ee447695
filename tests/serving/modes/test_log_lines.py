"""Lines of vLLM 0.32.0's log, as it wrote them (shortened)."""

from __future__ import annotations

from serving.modes.log_lines import (
    batched_tokens,
    connector,
    engine_config,
    kernels,
    quantized_layers,
    speculation,
    world,
)

CONFIG = (
    "(EngineCore pid=1) INFO [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: "
    "model='/models/tiny-llama', speculative_config=None, dtype=torch.bfloat16, max_seq_len=2048, "
    "tensor_parallel_size=2, quantization=None, quantization_config=None, kv_cache_dtype=fp8, "
    "enable_chunked_prefill=True, pooler_config=None"
)
RANKS = [
    "(Worker pid=2) INFO [parallel_state.py:1906] world_size=2 rank=0 local_rank=0 backend=gloo",
    "(Worker pid=3) INFO [parallel_state.py:1906] world_size=2 rank=1 local_rank=1 backend=gloo",
    "(Worker pid=2) INFO [parallel_state.py:2350] rank 0 in world size 2 is assigned as DP rank 0, PP rank 0",
]


def test_a_key_of_the_config_is_found_by_its_whole_name() -> None:
    assert engine_config([CONFIG], "tensor_parallel_size") == "2"
    assert engine_config([CONFIG], "quantization") == "None"
    assert engine_config([CONFIG], "enable_chunked_prefill") == "True"
    assert engine_config([CONFIG], "model") == "/models/tiny-llama"
    assert engine_config([CONFIG], "parallel_size") is None
    assert engine_config([], "quantization") is None


def test_the_method_of_speculation_is_read() -> None:
    drafting = CONFIG.replace("None", "SpeculativeConfig(method='ngram', model=None, num_spec_tokens=4)", 1)
    assert speculation([drafting]) == "ngram"
    assert speculation([CONFIG]) is None


def test_layers_and_kernels_are_read() -> None:
    log = [
        "INFO [__init__.py:758] Selected CPUFp8BlockScaledMMKernel for Fp8PerBlockOnlineLinearMethod",
        "INFO [base_loader.py:151] Quantizing 120 layers of types: mlp.down_proj: 30 (from linear: "
        "fp8_per_block_static); self_attn.qkv_proj: 30 (from linear: fp8_per_block_static)",
    ]
    assert quantized_layers(log) == (120, "mlp.down_proj: 30; self_attn.qkv_proj: 30")
    assert kernels([*log, log[0]]) == ("CPUFp8BlockScaledMMKernel",)


def test_no_layers_are_zero_and_no_line_is_unknown() -> None:
    assert quantized_layers(["INFO [base_loader.py:151] Quantizing 0 layers of types: "]) == (0, "")
    assert quantized_layers(["INFO"]) is None


def test_every_rank_reports_itself_once() -> None:
    assert world(RANKS) == (frozenset({0, 1}), 2)
    assert world(["INFO [multiproc_executor.py:153] world_size=2, local_world_size=2"]) is None


def test_the_connector_and_the_step_are_read() -> None:
    made = "INFO [factory.py:62] Creating v1 connector with name: NixlPullConnector and engine_id: 4d2c"
    assert connector(["x", made]) == "NixlPullConnector"
    assert connector([]) is None
    step = "INFO [scheduler.py:307] Chunked prefill is enabled with max_num_batched_tokens=4096."
    assert batched_tokens([step]) == 4096
