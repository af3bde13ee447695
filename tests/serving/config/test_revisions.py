"""The revisions of a deployment file: what they mean, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.config.load import load_deployment, parse, validate
from serving.config.revisions import elsewhere, own_revision, require_engines, weights
from serving.config.schema import Deployment
from serving.errors import UsageError

THERE = "  - {name: there, urls: ['http://10.0.0.7:8000/v1']}\n"


def deployment(text: str) -> Deployment:
    return validate(parse(f"name: demo\n{text}", "demo.yaml"), Deployment)


def complaints(folder: Path, text: str) -> list[str]:
    file = folder / "demo.yaml"
    file.write_text(f"name: demo\n{text}")
    with pytest.raises(UsageError) as caught:
        load_deployment(file)
    return [line.strip().removeprefix(f"{folder}/") for line in str(caught.value).splitlines()]


def test_a_file_that_says_nothing_of_revisions_is_its_own_engines_called_main() -> None:
    plain = deployment("")
    assert (own_revision(plain), elsewhere(plain), weights(plain)) == ("main", (), {})


def test_the_entry_without_urls_names_the_own_engines_and_weights_are_as_written() -> None:
    mixed = deployment(f"revisions:\n  - {{name: v1, weight: 90}}\n{THERE}")
    assert own_revision(mixed) == "v1"
    assert [revision.name for revision in elsewhere(mixed)] == ["there"]
    assert weights(mixed) == {"v1": 90, "there": 1}


def test_a_file_whose_revisions_all_have_urls_has_no_engine_to_plan() -> None:
    text = f"revisions:\n{THERE}"
    assert own_revision(deployment(text)) is None
    with pytest.raises(UsageError, match=r"demo.yaml:2: revisions: .* no engine to plan"):
        require_engines(deployment(text), parse(f"name: demo\n{text}", "demo.yaml"), "plan")


NO_ADDRESS = "3: revisions[0].urls[0]: is no base address; write it as for an OpenAI client"
HERE = "urls: ['http://x/v1']"
WRONG = {
    "urls: ['http://10.0.0.7:8000']": NO_ADDRESS,
    "urls: ['http://me:secret@x/v1']": NO_ADDRESS,
    "urls: ['ftp://x/v1']": NO_ADDRESS,
    "urls: ['http://x/v1', 'http://x/v1/']": "3: revisions[0].urls[1]: 'http://x/v1/' is listed already",
    f"{HERE}, key_env: A, key_file: b": "3: revisions[0].key_file: the key is in key_env already",
    f"{HERE}, health: up": "3: revisions[0].health: 'up' is no path; write it like /health",
    f"{HERE}, weight: -1": "3: revisions[0].weight: -1 is not allowed",
    f"{HERE}, weight: 0": "2: revisions: no revision has a weight above 0",
    f"{HERE}, kee: 1": "3: revisions[0].kee: unknown key",
    "key_env: A": "3: revisions[0].key_env: is only for a revision with urls",
    "models: {a: b}": "3: revisions[0].models: is only for a revision with urls",
}
"""By what is written, the complaint from its line on; the file's name is its line 1."""


@pytest.mark.parametrize("keys", WRONG)
def test_a_mistake_is_said_with_its_line(tmp_path: Path, keys: str) -> None:
    (said, *_) = complaints(tmp_path, f"revisions:\n  - {{name: a, {keys}}}\n")
    assert said.startswith(f"demo.yaml:{WRONG[keys]}")


def test_a_key_in_the_place_of_a_variables_name_is_not_repeated(tmp_path: Path) -> None:
    said = complaints(tmp_path, "revisions:\n  - {name: a, urls: ['http://x/v1'], key_env: sk-very-secret}\n")
    assert said == [
        "demo.yaml:3: revisions[0].key_env: is no variable's name; "
        "write the name of a variable that holds the key, never the key"
    ]


def test_names_are_given_once_and_own_engines_are_one_revision(tmp_path: Path) -> None:
    said = complaints(tmp_path, "revisions:\n  - {name: a}\n  - {name: a}\n")
    assert said[-2].startswith("demo.yaml:4: revisions[1].name: 'a' is already revisions[0]")
    assert said[-1].startswith("demo.yaml:4: revisions[1]: revisions[0] is this file's own engines already")


def test_what_is_about_engines_is_an_error_where_none_is_started(tmp_path: Path) -> None:
    said = complaints(tmp_path, f"model: m\nreplicas: 2\nrevisions:\n{THERE}")
    assert [line.split(";")[0] for line in said[-2:]] == [
        f"demo.yaml:{line}: {key}: is about engines of its own, and all revisions are served elsewhere"
        for line, key in ((2, "model"), (3, "replicas"))
    ]
