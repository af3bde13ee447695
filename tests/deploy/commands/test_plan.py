"""`teapot plan`, from words to answers and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.planning import config

from deploy.cli import main

LLAMA = "meta-llama/Meta-Llama-3.1-8B"


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "config.json").write_text(json.dumps(config(LLAMA)))
    return str(tmp_path / "config.json")


def test_json_has_what_scripts_rely_on(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = "--gpu h100-sxm --count 4 --tensor 4 --max-model-len 8192"
    words += " --kv-format fp8 --weight-format bf16 --users 32"
    assert main(["plan", "--model", model, *words.split(), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["kv_bytes_per_token"] == 65536
    assert made["params_total"] == 8030261248
    assert made["weight_bytes"] == 16060522496
    assert made["fits"] is True
    assert made["advice"]
    assert made["figures"]["kv_cache_tokens"]["kind"] == "fitted"


def test_what_does_not_fit_is_exit_1(model: str) -> None:
    assert main(["plan", "--model", model, "--gpu", "a10", "--max-model-len", "131072"]) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--gpu", "h10"],
        ["--gpu", "l4", "--tensor", "3"],
        ["--gpu", "l4", "--kv-format", "fp9"],
        ["--gpu", "l4", "--price", "l4=1"],
        ["--gpu", "l4", "--acceptance", "0.7"],
        ["--gpu", "l4", "--vllm-version", "newest"],
        [],
    ],
)
def test_a_wrong_question_is_exit_2(model: str, words: list[str]) -> None:
    assert main(["plan", "--model", model, *words]) == 2


def test_neither_file_nor_model_is_exit_2() -> None:
    assert main(["plan"]) == 2


def test_an_impossible_option_is_exit_2(model: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(["plan", "--model", model, "--gpu", "l4", "--users", "0"])
    assert left.value.code == 2


def test_formats_are_compared(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", model, "--gpu", "h100-sxm", "--compare", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 6
    assert rows[0]["users_per_device"] >= rows[-1]["users_per_device"]


def test_devices_are_compared_without_naming_one(model: str) -> None:
    assert main(["plan", "--model", model, "--compare", "gpus", "--max-model-len", "8192"]) == 0


def test_caches_of_several_models_are_compared(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", model, "smollm2-135m", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["overtakes_weights_at_tokens"] == 122533


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("--set", "engine.version=1"), "--set"),
        (("--price", "l4=1"), "--price"),
        (("--compare", "--html", "x.html"), "--html"),
        (("--compare", "gpus", "--bandwidth", "10", "--flops", "1"), "--bandwidth, --flops"),
        (("--compare", "--kv-format", "fp8"), "--kv-format"),
        (("--compare", "gpus", "--gpu", "l4"), "--gpu"),
        (("--compare", "counts", "--gpu", "l4", "--count", "2", "--data", "2"), "--count, --data"),
        (("smollm2-135m", "--users", "3", "--html", "x.html"), "--users, --html"),
        (("smollm2-135m", "--compare", "counts"), "--compare"),
    ],
)
def test_an_option_that_would_not_be_heard_is_refused(
    model: str, words: tuple[str, ...], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--model", model, *words, "--json"]) == 2
    assert [problem["where"] for problem in json.loads(capsys.readouterr().out)["error"]] == [option]


def test_a_fleet_refuses_what_it_would_not_hear(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--fleet", "40", "--goodput", "3", "--users", "5", "--compare", "--html", "x.html"]
    assert main(["plan", *words, "--json"]) == 2
    [problem] = json.loads(capsys.readouterr().out)["error"]
    assert problem["where"] == "--users, --compare, --html"


def test_a_page_is_written(model: str, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    assert main(["plan", "--model", model, "--gpu", "h100-sxm", "--html", str(page)]) == 0
    assert "<svg" in page.read_text()
    assert main(["plan", "--model", model, "--gpu", "h100-sxm", "--html", str(tmp_path / "no" / "x")]) == 1


def loaded(*words: str) -> set[str]:
    """The modules that a process has after `teapot` with these words."""
    code = (
        "import sys; from deploy.cli import main; "
        f"code = main({list(words)!r}); sys.stderr.write(' '.join(sys.modules)); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


SERVERS = {"aiohttp", "asyncio", "locust", "gevent", "prometheus_client", "openai"}


@pytest.mark.slow
def test_an_answer_about_a_model_waits_for_no_server_no_load_generator_and_no_schema(model: str) -> None:
    found = loaded("plan", "--model", model, "--gpu", "h100-sxm", "--json")
    assert not found & (SERVERS | {"pydantic", "yaml", "subprocess", "serving.planner.compare"})


@pytest.mark.slow
def test_an_answer_about_a_file_waits_only_for_what_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("name: d\nengine: {max_model_len: 2048}\n")
    found = loaded("plan", str(file), "--gpu", "l4", "--json")
    assert "pydantic" in found
    own = {"serving.engine.models", "serving.engine.pip", "serving.gateway", "serving.planner.compare"}
    own |= {"serving.planner.check", "serving.facts.messages", "serving.facts.metrics", "loadgen"}
    own |= {"serving.facts.flags", "serving.modes.problems", "serving.planner.page", "deploy.prepared"}
    own |= {"serving.engine.environments", "serving.engine.process", "ssl", "http", "urllib.request"}
    assert not found & (SERVERS | own)


def test_what_a_file_says_itself_is_not_dropped_but_refused_with_its_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("name: d\n")
    words = "--gpu l4 --kv-format fp8 --max-model-len 4096 --expert --compare"
    assert main(["plan", str(file), *words.split()]) == 2
    said = capsys.readouterr().err
    assert "--kv-format: a deployment file says this itself; use its mode quantized_kv" in said
    assert "--max-model-len" in said
    assert "--expert" in said
    assert "--compare" in said


def test_a_model_is_planned_for_this_machines_cpu(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "--model", model, "--device", "cpu", "--bandwidth", "20", "--flops", "1", "--json"]
    main([*words, "--max-model-len", "2048", "--kv-cache-memory", "1GiB"])
    made = json.loads(capsys.readouterr().out)
    assert (made["device"], made["gpu"]) == ("cpu", None)
    # 1 GiB in blocks of 128 tokens of 131,072 bytes.
    assert made["kv_cache_tokens"] == 64 * 128
    # All but the input embedding is read once, and 2,048 tokens of cache, at 20 GB/s.
    read = 2 * (8_030_261_248 - 128256 * 4096) + 2048 * 131_072
    assert made["decode_step_floor_s"] == pytest.approx(read / 20e9)
    assert made["tpot_calibrated_s"] is None


def test_cpu_and_gpus_are_not_mixed(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", model, "--device", "cpu", "--gpu", "l4"]) == 2
    assert main(["plan", "--model", model, "--device", "cpu", "--compare", "gpus"]) == 2
    assert "leave" in capsys.readouterr().err


@pytest.mark.slow
def test_an_output_without_signs_for_bars_gets_others(model: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deploy.cli", "plan", "--model", model, "--gpu", "l4"],
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.isascii()
    assert b"# weights 14.96" in done.stdout


def test_a_page_at_no_path_is_a_wrong_question(model: str) -> None:
    assert main(["plan", "--model", model, "--gpu", "h100-sxm", "--html", "a\0b"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        ("--device", "cpu", "--gpu-memory", "8GiB"),
        ("--device", "cpu", "--gpu-memory-utilization", "0.5", "--enforce-eager"),
        ("--gpu", "h100-sxm", "--compare", "--price", "l4=1"),
        ("--gpu", "h100-sxm", "--compare", "--price", "h100-sxm=1", "h100=2"),
        ("--gpu", "h100-sxm", "--vllm-version", "0.33.x"),
        ("--gpu", "h100-sxm", "--weight-format", ""),
        ("--gpu", "h100-sxm", "--gpu-memory", "0GiB"),
        ("--gpu", "h100-sxm", "--kv-cache-memory", "0GiB"),
        ("--gpu", "h100-sxm", "--kv-format", "fp8_ds_mla"),
        ("--gpu", "h100-sxm", "--data", "9" * 400),
    ],
)
def test_what_would_not_be_heard_or_cannot_be_is_exit_2_with_its_name(
    model: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--model", model, *words, "--json"]) == 2
    [problem] = json.loads(capsys.readouterr().out)["error"]
    assert problem["where"]
    assert problem["fix"]


def test_a_storage_that_is_not_known_can_be_named(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = {**config(LLAMA), "quantization_config": {"quant_method": "bitsandbytes"}}
    (tmp_path / "config.json").write_text(json.dumps(odd))
    words = ["--gpu", "h100-sxm", "--max-model-len", "8192"]
    assert main(["plan", "--model", model, *words]) == 2
    assert "name the storage that comes nearest with --weight-format" in capsys.readouterr().err
    assert main(["plan", "--model", model, *words, "--weight-format", "awq"]) == 0


def test_caches_are_compared_with_weights_as_they_are_stored(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    eight = tmp_path / "eight.json"
    section = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    eight.write_text(json.dumps({**config(LLAMA), "quantization_config": section}))
    assert main(["plan", "--model", model, str(eight), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    sixteen, half = (rows[at]["weight_bytes"] for at in (0, 3))
    assert sixteen == 16_060_522_496
    # Embedding and lm_head stay at 16 bits: 2 * 128,256 * 4,096 of 8.03e9 parameters.
    assert half == pytest.approx(8.03e9 + 1.05e9, rel=0.01)


def test_a_table_without_any_answer_is_a_wrong_question(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--model", model, "--compare", "gpus", "--count", "3"]) == 2
    assert "cannot be shared by 3 ranks" in capsys.readouterr().err
