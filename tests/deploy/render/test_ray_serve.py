"""Ray Serve LLM: flags as keyword arguments, and two configurations where prefill and decode are apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from fakes.clusters import rendered

from deploy.commands.render import render
from serving.facts.load_flags import engine_flags

PLAIN = """\
name: d
model: a/b
replicas: 3
engine: {max_model_len: 512, args: {enforce-eager: true}}
modes:
  - {kind: prefix_cache, enabled: false}
  - {kind: quantized_kv, format: fp8}
  - {kind: speculative, method: ngram, tokens: 4, prompt_lookup_max: 4, prompt_lookup_min: 2}
  - {kind: parallel, tensor: 2, executor: ray}
"""
PAIR = "name: d\nmodel: a/b\nmodes: [{kind: disaggregated, prefill: 2, decode: 3, connector: {kind: nixl}}]\n"


def application(tmp_path: Path, text: str) -> dict[str, Any]:
    [found] = yaml.safe_load(rendered(tmp_path, "ray", text)["ray/serve.yaml"])["applications"]
    inner: dict[str, Any] = found
    return inner


def test_flags_become_arguments_with_values_of_their_own_kinds(tmp_path: Path) -> None:
    found = application(tmp_path, PLAIN)
    assert found["import_path"] == "ray.serve.llm:build_openai_app"
    [config] = found["args"]["llm_configs"]
    assert config["model_loading_config"] == {"model_id": "a/b", "model_source": "a/b"}
    assert config["deployment_config"] == {"num_replicas": 3}
    assert config["engine_kwargs"] == {
        "max_model_len": 512,
        "enable_prefix_caching": False,
        "kv_cache_dtype": "fp8",
        "speculative_config": {
            "method": "ngram",
            "num_speculative_tokens": 4,
            "prompt_lookup_max": 4,
            "prompt_lookup_min": 2,
        },
        "tensor_parallel_size": 2,
        "enforce_eager": True,
    }


def test_a_value_is_what_vllms_parser_would_make_of_its_word(tmp_path: Path) -> None:
    args = """\
    revision: '2024'
    tokenizer-revision: 1e3
    max-num-scheduled-tokens: 8k
    cudagraph-capture-sizes: [4]
    compilation-config.mode: 3
    compilation-config.pass_config.fuse_norm_quant: false
    profiler-config.torch_profiler_dir: /trace/think
    profiler-config.max_iterations: 2K
    stream-interval: 2
    enforce-eager: false
"""
    found = application(tmp_path, f"name: d\nmodel: a/b\nengine:\n  args:\n{args}")
    kwargs = found["args"]["llm_configs"][0]["engine_kwargs"]
    assert kwargs["revision"] == "2024"
    assert kwargs["max_num_scheduled_tokens"] == 8000
    assert kwargs["cudagraph_capture_sizes"] == [4]
    assert kwargs["compilation_config"] == {"mode": 3, "pass_config": {"fuse_norm_quant": False}}
    assert kwargs["profiler_config"] == {"torch_profiler_dir": "/trace/think", "max_iterations": 2048}
    assert kwargs["stream_interval"] == 2
    assert kwargs["enforce_eager"] is False


def test_every_argument_is_a_flag_of_vllm(tmp_path: Path) -> None:
    [config] = application(tmp_path, PLAIN)["args"]["llm_configs"]
    known = engine_flags()["0.33.0"].flags
    assert all(f"--{name.replace('_', '-')}" in known for name in config["engine_kwargs"])


def test_prefill_and_decode_are_two_configurations_with_the_same_connector(tmp_path: Path) -> None:
    found = application(tmp_path, PAIR)
    assert found["import_path"] == "ray.serve.llm:build_pd_openai_app"
    prefill, decode = found["args"]["prefill_config"], found["args"]["decode_config"]
    assert prefill["deployment_config"] == {"num_replicas": 2}
    assert decode["deployment_config"] == {"num_replicas": 3}
    for config in (prefill, decode):
        assert config["engine_kwargs"]["kv_transfer_config"]["kv_connector"] == "NixlConnector"
        assert not any("SIDE_CHANNEL" in name for name in config["runtime_env"]["env_vars"]), (
            "Ray sets its own"
        )


def test_a_value_in_which_ray_replaces_variables_is_told(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("name: d\nmodel: a/b\nengine: {env: {A: 'x$HOME', B: y}}\n")
    notes = render("ray", str(file)).notes
    assert "engine.env A: Ray puts variables in place of $NAME in it" in notes


def test_hosts_are_said_to_mean_nothing_to_ray(tmp_path: Path) -> None:
    mode = "{kind: parallel, tensor: 2, executor: ray, hosts: [10.0.0.1, 10.0.0.2]}"
    text = f"name: d\nmodel: a/b\nmodes: [{mode}]\n"
    file = rendered(tmp_path, "ray", text)["ray/serve.yaml"]
    assert "# - hosts: Ray chooses the nodes of a rank" in file
    assert "10.0.0.1" not in file
