from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from serving.engine.reference import References, comparable, is_reference, model_fingerprint
from serving.modes.mode import EngineContext
from serving.modes.prefix_cache import PrefixCache
from serving.modes.quantized_kv import QuantizedKv
from serving.modes.quantized_weights import QuantizedWeights

CONTEXT = EngineContext(device="cpu", version="0.32.0", model=None)
FP8 = QuantizedKv(format="fp8")


@pytest.fixture
def references(tmp_path: Path) -> References:
    return References(tmp_path / "answers", "abc")


def test_recorded_answers_are_found_again_for_the_same_prompts(references: References) -> None:
    references.record("key", ("one", "two"), 12, ["1", "zwei ä"])
    assert references.find("key", ("one", "two"), 12) == ["1", "zwei ä"]
    [file] = references.folder.iterdir()
    assert file.name == "abc-key.json"


def test_answers_to_other_prompts_of_other_length_or_another_engine_are_none(references: References) -> None:
    references.record("key", ("one",), 12, ["1"])
    assert references.find("key", ("uno",), 12) is None
    assert references.find("key", ("one",), 16) is None
    assert references.find("other", ("one",), 12) is None
    assert References(references.folder, "def").find("key", ("one",), 12) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"prompts": ["one"], "tokens": 12}', "\xff"])
def test_a_broken_file_is_none_and_recorded_anew(references: References, text: str) -> None:
    references.folder.mkdir()
    (references.folder / "abc-key.json").write_text(text, encoding="latin-1")
    assert references.find("key", ("one",), 12) is None
    references.record("key", ("one",), 12, ["1"])
    assert references.find("key", ("one",), 12) == ["1"]


def test_a_disk_that_says_no_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "answers").write_text("a file where the folder should be")
    references = References(tmp_path / "answers", "abc")
    references.record("key", ("one",), 12, ["1"])
    assert references.find("key", ("one",), 12) is None


def test_engines_are_comparable_only_where_all_that_changes_answers_is_the_same() -> None:
    plain = comparable(CONTEXT, [], "torch.bfloat16")
    assert plain == "0.32.0-cpu-bfloat16"
    assert comparable(CONTEXT, [PrefixCache()], "torch.bfloat16") == plain
    others = {
        comparable(CONTEXT, [], "torch.float32"),
        comparable(CONTEXT, [], None),
        comparable(CONTEXT, [FP8], "torch.bfloat16"),
        comparable(CONTEXT, [FP8, QuantizedWeights(format="fp8_per_block")], "torch.bfloat16"),
        comparable(replace(CONTEXT, version="0.33.0"), [], "torch.bfloat16"),
        comparable(replace(CONTEXT, device="cuda"), [], "torch.bfloat16"),
        comparable(replace(CONTEXT, args={"--enforce-eager": None}), [], "torch.bfloat16"),
    }
    assert len(others) == 7
    assert plain not in others
    assert comparable(CONTEXT, [FP8, PrefixCache()], "torch.bfloat16") in others


def test_a_key_is_a_file_name() -> None:
    context = replace(CONTEXT, args={"--x": "a/b ../c"})
    assert "/" not in comparable(context, [FP8], "torch.bfloat16")


def test_only_engines_without_modes_that_keep_answers_are_a_reference() -> None:
    assert is_reference([])
    assert is_reference([FP8])
    assert not is_reference([FP8, PrefixCache()])


def test_a_model_is_known_by_its_config_and_its_weights(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"0" * 100)
    os.utime(weights, ns=(1, 1))
    first = model_fingerprint(str(tmp_path), {"layers": 1})
    (tmp_path / "notes.txt").write_text("not a weight")
    assert model_fingerprint(str(tmp_path), {"layers": 1}) == first
    assert model_fingerprint(str(tmp_path), {"layers": 2}) != first
    os.utime(weights, ns=(1, 2))
    assert model_fingerprint(str(tmp_path), {"layers": 1}) != first
    os.utime(weights, ns=(1, 1))
    weights.write_bytes(b"0" * 101)
    os.utime(weights, ns=(1, 1))
    assert model_fingerprint(str(tmp_path), {"layers": 1}) != first


def test_a_model_of_the_hub_is_known_by_its_id(tmp_path: Path) -> None:
    assert model_fingerprint("organisation/one", {}) != model_fingerprint("organisation/two", {})
    assert json.dumps(model_fingerprint("organisation/one", {})).isascii()
