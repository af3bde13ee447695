from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from serving.console import Console
from serving.engine.commands import Ran
from serving.engine.folders import DataFolder
from serving.engine.models import ModelPlace, resolve_model
from serving.errors import Failed, TeapotError, UsageError


class Hub:
    """Answers as scripts/fetch_config.py does."""

    def __init__(self, answer: Mapping[str, object]) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []

    def __call__(
        self,
        argv: Sequence[str],
        *,
        on_line: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
        keep_open: Sequence[int] = (),
    ) -> Ran:
        self.asked.append(list(argv))
        return Ran(0, ["a warning of the hub's library", json.dumps(self.answer)])


def place(folder: Path, hub: Hub | None = None) -> ModelPlace:
    return ModelPlace(
        python=Path("/env/bin/python"),
        folder=DataFolder(folder / "data"),
        console=Console(out=io.StringIO(), err=io.StringIO()),
        environment={},
        relative_to=folder,
        runner=hub or Hub({}),
    )


def make_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"\x02" + b"\0" * 7 + b"{}")
    return folder


def test_a_folder_is_given_by_its_path_relative_to_the_deployment_file(tmp_path: Path) -> None:
    make_model(tmp_path / "models" / "my-llama")
    model = resolve_model("models/my-llama", place(tmp_path))
    assert (model.name, model.path_or_id) == ("my-llama", str(tmp_path / "models" / "my-llama"))
    assert model.config == {"model_type": "llama"}
    assert model.offline


def test_all_that_is_wrong_with_a_folder_is_told_before_a_start(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "broken")
    (folder / "tokenizer.json").unlink()
    (folder / "model.safetensors").write_bytes(b"abc")
    with pytest.raises(UsageError) as caught:
        resolve_model(str(folder), place(tmp_path))
    assert [problem.what for problem in caught.value.problems] == [
        "no tokenizer in the model folder",
        "is broken: only 3 bytes",
    ]


def test_a_folder_without_config_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"no config\.json in the model folder"):
        resolve_model("empty", place(tmp_path))


def test_a_name_that_is_nothing_is_told_what_it_could_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no model 'smollm3'.*give smollm2-135m, a folder"):
        resolve_model("smollm3", place(tmp_path))


def test_a_hub_model_is_passed_through_with_its_config(tmp_path: Path) -> None:
    make_model(tmp_path / "cache")
    hub = Hub({"path": str(tmp_path / "cache" / "config.json"), "offline": False})
    model = resolve_model("org/name-7B", place(tmp_path, hub))
    assert (model.name, model.path_or_id, model.offline) == ("org/name-7B", "org/name-7B", False)
    assert hub.asked[0][0] == "/env/bin/python"
    assert hub.asked[0][-1] == "org/name-7B"


def test_one_in_the_hubs_cache_works_without_the_hub(tmp_path: Path) -> None:
    make_model(tmp_path / "cache")
    hub = Hub({"path": str(tmp_path / "cache" / "config.json"), "offline": True})
    assert resolve_model("org/name", place(tmp_path, hub)).offline


@pytest.mark.parametrize(
    ("kind", "type_", "said"),
    [
        ("unknown", UsageError, "the hub has no model 'org/name'"),
        ("gated", Failed, "HF_TOKEN"),
        ("no_config", UsageError, "has no config.json"),
        ("unreachable", Failed, "neither a folder nor in the hub's cache, and the hub cannot be reached"),
        ("other", Failed, "cannot be looked up: odd"),
    ],
)
def test_what_the_hub_says_becomes_what_to_do(
    tmp_path: Path, kind: str, type_: type[TeapotError], said: str
) -> None:
    with pytest.raises(type_) as caught:
        resolve_model("org/name", place(tmp_path, Hub({"error": kind, "message": "odd"})))
    assert said in str(caught.value)
