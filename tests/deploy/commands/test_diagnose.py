"""`teapot diagnose` on a run folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy.cli import main
from loadgen.server_metrics import ServerSample

FILE = "name: demo\nengine: {device: cpu, max_num_seqs: 4, kv_cache_memory: 460MiB}\nslo: {ttft: 200ms}\n"


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAPOT_HOME", str(tmp_path / "home"))


def run_folder(folder: Path, requests: int) -> Path:
    """A run of a minute in which four seats were taken and two requests waited."""
    seen = {
        "vllm:num_requests_running": 4.0,
        "vllm:num_requests_waiting": 2.0,
        "vllm:kv_cache_usage_perc": 0.2,
        "vllm:e2e_request_latency_seconds_count": 0.0,
    }
    later = seen | {"vllm:e2e_request_latency_seconds_count": float(requests)}
    samples = [
        ServerSample(0, "http://e/metrics", seen, {}, True),
        ServerSample(60 * 10**9, "http://e/metrics", later, {}, True),
    ]
    folder.mkdir()
    (folder / "server.jsonl").write_text("".join(f"{sample.to_json()}\n" for sample in samples))
    (folder / "demo.yaml").write_text(FILE)
    return folder


def test_the_deployment_file_adds_what_metrics_do_not_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path / "run", 100)
    assert main(["diagnose", "--run", str(folder), str(folder / "demo.yaml"), "--json"]) == 0
    [engine] = json.loads(capsys.readouterr().out)["engines"]
    assert engine["bound"] == "max_num_seqs"
    assert "+engine: {device: cpu, max_num_seqs: 8, kv_cache_memory: 460MiB}" in engine["levers"][0]["diff"]


def test_without_the_file_the_rule_is_named_as_silent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", "--run", str(run_folder(tmp_path / "run", 100))]) == 0
    assert "seats needs running_max, max_num_seqs, waiting_mean" in " ".join(capsys.readouterr().out.split())


def test_too_little_data_is_inconclusive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--run", str(run_folder(tmp_path / "run", 3))]) == 3
    assert "20 are needed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--verify"], "there is no deployment to try it on"),
        (["--gpu", "h100-sxm"], "--gpu: says nothing without FILE"),
        (["--lever", "seats"], "--lever: says nothing without --verify"),
        (["--repeats", "2"], "--repeats: says nothing without --verify"),
        (
            ["demo.yaml", "--verify", "--lever", "seat"],
            "--lever: there is no lever 'seat'; did you mean 'seats'?",
        ),
    ],
)
def test_what_would_be_dropped_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert main(["diagnose", "--run", str(run_folder(tmp_path / "run", 100)), *words]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--engine", "foo"], "--engine: 'foo' is not an http or https address"),
        (["--engine", "http://127.0.0.1:9"], "http://127.0.0.1:9/metrics: its metrics cannot be read"),
        (["--engine", "http://127.0.0.1:9", "--verify"], "there is no deployment to try it on"),
        (["FILE", "--engine", "http://127.0.0.1:9", "--gpu", "h100-sx"], "the GPU 'h100-sx' is not known"),
        (
            ["FILE", "--engine", "http://127.0.0.1:9", "--gpu-memory", "80GiB"],
            "lacks --bandwidth and --flops",
        ),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_watched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    file = run_folder(tmp_path / "run", 100) / "demo.yaml"
    assert main(["diagnose", *(str(file) if word == "FILE" else word for word in words)]) in (1, 2)
    said = capsys.readouterr().err
    assert told in said
    assert "watching" not in said


def test_a_time_without_unit_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["diagnose", "--for", "60"])
    assert caught.value.code == 2
    assert "has no unit" in capsys.readouterr().err
