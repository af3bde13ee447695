"""`teapot flags FILE`, with nothing installed."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import pytest

from deploy.commands import flags
from serving.console import Console
from serving.errors import UsageError


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAPOT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def shown(text: str, *arguments: str, as_json: bool = False) -> tuple[str, str]:
    Path("demo.yaml").write_text(text)
    parser = argparse.ArgumentParser()
    flags.configure(parser)
    console = Console(as_json=as_json, out=io.StringIO(), err=io.StringIO())
    assert flags.run(parser.parse_args(["demo.yaml", "--device", "cpu", *arguments]), console) == 0
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
    assert err == ""


def test_the_document_has_argv_environment_and_settings() -> None:
    out, _ = shown("name: demo\n", as_json=True)
    [engine] = json.loads(out)["engines"]
    assert engine["argv"][1:3] == ["-m", "vllm.entrypoints.openai.api_server"]
    assert engine["environment"]["VLLM_NO_USAGE_STATS"] == "1"
    assert {"name": "--host", "value": "127.0.0.1", "source": "teapot"} in engine["settings"]


def test_what_keeps_it_from_starting_is_said_beside_the_command() -> None:
    out, err = shown("name: demo\nmodes:\n  - {kind: parallel, tensor: 2}\n")
    assert "--tensor-parallel-size 2" in out
    assert err.splitlines() == [
        "cannot start: demo.yaml:3: modes[0]: mode 'parallel' cannot be started yet in this version",
        "cannot start: demo.yaml:3: modes[0]: 9 attention heads cannot be shared by 2 tensor-parallel ranks; "
        "set tensor to one of 1, 3, 9",
    ]


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


def test_a_broken_config_is_named(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "config.json").write_text("{")
    with pytest.raises(UsageError, match=r"tiny/config.json: is not JSON"):
        shown("name: demo\nmodel: tiny\n")


def test_a_hub_model_is_shown_without_asking_the_hub() -> None:
    out, _ = shown("name: demo\nmodel: org/model\n")
    assert "--model org/model" in out
    assert "HF_HUB_OFFLINE" not in out
