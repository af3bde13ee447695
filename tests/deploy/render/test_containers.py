"""Engines in containers are started with the flags that teapot itself would start them with."""

from __future__ import annotations

from deploy.render.containers import VERSIONS, container_engines, without_folders
from deploy.render.target import Request
from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.engine.recipes import recipes
from serving.facts.load_flags import engine_flags

TEXT = """\
name: d
model: a/b
engine: {max_model_len: 512, args: {seed: 3}}
modes: [{kind: prefix_cache}]
"""


def request() -> Request:
    document = parse(TEXT, "d.yaml")
    return Request(validate(document, Deployment), document, "d.yaml")


def test_versions_are_the_ones_that_teapot_installs() -> None:
    defaults = {recipe.device: recipe.version for recipe in reversed(recipes())}
    assert {device: defaults[device] for device in VERSIONS} == VERSIONS


def test_the_engine_listens_to_its_network_and_keeps_its_files_in_the_volume() -> None:
    [engine] = container_engines(request(), "cuda")
    assert engine.argv[:2] == ("-m", "vllm.entrypoints.openai.api_server")
    assert engine.argv[engine.argv.index("--host") + 1] == "0.0.0.0"
    assert engine.argv[engine.argv.index("--port") + 1] == "8000"
    assert engine.argv[engine.argv.index("--max-model-len") + 1] == "512"
    assert engine.argv[engine.argv.index("--seed") + 1] == "3"
    assert "--enable-prefix-caching" in engine.argv
    assert engine.environment["HF_HOME"] == "/cache/huggingface"
    assert "HF_HUB_OFFLINE" not in engine.environment
    assert engine.devices == (0,)


def test_every_flag_exists_in_the_images_version() -> None:
    for device in ("cuda", "cpu"):
        [engine] = container_engines(request(), device)
        flags = {word for word in engine.argv if word.startswith("--")}
        assert flags
        assert flags <= engine_flags()[VERSIONS[device]].flags.keys()


def test_pods_without_the_volume_get_none_of_its_folders_but_those_that_the_file_names() -> None:
    document = parse(TEXT, "d.yaml").override("engine.env", {"HF_HOME": "/data", "X": "/cache/x"})
    [engine] = container_engines(Request(validate(document, Deployment), document, "d.yaml"), "cuda")
    assert without_folders(engine.environment) == {
        "HF_HOME": "/data", "X": "/cache/x", "VLLM_NO_USAGE_STATS": "1",
    }  # fmt: skip
