"""What layers keep, against the golden records."""

from __future__ import annotations

import pytest
from fakes.planning import ARCHITECTURES, cache_of, config, record, shape

from serving.errors import UsageError
from serving.planner.kv_layers import boundary, kv_bytes, token_bytes
from serving.planner.model import model_shape
from serving.planner.shape import AttentionKv, LatentKv


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_bytes_of_a_token_are_those_of_the_golden_record_to_the_unit(name: str) -> None:
    found, wanted = kv_bytes(shape(name), cache_of()), record(name)
    if "kv_bytes_per_token_bf16" in wanted:
        assert found.growing_per_token == wanted["kv_bytes_per_token_bf16"]
    if "kv_bytes_per_token_full" in wanted:
        assert found.growing_per_token == wanted["kv_bytes_per_token_full"]
        assert found.window_per_token == wanted["kv_bytes_per_token_sliding"]
    if "kv_bytes_per_token_bf16_all" in wanted:
        assert found.growing_per_token + found.window_per_token == wanted["kv_bytes_per_token_bf16_all"]
    assert found.states == wanted.get("state_bytes_per_request", 0)


def test_latents_have_a_format_of_their_own() -> None:
    name = "deepseek-ai/DeepSeek-V3"
    found = kv_bytes(shape(name), cache_of("fp8_ds_mla"))
    assert found.growing_per_token == record(name)["kv_bytes_per_token_fp8_ds_mla"]


def test_latents_are_held_by_every_rank_and_heads_are_shared() -> None:
    assert token_bytes(LatentKv(512, 64), cache_of(), tensor=8) == 1152
    assert token_bytes(AttentionKv(8, 128), cache_of(), tensor=4) == 1024
    assert token_bytes(AttentionKv(2, 128), cache_of(), tensor=8) == 512  # one head, on four ranks each


# One token and layer of 8 KV heads of 128: the facts' own list.
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("bf16", 4096), ("fp8", 2048), ("int8_per_token_head", 2112), ("fp8_per_token_head", 2112),
        ("int4_per_token_head", 1088), ("nvfp4", 1152), ("turboquant_k8v4", 1568),
        ("turboquant_4bit_nc", 1072), ("turboquant_k3v4_nc", 944), ("turboquant_3bit_nc", 816),
    ],
)  # fmt: skip
def test_every_format_costs_its_scales_too(name: str, size: int) -> None:
    assert token_bytes(AttentionKv(8, 128), cache_of(name)) == size


# Llama-8B as a whole, whose first and last two layers stay at 16 bits.
@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("turboquant_k8v4", 2.17), ("turboquant_4bit_nc", 2.82),
        ("turboquant_k3v4_nc", 3.06), ("turboquant_3bit_nc", 3.34),
    ],
)  # fmt: skip
def test_boundary_layers_keep_sixteen_bits(name: str, times: float) -> None:
    assert boundary(shape(), cache_of(name)) == {0, 1, 30, 31}
    assert round(131072 / kv_bytes(shape(), cache_of(name)).growing_per_token, 2) == times


def test_models_with_states_spare_no_layers() -> None:
    assert boundary(shape("Qwen/Qwen3.5-27B"), cache_of("turboquant_4bit_nc")) == frozenset()


def test_a_cpu_stores_every_quantized_format_as_one_byte() -> None:
    # Measured: int4_per_token_head has the 186,368 tokens of fp8.
    layer = AttentionKv(3, 64)
    assert token_bytes(layer, cache_of("int4_per_token_head", "cpu")) == token_bytes(
        layer, cache_of("fp8", "cpu")
    )


def test_a_request_grows_until_its_windows_are_full() -> None:
    found = kv_bytes(shape("openai/gpt-oss-20b"), cache_of())
    assert found.at(128) == 128 * 49152
    assert found.at(1000) == 1000 * 24576 + 128 * 24576


def test_a_wrong_format_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="--kv-format: 'fp9' is no format of a KV cache; did you mean 'fp8'"):
        cache_of("fp9")
    v3 = model_shape(config("deepseek-ai/DeepSeek-V3"), "v3")
    with pytest.raises(UsageError, match="cannot hold the latents"):
        kv_bytes(v3, cache_of("int4_per_token_head"))
