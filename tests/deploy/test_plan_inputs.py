"""Reading models, workloads and runs for a plan."""

from __future__ import annotations

import argparse
import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.planning import ask, config, shape

from deploy.plan_inputs import drafting, lengths, measured, read_checkpoint, read_shape
from serving.errors import UsageError

LLAMA = "meta-llama/Meta-Llama-3.1-8B"


def options(**given: Any) -> argparse.Namespace:
    names = "run workload input_tokens output_tokens p50_tokens p95_tokens speculate acceptance"
    names += " acceptance_by_position draft"
    return argparse.Namespace(**{**dict.fromkeys(names.split()), **given})


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


def test_a_folder_with_files_tells_their_bytes(folder: Path) -> None:
    safetensors(folder / "model-1.safetensors", {"model.layers.0.a": 100, "lm_head": 60})
    shape, found = read_shape(str(folder))
    assert shape.name == folder.name
    assert found is not None
    assert found.total_bytes == 160


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


def test_lengths_come_from_options() -> None:
    found = lengths(options(input_tokens=100, output_tokens=20, p95_tokens=500))
    assert found is not None
    assert (found.p50_tokens, found.p95_tokens) == (120, 500)
    assert lengths(options()) is None
    with pytest.raises(UsageError, match="--input-tokens"):
        lengths(options(output_tokens=20))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"p50_tokens": 100}, "--p50-tokens: the tokens of a prompt are missing"),
        ({"input_tokens": 90, "p50_tokens": 900, "p95_tokens": 100}, "--p95-tokens: is 100, below"),
        ({"run": "r", "input_tokens": 90}, "--input-tokens: --run tells the lengths itself"),
        ({"workload": "w.yaml", "p95_tokens": 90}, "--p95-tokens: --workload tells the lengths itself"),
    ],
)
def test_lengths_that_would_be_dropped_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        lengths(options(**given))


def test_lengths_come_from_a_workload(tmp_path: Path) -> None:
    workload = tmp_path / "w.yaml"
    workload.write_text(
        "name: w\narrival: {process: constant, rate: 1/s, duration: 1s}\n"
        "prompts:\n  kind: random_tokens\n  output_tokens: 50\n"
        "  input_tokens: {distribution: uniform, min: 100, max: 200}\n"
    )
    found = lengths(options(workload=str(workload)))
    assert found is not None
    assert 140 < found.input_tokens < 160
    assert 190 < found.p50_tokens < 210
    assert 240 < found.p95_tokens <= 250


def test_lengths_and_times_come_from_a_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        lengths(options(run=str(tmp_path / "none")))
    (tmp_path / "summary.json").write_text(json.dumps({"tpot_s": {"p50": 0.05}, "ttft_s": {}}))
    found = measured(str(tmp_path))
    assert (found["tpot_measured_s"].value, found["ttft_measured_s"].value) == (0.05, None)


def test_speculation_needs_an_acceptance() -> None:
    assert drafting(options(), ask()) is None
    with pytest.raises(UsageError, match="give --speculate K too"):
        drafting(options(acceptance=0.7), ask())
    with pytest.raises(UsageError, match="needs an acceptance"):
        drafting(options(speculate=4), ask())
    with pytest.raises(UsageError, match="--acceptance: is 2"):
        drafting(options(speculate=4, acceptance=2), ask())
    with pytest.raises(UsageError, match="no list of shares"):
        drafting(options(speculate=4, acceptance_by_position="0.8,x"), ask())
    found = drafting(options(speculate=2, acceptance_by_position="0.8,0.6,0.4"), ask())
    assert found is not None
    assert found.positions == (0.8, 0.6)
