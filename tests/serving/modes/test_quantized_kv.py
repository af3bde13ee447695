"""A quantized KV cache, judged from what vLLM 0.32.0 reported on a CPU with 2 GiB and SmolLM2."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from serving.modes.mode import EngineContext, KvBlock, ModelFacts, Observation
from serving.modes.quantized_kv import QuantizedKv


def seen(
    dtype: str, blocks: int | None, *, memory: str = "2147483648", log: tuple[str, ...] = ()
) -> Observation:
    labels = {"cache_dtype": dtype, "block_size": "128", "kv_cache_memory_bytes": memory}
    return Observation({}, {}, labels | {"num_gpu_blocks": str(blocks)}, log)


def test_it_becomes_one_flag(on_cpu: EngineContext) -> None:
    assert QuantizedKv(format="fp8").flags(on_cpu) == (("--kv-cache-dtype", "fp8"),)


def test_a_misspelt_format_is_suggested() -> None:
    with pytest.raises(ValidationError, match="did you mean 'fp8_e5m2'"):
        QuantizedKv(format="fp8_e5m3")


@pytest.mark.parametrize("name", ["bfloat16", "auto"])
def test_what_quantizes_nothing_is_no_format(name: str) -> None:
    with pytest.raises(ValidationError, match="unknown KV cache format"):
        QuantizedKv(format=name)


@pytest.mark.parametrize("name", ["fp8", "fp8_e4m3", "fp8_e5m2"])
def test_fp8_is_shown_by_twice_the_blocks_of_bf16(name: str, on_cpu: EngineContext) -> None:
    # 1,456 blocks = 186,368 tokens, where bf16 had 728 blocks.
    verdict = QuantizedKv(format=name).verdict(seen(name, 1456), on_cpu)
    assert verdict.in_effect is True
    assert "186,368 tokens in 2.00 GiB, 1.00 bytes an element" in verdict.evidence


def test_the_blocks_of_bf16_are_not_fp8(on_cpu: EngineContext) -> None:
    assert QuantizedKv(format="fp8").verdict(seen("fp8", 728), on_cpu).in_effect is False


def test_int4_stored_as_one_byte_is_not_in_effect(on_cpu: EngineContext) -> None:
    # vLLM 0.32.0 on CPU accepts the flag and reports 186,368 tokens. By hand: 30 * 3 * (32 + 32 + 8) = 6,480
    # bytes a token, 2,589 blocks, 331,392 tokens.
    verdict = QuantizedKv(format="int4_per_token_head").verdict(seen("int4_per_token_head", 1456), on_cpu)
    assert verdict.in_effect is False
    assert "186,368 tokens in 2.00 GiB, 1.00 bytes an element" in verdict.evidence
    assert "331,392 (6,480 bytes a token)" in verdict.evidence


def test_turboquant_stored_as_one_byte_is_not_in_effect(on_cpu: EngineContext) -> None:
    # vLLM 0.32.0 on CPU: 26 layers at 1 byte and 4 at bf16, 1,285 blocks, 164,480 tokens.
    assert (
        QuantizedKv(format="turboquant_4bit_nc").verdict(seen("turboquant_4bit_nc", 1285), on_cpu).in_effect
        is False
    )


def test_a_format_that_spares_all_layers_of_a_small_model_is_not_in_effect(
    on_cpu: EngineContext, smollm2: ModelFacts
) -> None:
    # It keeps two layers at each end. vLLM 0.32.0 on CPU, 4 layers, 4 KV heads of 64, 1 GiB: 2,048 blocks,
    # which is what bf16 has (1 GiB / 4,096 bytes a token), so the numbers alone agree with the format.
    tiny = replace(on_cpu, model=replace(smollm2, layers=4, attention_heads=8, kv_heads=4))
    verdict = QuantizedKv(format="turboquant_4bit_nc").verdict(
        seen("turboquant_4bit_nc", 2048, memory=str(2**30)), tiny
    )
    assert verdict.in_effect is False
    assert "leaves all layers of this model at 16 bits" in verdict.evidence


def test_another_dtype_in_the_label_is_not_in_effect(on_cpu: EngineContext) -> None:
    verdict = QuantizedKv(format="fp8").verdict(seen("auto", 728), on_cpu)
    assert (verdict.in_effect, verdict.evidence) == (False, "the engine says cache_dtype=auto")


def test_a_given_number_of_blocks_shows_nothing(on_cpu: EngineContext) -> None:
    given = replace(on_cpu, args={"--num-gpu-blocks-override": "100"})
    verdict = QuantizedKv(format="fp8").verdict(seen("fp8", 100), given)
    assert verdict.in_effect is None
    assert "--num-gpu-blocks-override says how many blocks there are" in verdict.evidence


def test_unknown_blocks_show_nothing(on_cpu: EngineContext) -> None:
    verdict = QuantizedKv(format="fp8").verdict(seen("fp8", None), on_cpu)
    assert verdict.in_effect is None


def test_layers_that_are_not_alike_show_nothing(on_cpu: EngineContext, smollm2: ModelFacts) -> None:
    mixed = replace(on_cpu, model=replace(smollm2, uniform_layers=False))
    assert QuantizedKv(format="fp8").verdict(seen("fp8", 1456), mixed).in_effect is None


GEMMA = KvBlock(tokens=128, asked_bytes=196_608, native_bytes=393_216)
"""Gemma 3 270M by hand: 3 full and 15 sliding layers in six groups of 3, one KV head of 256, keys and values:
3 * 128 tokens * 512 bytes in 8 bits, twice that in 16."""


@pytest.mark.parametrize(
    ("dtype", "blocks", "in_effect"),
    [("fp8", 10_922, True), ("fp8_e5m2", 10_922, True), ("fp8", 5_461, False), ("fp8", 8_000, None)],
)
def test_layers_that_are_not_alike_are_shown_by_blocks_as_planned(
    dtype: str, blocks: int, in_effect: bool | None, on_cpu: EngineContext, smollm2: ModelFacts
) -> None:
    # vLLM 0.32.0 on CPU with 2 GiB and Gemma 3 270M: 5,461 blocks in bf16, 10,922 in fp8.
    mixed = replace(on_cpu, model=replace(smollm2, uniform_layers=False), kv_block=GEMMA)
    verdict = QuantizedKv(format=dtype).verdict(seen(dtype, blocks), mixed)
    assert verdict.in_effect is in_effect
    assert f"{blocks:,} blocks in 2.00 GiB; {dtype} gives 10,922 (196,608 bytes a block)" in verdict.evidence


def test_a_plan_shows_nothing_of_blocks_of_other_sizes_nor_beside_an_unknown_draft(
    on_cpu: EngineContext, smollm2: ModelFacts
) -> None:
    mixed = replace(on_cpu, model=replace(smollm2, uniform_layers=False), kv_block=replace(GEMMA, tokens=16))
    assert QuantizedKv(format="fp8").verdict(seen("fp8", 10_922), mixed).in_effect is None
    log = (CONFIG.format("SpeculativeConfig(method='eagle', model='d')", ONE_RANK),)
    drafting = replace(mixed, kv_block=GEMMA, kinds=frozenset({"quantized_kv", "speculative"}))
    assert QuantizedKv(format="fp8").verdict(seen("fp8", 10_922, log=log), drafting).in_effect is None
    look_up = (CONFIG.format("SpeculativeConfig(method='ngram', model=None)", ONE_RANK),)
    assert QuantizedKv(format="fp8").verdict(seen("fp8", 10_922, log=look_up), drafting).in_effect is True


def test_blocks_of_as_many_bytes_as_in_16_bits_show_nothing(
    on_cpu: EngineContext, smollm2: ModelFacts
) -> None:
    same = replace(GEMMA, asked_bytes=GEMMA.native_bytes)
    mixed = replace(on_cpu, model=replace(smollm2, uniform_layers=False), kv_block=same)
    verdict = QuantizedKv(format="turboquant_4bit_nc").verdict(seen("turboquant_4bit_nc", 5_461), mixed)
    assert verdict.in_effect is None
    assert "a block takes as many bytes in turboquant_4bit_nc as in 16 bits" in verdict.evidence


def test_memory_from_the_log_is_taken_with_its_rounding(on_cpu: EngineContext) -> None:
    on_gpu = replace(on_cpu, device="cuda", kv_cache_bytes=None)
    log = ("INFO [gpu_worker.py:760] Available KV cache memory: 2.0 GiB",)
    mode = QuantizedKv(format="fp8")
    assert mode.verdict(seen("fp8", 1452, memory="None", log=log), on_gpu).in_effect is True
    assert mode.verdict(seen("fp8", 728, memory="None", log=log), on_gpu).in_effect is False


SCALE_ONE = ("WARNING [kv_cache.py:166] Using KV cache scaling factor 1.0 for fp8_e4m3.",)


def test_missing_scales_that_only_the_log_tells_of_are_a_warning(
    on_cpu: EngineContext, smollm2: ModelFacts
) -> None:
    quantized = replace(on_cpu, model=replace(smollm2, quantization="fp8"))
    for context in (quantized, replace(on_cpu, model=None)):
        told = QuantizedKv(format="fp8").verdict(seen("fp8", 1456, log=SCALE_ONE), context)
        assert "scale 1.0" in told.warnings[0]
        assert QuantizedKv(format="fp8").verdict(seen("fp8", 1456), context).warnings == ()
    told = QuantizedKv(format="fp8_e5m2").verdict(seen("fp8_e5m2", 1456, log=SCALE_ONE), quantized)
    assert told.warnings == ()


def test_missing_scales_that_the_table_of_problems_warned_of_are_not_said_again(
    on_cpu: EngineContext,
) -> None:
    mode = QuantizedKv(format="fp8")
    assert mode.lacks_scales(on_cpu.model)
    assert mode.verdict(seen("fp8", 1456, log=SCALE_ONE), on_cpu).warnings == ()


CONFIG = "INFO Initializing a V1 LLM engine (v0.32.0) with config: m=1, speculative_config={}, {}, x=1"
ONE_RANK = "tensor_parallel_size=1, pipeline_parallel_size=1"


def test_speculation_by_look_up_keeps_no_keys_of_its_own(on_cpu: EngineContext) -> None:
    # vLLM 0.32.0 with ngram and fp8 in 1 GiB: 728 blocks, as without ngram.
    log = (CONFIG.format("SpeculativeConfig(method='ngram', model=None)", ONE_RANK),)
    context = replace(on_cpu, kinds=frozenset({"quantized_kv", "speculative"}))
    gib = str(1024**3)
    mode = QuantizedKv(format="fp8")
    assert mode.verdict(seen("fp8", 728, memory=gib, log=log), context).in_effect is True
    assert mode.verdict(seen("fp8", 364, memory=gib, log=log), context).in_effect is False


def test_a_draft_takes_its_share_of_every_token(on_cpu: EngineContext, smollm2: ModelFacts) -> None:
    # vLLM 0.32.0: a draft as large as the model halves the tokens.
    log = (CONFIG.format("SpeculativeConfig(method='draft_model', model='d')", ONE_RANK),)
    drafting = replace(on_cpu, kinds=frozenset({"quantized_kv", "speculative"}), draft=smollm2)
    mode = QuantizedKv(format="fp8")
    assert mode.verdict(seen("fp8", 728, log=log), drafting).in_effect is True
    assert mode.verdict(seen("fp8", 728, log=log), replace(drafting, draft=None)).in_effect is None


def test_ranks_share_the_heads_and_each_has_the_memory(on_cpu: EngineContext, smollm2: ModelFacts) -> None:
    # By hand: 4 layers, 2 of 4 KV heads, d 64, one byte: 1,024 bytes a token, 8,192 blocks of 128 in 1 GiB.
    # vLLM 0.32.0 made 4,096 in bfloat16.
    tiny = replace(smollm2, layers=4, attention_heads=8, kv_heads=4)
    sharing = replace(on_cpu, model=tiny, kinds=frozenset({"quantized_kv", "parallel"}))
    log = (CONFIG.format("None", "tensor_parallel_size=2, pipeline_parallel_size=1"),)
    mode = QuantizedKv(format="fp8")
    gib = str(1024**3)
    assert mode.verdict(seen("fp8", 8192, memory=gib, log=log), sharing).in_effect is True
    assert mode.verdict(seen("fp8", 4096, memory=gib, log=log), sharing).in_effect is False
    staged = (CONFIG.format("None", "tensor_parallel_size=1, pipeline_parallel_size=2"),)
    assert mode.verdict(seen("fp8", 8192, memory=gib, log=staged), sharing).in_effect is None
