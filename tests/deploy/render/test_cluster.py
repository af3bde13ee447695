"""What targets on a cluster refuse, and say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.clusters import rendered

from deploy.render.target import NONE, Choices
from serving.errors import UsageError

EVERY = ("kubernetes", "lws", "kserve", "production-stack", "ray")
PAIR = "modes: [{kind: disaggregated, prefill: 1, decode: 1, connector: {kind: %s}}]\n"


def refused(tmp_path: Path, target: str, text: str, choices: Choices = NONE) -> str:
    with pytest.raises(UsageError) as caught:
        rendered(tmp_path, target, text, choices)
    return str(caught.value)


@pytest.mark.parametrize("target", EVERY)
@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("name: d\n", "d.yaml:1: model", "lies on this machine"),
        ("name: d\nmodel: /models/x\n", "d.yaml:2: model", "give a hub id"),
        ("name: '1e3'\nmodel: a/b\n", "d.yaml:1: name", "begin it with a letter"),
        (f"name: {'x' * 41}\nmodel: a/b\n", "d.yaml:1: name", "use at most 40"),
        ("name: d\nmodel: a/b\nengine: {device: rocm}\n", "engine.device", "render for cuda or cpu"),
        ("name: d\nmodel: a/b\nmodes: [{kind: lora, adapters: {x: a/c}}]\n", "modes[0]", "lora is not"),
        (
            "name: d\nmodel: a/b\nrevisions: [{name: main}, {name: b, urls: ['http://x/v1']}]\n",
            "revisions", "leave them out",
        ),
        ("name: d\nrevisions: [{name: b, urls: ['http://x/v1']}]\n", "revisions", "no engine"),
    ],
)  # fmt: skip
def test_what_no_cluster_carries_is_refused_with_its_line(
    tmp_path: Path, target: str, text: str, where: str, words: str
) -> None:
    told = refused(tmp_path, target, text)
    assert where in told
    assert words in told


@pytest.mark.parametrize("target", ["kubernetes", "lws", "production-stack"])
def test_prefill_and_decode_apart_are_refused_where_no_router_sends_both_legs(
    tmp_path: Path, target: str
) -> None:
    told = refused(tmp_path, target, "name: d\nmodel: a/b\n" + PAIR % "nixl")
    assert "d.yaml:3: modes[0]: disaggregated is not carried over" in told
    assert "render kserve or ray" in told


@pytest.mark.parametrize("target", ["kserve", "ray"])
def test_a_connector_that_a_router_does_not_speak_is_refused(tmp_path: Path, target: str) -> None:
    told = refused(tmp_path, target, "name: d\nmodel: a/b\n" + PAIR % "mooncake")
    assert "connector mooncake is not carried over" in told
    assert "nixl" in told


@pytest.mark.parametrize("target", ["kubernetes", "kserve", "production-stack"])
def test_an_engine_that_needs_several_nodes_is_sent_to_lws(tmp_path: Path, target: str) -> None:
    text = "name: d\nmodel: a/b\nmodes: [{kind: parallel, tensor: 8, pipeline: 2}]\n"
    assert "16 ranks need 2 nodes" in refused(tmp_path, target, text)
    assert "16 ranks need 4 nodes" in refused(tmp_path, target, text, Choices(gpus_per_node=4))
    assert rendered(tmp_path, target, text, Choices(gpus_per_node=16))


@pytest.mark.parametrize("target", ["kubernetes", "lws", "kserve", "production-stack"])
def test_ranks_that_ray_is_to_start_are_sent_to_ray(tmp_path: Path, target: str) -> None:
    text = "name: d\nmodel: a/b\nmodes: [{kind: parallel, tensor: 2, executor: ray}]\n"
    assert "render ray" in refused(tmp_path, target, text)


def test_on_cpu_the_image_is_the_one_for_cpu_and_cores_are_asked_for(tmp_path: Path) -> None:
    text = "name: d\nmodel: a/b\nengine: {device: cpu, cores: 4, kv_cache_memory: 3GiB}\n"
    serving = rendered(tmp_path, "kubernetes", text)["kubernetes/serving.yaml"]
    assert "vllm/vllm-openai-cpu:v0.32.0" in serving
    assert "nvidia.com/gpu" not in serving
    assert "cpu: '4'" in serving


def test_a_drafting_model_on_this_machine_is_refused_too(tmp_path: Path) -> None:
    mode = "{kind: speculative, method: draft_model, model: ./draft, tokens: 3}"
    told = refused(tmp_path, "kubernetes", f"name: d\nmodel: a/b\nmodes: [{mode}]\n")
    assert "d.yaml:3: modes[0].model: model './draft' is no hub id" in told


@pytest.mark.parametrize("target", ["kubernetes", "ray"])
def test_sections_that_only_serve_reads_are_said(tmp_path: Path, target: str) -> None:
    text = "name: d\nmodel: a/b\nprometheus: {enabled: false}\ngrafana: {url: 'http://g'}\n"
    head = "".join(rendered(tmp_path, target, text).values())
    assert "# - prometheus, grafana: read by `teapot serve` only" in head
