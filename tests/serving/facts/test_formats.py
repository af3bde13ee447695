"""KV formats against sizes that were read from running engines or worked out by others."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.facts.formats import KvFormat, kv_bytes_per_token, parse_kv_formats
from serving.facts.load import kv_formats, weight_formats
from serving.facts.load_flags import engine_flags

LLAMA_8B_LAYER = {
    # Bytes of one token and layer at 8 KV heads, head_dim 128, collected by hand from vLLM's source.
    "bfloat16": 4096,
    "float16": 4096,
    "fp8": 2048,
    "fp8_e4m3": 2048,
    "fp8_e5m2": 2048,
    "int8_per_token_head": 2112,
    "fp8_per_token_head": 2112,
    "int4_per_token_head": 1088,
    "nvfp4": 1152,
    "turboquant_k8v4": 1568,
    "turboquant_4bit_nc": 1072,
    "turboquant_k3v4_nc": 944,
    "turboquant_3bit_nc": 816,
}


def test_every_format_takes_the_bytes_that_are_known_of_it() -> None:
    assert {name: 8 * row.bytes_per_head(128) for name, row in kv_formats().items()} == LLAMA_8B_LAYER


def test_the_planners_page_tells_the_bytes_of_every_format() -> None:
    page = (Path(__file__).parents[3] / "docs" / "planner.md").read_text(encoding="utf-8")
    table = page.split("| format | bytes |")[1].split("\n\n")[0]
    missing = [name for name, size in LLAMA_8B_LAYER.items() if f"{size:,}" not in table]
    assert not missing


@pytest.mark.parametrize(
    ("name", "saving"),
    [
        ("turboquant_k8v4", 2.17),
        ("turboquant_4bit_nc", 2.82),
        ("turboquant_k3v4_nc", 3.06),
        ("turboquant_3bit_nc", 3.34),
    ],
)
def test_boundary_layers_keep_the_native_type_in_the_whole_of_llama_8b(name: str, saving: float) -> None:
    # The ratios are those published for Llama-3-8B (32 layers, 8 KV heads, head_dim 128).
    whole = kv_bytes_per_token(kv_formats()[name], layers=32, kv_heads=8, head_dim=128)
    assert 131072 / whole == pytest.approx(saving, abs=0.01)


def test_a_model_of_few_layers_keeps_no_more_boundary_layers_than_it_has() -> None:
    row = kv_formats()["turboquant_4bit_nc"]
    assert kv_bytes_per_token(row, layers=3, kv_heads=1, head_dim=64) == 3 * 2 * 64 * 2


def test_bits_that_do_not_fill_a_byte_are_rounded_up() -> None:
    odd = KvFormat(name="odd", key_bits=3, value_bits=3, devices=(), scales="none", source="", date="")
    assert odd.bytes_per_head(10) == 8
    assert odd.bytes_per_head(11) == 10


def test_a_slot_is_made_even_where_the_format_says_so() -> None:
    row = KvFormat(
        name="x",
        key_bits=8,
        value_bits=8,
        head_bytes=1,
        even=True,
        devices=(),
        scales="none",
        source="",
        date="",
    )
    assert row.bytes_per_head(8) == 18


def test_a_row_with_an_unknown_column_is_refused() -> None:
    with pytest.raises(TypeError, match="bits"):
        parse_kv_formats({"x": {"bits": 4, "devices": []}})


def test_only_sixteen_bits_count_as_not_quantized() -> None:
    assert [name for name, row in kv_formats().items() if not row.quantized] == ["bfloat16", "float16"]


def test_every_weight_format_is_a_word_of_each_version_and_says_where_it_works() -> None:
    for version, known in engine_flags().items():
        assert set(weight_formats()) <= known.words["quantization"], version
    assert all(row.devices and row.source and row.bits in (4, 8) for row in weight_formats().values())


def test_only_two_weight_formats_have_kernels_on_cpu() -> None:
    # vLLM 0.32.0 on CPU: fp8 fails at start, int8 quantizes nothing of a dense model.
    assert [row.name for row in weight_formats().values() if "cpu" in row.devices] == [
        "fp8_per_block",
        "fp8_per_channel",
    ]
