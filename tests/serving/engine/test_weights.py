from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from serving.engine.weights import folder_problems, read_config, safetensors_problem, weight_bytes
from serving.errors import Problem

HEADER = {
    "__metadata__": {"format": "pt"},
    "w": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]},
    "b": {"dtype": "BF16", "shape": [2], "data_offsets": [8, 12]},
}


def safetensors(header: object = HEADER, data: bytes = b"\0" * 12) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def model(folder: Path) -> Path:
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(safetensors())
    return folder


def test_a_whole_folder_has_no_problems(tmp_path: Path) -> None:
    assert folder_problems(model(tmp_path)) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"abc", "only 3 bytes"),
        (b"<html>Not found</html>", "its header claims"),
        (safetensors()[:-5], "its header says"),
        (safetensors() + b"\0", "its header says"),
        (struct.pack("<Q", 4) + b"nope", "its header is not a safetensors header"),
        (safetensors({"w": {"shape": [1]}}), "its header is not a safetensors header"),
        (safetensors(["w"]), "its header is not a safetensors header"),
    ],
)
def test_a_broken_file_is_told_by_how_it_is_broken(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    problem = safetensors_problem(path)
    assert problem is not None
    assert said in problem


def test_the_broken_one_of_several_files_is_named(tmp_path: Path) -> None:
    (model(tmp_path) / "model-2.safetensors").write_bytes(safetensors()[:-1])
    (problem,) = folder_problems(tmp_path)
    assert problem.where == str(tmp_path / "model-2.safetensors")


def test_a_missing_tokenizer_and_missing_weights_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert [problem.what for problem in folder_problems(tmp_path)] == [
        "no tokenizer in the model folder",
        "no weights in the model folder",
    ]


def test_a_shard_that_the_index_names_and_is_not_there_is_told(tmp_path: Path) -> None:
    index = {"weight_map": {"w": "model.safetensors", "x": "model-00002.safetensors"}}
    (model(tmp_path) / "model.safetensors.index.json").write_text(json.dumps(index))
    (problem,) = folder_problems(tmp_path)
    assert str(problem).startswith(f"{tmp_path}/model-00002.safetensors: is missing")


def test_a_folder_without_config_and_a_broken_config_are_told_where(tmp_path: Path) -> None:
    problem = read_config(tmp_path)
    assert isinstance(problem, Problem)
    assert problem.what == "no config.json in the model folder"
    (tmp_path / "config.json").write_text('{\n"a": \n}')
    problem = read_config(tmp_path)
    assert isinstance(problem, Problem)
    assert problem.where == f"{tmp_path}/config.json:3"


def test_the_size_of_a_model_is_that_of_its_weight_files(tmp_path: Path) -> None:
    assert weight_bytes(tmp_path) is None
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "a.safetensors").write_bytes(b"x" * 100)
    (tmp_path / "b.safetensors").write_bytes(b"x" * 11)
    assert weight_bytes(tmp_path) == 111
