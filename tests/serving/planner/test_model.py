"""From config.json to a shape: the golden records, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.planning import ARCHITECTURES, config, golden, record

from serving.errors import UsageError
from serving.planner.families import FAMILIES
from serving.planner.fields import Fields
from serving.planner.model import checkpoint_storage, model_shape

LLAMA = "meta-llama/Meta-Llama-3.1-8B"


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_parameters_are_those_of_the_golden_record_to_the_unit(name: str) -> None:
    found, wanted = model_shape(config(name), name), record(name)
    if "params_total" in wanted:
        assert found.parameters == wanted["params_total"]
    if "params_active" in wanted:
        assert found.active_parameters == wanted["params_active"]
    assert found.kind.startswith("moe" if found.experts else "dense")


def test_every_golden_record_is_of_a_known_family() -> None:
    assert {row["model"] for row in golden()["models"]} == set(ARCHITECTURES)


def test_no_architecture_is_of_two_families() -> None:
    names = [name for family in FAMILIES for name in (*family.architectures, *family.model_types)]
    assert len(names) == len(set(names))


def test_an_unknown_architecture_is_refused_with_near_names() -> None:
    with pytest.raises(UsageError) as refused:
        model_shape({**config(LLAMA), "architectures": ["LlamaForCausalLN"]}, "d/config.json")
    assert "d/config.json: architectures: 'LlamaForCausalLN' is not known" in str(refused.value)
    assert "near names are LlamaForCausalLM" in str(refused.value)


def test_without_architecture_and_type_nothing_is_guessed() -> None:
    with pytest.raises(UsageError, match="architectures: is missing, and so is model_type"):
        model_shape(record(LLAMA)["config"], "config.json")


def test_a_type_alone_tells_the_family() -> None:
    found = model_shape({**record(LLAMA)["config"], "model_type": "llama"}, "config.json")
    assert found.parameters == record(LLAMA)["params_total"]


@pytest.mark.parametrize("key", ["num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"])
@pytest.mark.parametrize("value", [None, 0, -1, "32", 1.5, True, 10**12])
def test_missing_and_absurd_fields_are_errors_with_file_and_key(key: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"c.json: {key}"):
        model_shape({**config(LLAMA), key: value}, "c.json")


def test_the_text_part_of_a_multimodal_model_is_read() -> None:
    inner = config("google/gemma-3-27b-it")
    outer = {"architectures": inner.pop("architectures"), "text_config": inner, "vision_config": {"depth": 1}}
    found = model_shape(outer, "c.json")
    assert len(found.layers) == 62
    assert any("vision" in note for note in found.notes)


@pytest.mark.parametrize(
    ("section", "storage"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_per_block"),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "awq"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "gptq"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "fbgemm_fp8"}, "fp8_per_channel"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}},
            },
            "fp8_per_channel",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"num_bits": 4, "type": "int"}}},
            },
            "gptq",
        ),
    ],
)
def test_a_quantized_checkpoint_tells_its_storage(section: dict[str, Any], storage: str) -> None:
    found = checkpoint_storage(Fields({"quantization_config": {**section, "ignore": ["lm_head"]}}, "c.json"))
    assert found == (storage, ("lm_head",))


@pytest.mark.parametrize(
    "section",
    [
        {"quant_method": "magic"},
        {"quant_method": "awq", "bits": 3, "group_size": 128},
        {"quant_method": "compressed-tensors", "config_groups": {}},
    ],
)
def test_a_storage_that_is_not_known_is_refused(section: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"c.json: quantization_config"):
        checkpoint_storage(Fields({"quantization_config": section}, "c.json"))


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("fp8", "quantization_config"),
        ([], "quantization_config"),
        ({"quant_method": "fp8", "ignore": "lm_head"}, "quantization_config.ignore"),
        ({"quant_method": "fp8", "ignore": ["re:("]}, "quantization_config.ignore"),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": 5}}},
            "quantization_config.config_groups",
        ),
    ],
)
def test_a_section_about_quantization_that_is_none_is_an_error_with_its_key(section: Any, key: str) -> None:
    with pytest.raises(UsageError) as refused:
        model_shape({**config(LLAMA), "quantization_config": section}, "config.json")
    assert refused.value.problems[0].where == f"config.json: {key}"


def test_a_storage_that_is_not_known_is_passed_over_where_the_user_names_one() -> None:
    odd = {**config(LLAMA), "quantization_config": {"quant_method": "bitsandbytes"}}
    with pytest.raises(UsageError, match="name the storage that comes nearest with --weight-format"):
        model_shape(odd, "config.json")
    assert model_shape(odd, "config.json", named=True).quantization is None
    known = {**odd, "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
    assert model_shape(known, "config.json", named=True).quantization == "awq"


def test_a_part_for_text_that_is_no_object_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"config\.json: text_config: is \[\], not an object"):
        model_shape({**config(LLAMA), "text_config": []}, "config.json")


def test_more_of_anything_than_a_model_has_is_an_error() -> None:
    for key in ("hidden_size", "num_attention_heads", "vocab_size", "intermediate_size"):
        with pytest.raises(UsageError, match=rf"{key}: is 1000000000, not a whole number from 1 to [0-9]+"):
            model_shape({**config(LLAMA), key: 10**9}, "config.json")
    assert model_shape({**config(LLAMA), "max_position_embeddings": 10**8}, "c").max_position == 10**8


def test_a_limit_of_positions_that_is_taken_for_granted_is_noted() -> None:
    fields = config(LLAMA)
    del fields["max_position_embeddings"]
    assert any("max_position_embeddings" in note for note in model_shape(fields, "c").notes)
