from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from fakes.engine_home import EngineHome, make_engine_home
from fakes.studies import CHAT

from deploy.cli import main
from serving.engine.ports import is_free


@pytest.fixture
def home(tmp_path, monkeypatch) -> EngineHome:
    made = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(made.root))
    return made


@pytest.fixture
def file(tmp_path, home) -> Path:
    path = tmp_path / "two.yaml"
    deployment = {
        "name": "base",
        "model": str(home.root / "models" / "tiny"),
        "engine": {"device": "cpu", "max_model_len": 2048, "kv_cache_memory": "1GiB"},
    }
    study = {
        "name": "two",
        "deployment": deployment,
        "arms": {
            "plain": {},
            "fp8": {"modes": [{"kind": "quantized_kv", "format": "fp8"}]},
            "int4": {"modes": [{"kind": "quantized_kv", "format": "int4_per_token_head"}]},
        },
        "workloads": {"chat": CHAT},
        "repeats": 1,
    }
    path.write_text(yaml.safe_dump(study, sort_keys=False))
    return path


def test_a_dry_run_shows_cells_time_and_what_is_ruled_out_and_makes_nothing(file, tmp_path, capsys):
    assert main(["study", "run", str(file), "--dry-run", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "two: 2 arms, 1 workload, 1 repeat: 2 starts, 2 cells, about" in shown
    assert "ruled out: int4: " in shown
    assert "-fp8-chat  block 1" in shown
    assert not (tmp_path / "out").exists()


def test_a_dry_run_as_json_is_the_whole_design(file, capsys):
    assert main(["study", "run", str(file), "--dry-run", "--json"]) == 0
    design = json.loads(capsys.readouterr().out)
    assert [arm["name"] for arm in design["arms"]] == ["plain", "fp8", "int4"]
    assert len(design["starts"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "none.yaml"], "no such file"),
        (["run", "two.yaml", "--resume"], "--resume: nobody says what to go on with; give --out DIR"),
        (["run", "two.yaml", "--set", "repeat=3"], "did you mean 'repeats'?"),
        (["run", "two.yaml", "--set", "budget=10s"], "with hold: true|even one repeat"),
        (["report", "nowhere"], "there is no study.json"),
    ],
)
def test_wrong_words_are_a_2_with_what_to_do(words, said, file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["study", *words]) == 2
    shown = capsys.readouterr().err
    assert any(part in shown for part in said.split("|"))


@pytest.mark.slow
def test_a_study_runs_from_its_file_to_its_page_and_a_mode_not_in_effect_is_a_row(file, tmp_path, capsys):
    """As a user does it, with a scripted engine: that gives 93,184 tokens in any format, which is the lie."""
    out = tmp_path / "out"
    code = main(["study", "run", str(file), "--out", str(out)])
    shown = capsys.readouterr()
    assert code == 3, shown.err
    assert "1 repeat" in shown.out
    assert "fp8: mode 'quantized_kv' (fp8) is not in effect" in shown.out
    assert (out / "report.html").stat().st_size > 10_000
    assert [path.parent.name for path in out.glob("cells/*/load/summary.json")]
    assert main(["study", "report", str(out)]) == 3
    assert "is not in effect" in capsys.readouterr().out
    assert main(["study", "run", str(file), "--out", str(out)]) == 2
    assert "holds a study already" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_ends_it_in_order_with_130_and_leaves_nothing_running(file, tmp_path, home):
    out = tmp_path / "out"
    words = ["study", "run", str(file), "--out", str(out), "--set", "workloads.chat.arrival.requests=4000"]
    environ = {**os.environ, **home.environ}
    study = subprocess.Popen(
        [sys.executable, "-m", "deploy.cli", *words], env=environ, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(out.glob("cells/*/load/records.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.1)
    study.send_signal(signal.SIGINT)
    _, said = study.communicate(timeout=60)
    assert study.returncode == 130, said
    assert "2 cells to go; --resume goes on with them" in said
    engine = json.loads(next(out.glob("starts/*/start.json")).read_text())
    assert engine["state"] == "up"
    assert (out / "summary.json").exists()
    manifest = json.loads(next(out.glob("cells/*/load/manifest.json")).read_text())
    assert all(is_free("127.0.0.1", _port(url)) for url in (manifest["target"], *manifest["metrics_urls"]))


def _port(url: str) -> int:
    return int(url.split(":")[2].split("/")[0])
