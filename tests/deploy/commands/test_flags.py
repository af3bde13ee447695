"""`teapot flags FILE`, with nothing installed."""

from __future__ import annotations

import argparse
import io
import json
import os
from pathlib import Path

import pytest

from deploy.commands import flags
from serving.console import Console
from serving.errors import UsageError
from serving.modes.mode import MachineFacts

TWO_CORES = MachineFacts((0, 1), 1, 20 * 1024**3, 1024**3)


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAPOT_HOME", str(tmp_path / "home"))
    for name in [name for name in os.environ if name.startswith(("VLLM_", "CUDA_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def shown(text: str, *arguments: str, as_json: bool = False) -> tuple[str, str]:
    Path("demo.yaml").write_text(text)
    parser = argparse.ArgumentParser()
    flags.configure(parser)
    console = Console(as_json=as_json, out=io.StringIO(), err=io.StringIO())
    asked = parser.parse_args(["demo.yaml", "--device", "cpu", *arguments])
    assert flags.run(asked, console, read=lambda *, accelerators: TWO_CORES) == 0
    return console.out.getvalue(), console.err.getvalue()  # type: ignore[attr-defined]  # both are StringIO


def test_the_command_and_its_sources_are_shown() -> None:
    out, err = shown(
        "name: demo\nmodes:\n  - {kind: quantized_kv, format: fp8}\n", "--set", "modes[0].format=fp8_e5m2"
    )
    assert "-m vllm.entrypoints.openai.api_server" in out
    assert "'<folder of smollm2-135m>'" in out
    assert "    --kv-cache-dtype fp8_e5m2" in out
    [row] = [line for line in out.splitlines() if line.startswith("  --kv-cache-dtype")]
    assert row.split() == ["--kv-cache-dtype", "fp8_e5m2", "--set", "modes[0].format"]
    assert "cannot start" not in err


def test_the_document_has_argv_environment_and_settings() -> None:
    out, _ = shown("name: demo\n", as_json=True)
    [engine] = json.loads(out)["engines"]
    assert engine["argv"][1:3] == ["-m", "vllm.entrypoints.openai.api_server"]
    assert engine["environment"]["VLLM_NO_USAGE_STATS"] == "1"
    assert {"name": "--host", "value": "127.0.0.1", "source": "teapot"} in engine["settings"]


def test_what_keeps_it_from_starting_is_said_beside_the_command() -> None:
    out, err = shown("name: demo\nmodes:\n  - {kind: parallel, tensor: 2}\nengine: {args: {dtype: bf16}}\n")
    assert "--tensor-parallel-size 2" in out
    assert "cannot start: demo.yaml:3: modes[0].tensor: 9 attention heads cannot be shared by 2" in err
    assert "cannot start: demo.yaml:4: engine.args.dtype: 'bf16' is no --dtype of vLLM 0.32.0" in err


def test_problems_are_data_with_their_gravity() -> None:
    out, _ = shown("name: demo\nmodes: [{kind: quantized_kv, format: fp8}]\n", as_json=True)
    problems = json.loads(out)["problems"]
    assert [problem["severity"] for problem in problems] == ["warning"]
    assert set(problems[0]) == {"severity", "problem", "source"}


def test_every_engine_of_a_pair_is_shown() -> None:
    text = "name: demo\nmodes:\n  - {kind: disaggregated, connector: {kind: nixl}}\n"
    out, _ = shown(text, as_json=True)
    engines = json.loads(out)["engines"]
    assert [engine["name"] for engine in engines] == ["demo-prefill-0", "demo-decode-0"]
    assert [engine["environment"]["VLLM_CPU_OMP_THREADS_BIND"] for engine in engines] == ["0", "1"]
    assert [engine["environment"]["VLLM_NIXL_SIDE_CHANNEL_PORT"] for engine in engines] == ["5600", "5700"]
    assert "engine demo-decode-0\n" in shown(text)[0]


def test_what_the_shell_says_is_shown_where_it_is_replaced_or_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "8")
    monkeypatch.setenv("VLLM_API_KEY", "a-secret")
    out, _ = shown("name: demo\n")
    [replaced] = [line for line in out.splitlines() if line.startswith("  VLLM_CPU_KVCACHE_SPACE")]
    assert replaced.endswith("default, in place of this shell's 8")
    assert "env -u VLLM_API_KEY " in out
    [removed] = [line for line in out.splitlines() if line.startswith("  VLLM_API_KEY")]
    assert removed.split(maxsplit=2)[1:] == ["(removed)", "teapot: engines would refuse the gateway"]
    assert "a-secret" not in out


def test_secrets_are_not_shown() -> None:
    text = "name: demo\nengine: {env: {HF_TOKEN: hf_abc}, args: {hf_token: hf_abd}}\n"
    for out in (shown(text)[0], shown(text, as_json=True)[0]):
        assert "hf_ab" not in out
        assert "(hidden)" in out


def test_the_answer_for_a_gpu_elsewhere_does_not_judge_this_machine() -> None:
    out, err = shown("name: demo\nreplicas: 4\n", "--device", "cuda", as_json=True)
    devices = [engine["environment"]["CUDA_VISIBLE_DEVICES"] for engine in json.loads(out)["engines"]]
    assert devices == ["0", "1", "2", "3"]
    assert err == ""


def test_a_local_folder_is_known_by_its_config(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    config = {"num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "vocab_size": 100}
    (tmp_path / "tiny" / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 512}))
    out, err = shown("name: demo\nmodel: tiny\nengine: {max_model_len: 1024}\n")
    assert f"--model {tmp_path / 'tiny'}" in out
    assert "--served-model-name tiny" in out
    assert "1024 is longer than the 512 positions of tiny" in err


def test_a_relative_folder_starts_at_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    test_a_local_folder_is_known_by_its_config(tmp_path)
    monkeypatch.chdir(tmp_path / "elsewhere")
    console = Console(out=io.StringIO(), err=io.StringIO())
    parser = argparse.ArgumentParser()
    flags.configure(parser)
    assert flags.run(parser.parse_args([str(tmp_path / "demo.yaml"), "--device", "cpu"]), console) == 0
    assert f"--model {tmp_path / 'tiny'}" in console.out.getvalue()  # type: ignore[attr-defined]  # a StringIO


def test_a_draft_is_shown_by_its_folder() -> None:
    out, _ = shown(
        "name: demo\nmodes: [{kind: speculative, method: draft_model, model: smollm2-135m, tokens: 3}]\n"
    )
    assert '"model":"<folder of smollm2-135m>"' in out


def test_a_broken_config_is_named(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "config.json").write_text("{")
    with pytest.raises(UsageError, match=r"tiny/config.json: is not JSON"):
        shown("name: demo\nmodel: tiny\n")


def test_a_hub_model_is_shown_without_asking_the_hub() -> None:
    out, _ = shown("name: demo\nmodel: org/model\n")
    assert "--model org/model" in out
    assert "HF_HUB_OFFLINE" not in out


def test_revisions_elsewhere_change_no_flag_and_alone_they_have_none() -> None:
    there = "{name: there, urls: ['http://10.0.0.7:8000/v1'], key_env: NOT_SET_HERE}"
    plain, _ = shown("name: demo\n")
    mixed, _ = shown(f"name: demo\nrevisions: [{{name: main}}, {there}]\n")
    assert mixed == plain
    alone, _ = shown(f"name: demo\nrevisions: [{there}]\n")
    assert alone == "no engines: every revision of this file is served elsewhere\n"
    document, _ = shown(f"name: demo\nrevisions: [{there}]\n", as_json=True)
    assert json.loads(document) == {"engines": [], "problems": []}
