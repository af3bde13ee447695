"""Reading the files of a model for a plan."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.planning import config, shape

from deploy.plan_inputs import read_checkpoint, read_shape
from serving.errors import UsageError

LLAMA = "meta-llama/Meta-Llama-3.1-8B"


def safetensors(path: Path, sizes: dict[str, int], cut: int = 0) -> None:
    begin, header = 0, {}
    for name, size in sizes.items():
        header[name] = {"dtype": "BF16", "shape": [size // 2], "data_offsets": [begin, begin + size]}
        begin += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(begin - cut))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(config(LLAMA)))
    return tmp_path


SMALL = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 2,
    "num_hidden_layers": 1, "vocab_size": 16, "max_position_embeddings": 64, "tie_word_embeddings": True,
}  # fmt: skip
"""16 * 8 + 4 * 8 * 8 + 3 * 8 * 8 + 3 * 8 = 600 parameters."""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(SMALL))
    return tmp_path


def test_a_folder_with_files_tells_their_bytes(small: Path) -> None:
    safetensors(small / "model-1.safetensors", {"model.layers.0.a": 1000, "embed": 240})
    shape, found = read_shape(str(small))
    assert (shape.name, shape.parameters) == (small.name, 600)
    assert found is not None
    assert found.total_bytes == 1240


def test_files_that_cannot_be_the_whole_model_are_refused(small: Path) -> None:
    safetensors(small / "model.safetensors", {"model.layers.0.a": 598})
    with pytest.raises(
        UsageError, match=r"\*\.safetensors: hold 598 bytes and the layers of config.json take 1,200"
    ):
        read_shape(str(small))
    # A plan by arithmetic is still to be had.
    assert read_shape(str(small / "config.json"))[1] is None


def test_a_second_copy_that_the_index_does_not_name_is_not_counted(small: Path) -> None:
    """As Mistral's folders have one: vLLM loads what the index names."""
    safetensors(small / "model-1.safetensors", {"a": 1200})
    safetensors(small / "consolidated.safetensors", {"b": 1200})
    (small / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "model-1.safetensors"}})
    )
    found = read_shape(str(small))[1]
    assert found is not None
    assert found.total_bytes == 1200


def test_a_config_alone_has_no_files(folder: Path) -> None:
    assert read_shape(str(folder / "config.json"))[1] is None


def test_the_embedded_model_is_known_by_name() -> None:
    assert read_shape("smollm2-135m")[0].parameters == 134_515_008


@pytest.mark.parametrize(
    ("text", "said"), [("{", "is not JSON"), ("[]", "is not a JSON object"), (None, "no such file")]
)
def test_a_broken_config_is_an_error_with_its_file(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(UsageError, match=f"config.json.*{said}"):
        read_shape(str(tmp_path))


def test_a_cut_file_is_an_error_with_its_name(folder: Path) -> None:
    safetensors(folder / "model.safetensors", {"a": 100}, cut=10)
    with pytest.raises(
        UsageError, match=r"model.safetensors: is cut: it has \d+ bytes and its header says \d+"
    ):
        read_shape(str(folder))
    (folder / "model.safetensors").write_bytes(b"\x01")
    with pytest.raises(UsageError, match="is cut"):
        read_checkpoint(folder, shape())
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 2) + b"[]")
    with pytest.raises(UsageError, match="not a safetensors header"):
        read_checkpoint(folder, shape())


@pytest.mark.parametrize(("quantization", "loaded"), [(None, 60), ("fp8", 100)])
def test_32_bits_are_loaded_as_16_but_in_a_quantized_checkpoint(
    folder: Path, quantization: str | None, loaded: int
) -> None:
    rows = {"a": ("BF16", [0, 20]), "b": ("F32", [20, 100])}
    header = {name: {"dtype": kind, "shape": [1], "data_offsets": at} for name, (kind, at) in rows.items()}
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(100))
    found = read_checkpoint(folder, replace(shape(), quantization=quantization))
    assert found is not None
    assert found.total_bytes == loaded


def test_a_missing_shard_is_named(folder: Path) -> None:
    safetensors(folder / "1.safetensors", {"a": 100})
    index = {"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UsageError, match=r"2.safetensors: is missing"):
        read_checkpoint(folder, shape())


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ("[1]", "is not a JSON object"),
        ("{}", "weight_map: does not map"),
        ('{"weight_map": {}}', "weight_map: does not map"),
        ('{"weight_map": {"a": 5}}', "weight_map: does not map"),
        ('{"weight_map": {"a"', "is not JSON"),
    ],
)
def test_a_broken_index_is_an_error_with_its_file(folder: Path, index: str, said: str) -> None:
    (folder / "model.safetensors.index.json").write_text(index)
    with pytest.raises(UsageError, match=rf"model.safetensors.index.json.*{said}"):
        read_checkpoint(folder, shape())


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 100_000,
        b"[1]",
        b'{"a": 5}',
        b'{"a": {"data_offsets": [0]}}',
        b'{"a": {"data_offsets": [0, 1.5]}}',
        b'{"a": {"data_offsets": [0, Infinity]}}',
        b'{"a": {"data_offsets": [0, ' + b"9" * 5000 + b"]}}",
        b'{"\xff": {"data_offsets": [0, 0]}}',
    ],
)
def test_what_is_no_header_is_an_error_with_its_file(folder: Path, header: bytes) -> None:
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(UsageError, match=r"model\.safetensors: its header is not a safetensors header"):
        read_checkpoint(folder, shape())


def test_bytes_after_the_data_are_an_error_too(folder: Path) -> None:
    safetensors(folder / "model.safetensors", {"a": 100}, cut=-10)
    with pytest.raises(UsageError, match=r"model.safetensors: has \d+ bytes and its header says \d+"):
        read_checkpoint(folder, shape())


def test_what_cannot_be_opened_is_an_error_with_its_name(folder: Path) -> None:
    (folder / "model.safetensors").mkdir()
    with pytest.raises(UsageError, match=r"model\.safetensors: cannot be read"):
        read_checkpoint(folder, shape())
    (folder / "model.safetensors").rmdir()
    (folder / "model.safetensors").symlink_to(folder / "gone")
    with pytest.raises(UsageError, match=r"model\.safetensors: cannot be read"):
        read_checkpoint(folder, shape())


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' + "9" * 5000 + "}"])
def test_a_config_that_no_parser_takes_is_an_error_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(UsageError, match=r"config.json: cannot be read"):
        read_shape(str(tmp_path))


@pytest.mark.parametrize("model", ["a\0b", "a" * 5000, "~nobody-has-this-name/model"])
def test_what_cannot_be_a_path_is_an_error(model: str) -> None:
    with pytest.raises(UsageError, match="cannot be"):
        read_shape(model)


def test_a_name_that_no_terminal_can_show_is_shown_with_marks(tmp_path: Path) -> None:
    folder = tmp_path / "model-\udcff"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SMALL))
    assert read_shape(str(folder))[0].name == "model-?"


def index_alone(folder: Path, metadata: object, tensors: tuple[str, ...] = ("model.layers.0.a",)) -> None:
    index = {"metadata": metadata, "weight_map": dict.fromkeys(tensors, "model-1.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_where_the_files_are_not_there_the_indexs_own_sum_stands_in(small: Path) -> None:
    index_alone(small, {"total_size": 1300})
    found = read_shape(str(small))[1]
    assert found is not None
    assert (found.total_bytes, found.source) == (1300, "metadata.total_size of the index")


@pytest.mark.parametrize("key", ["dtype", "torch_dtype"])
def test_a_sum_of_32_bits_is_loaded_as_16(small: Path, key: str) -> None:
    """600 parameters of 4 bytes: vllm 0.32.0 config/model.py _resolve_auto_dtype takes 16 bits of them."""
    (small / "config.json").write_text(json.dumps({**SMALL, key: "float32"}))
    index_alone(small, {"total_size": 2400})
    found = read_shape(str(small))[1]
    assert found is not None
    assert found.total_bytes == 1200


@pytest.mark.parametrize("metadata", [None, {}, {"total_size": None}])
def test_an_index_without_a_sum_leaves_arithmetic(small: Path, metadata: object) -> None:
    index_alone(small, metadata)
    assert read_shape(str(small))[1] is None


@pytest.mark.parametrize("part", ["model.layers.1.a", "mtp.layers.0.a"])
def test_a_sum_with_layers_that_are_not_loaded_is_not_taken(small: Path, part: str) -> None:
    index_alone(small, {"total_size": 1300}, ("model.layers.0.a", part))
    assert read_shape(str(small))[1] is None


@pytest.mark.parametrize("size", ["1300", 0, -1, True, 2**60, float("inf"), [1]])
def test_a_sum_that_is_no_number_of_bytes_is_an_error_with_its_key(small: Path, size: object) -> None:
    index_alone(small, {"total_size": size})
    with pytest.raises(UsageError, match=r"index.json: metadata.total_size: is .*, no number of bytes"):
        read_shape(str(small))


def test_a_sum_that_cannot_be_of_the_whole_model_is_refused(small: Path) -> None:
    index_alone(small, {"total_size": 599})
    with pytest.raises(UsageError, match=r"metadata.total_size: is 599 bytes and the layers .* take 1,200"):
        read_shape(str(small))
