"""A study of two arms with the real engine: what it measures and predicts, and going on with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.deployments import teapot

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]
LOOK_UP = {
    "kind": "speculative",
    "method": "ngram",
    "tokens": 3,
    "prompt_lookup_max": 4,
    "prompt_lookup_min": 2,
}
STUDY: dict[str, Any] = {
    "name": "e2e",
    "arms": {"plain": {}, "both": {"modes": [{"kind": "quantized_kv", "format": "fp8"}, LOOK_UP]}},
    "workloads": {
        "repeat": {
            "arrival": {"process": "closed", "concurrency": 2, "requests": 8},
            "warmup": {"requests": 2},
            "prompts": {"kind": "prompt_set", "kinds": ["repeat"], "output_tokens": 24},
            "sampling": {"temperature": 0, "ignore_eos": True},
        }
    },
    "repeats": 2,
    "hold": True,
}


def test_a_study_with_the_real_engine_tells_capacity_and_acceptance_and_goes_on_where_it_was(
    tiny_llama: Path, tmp_path: Path
) -> None:
    engine = {"max_model_len": 2048, "kv_cache_memory": "1GiB", "args": {"enforce_eager": True}}
    file, out = tmp_path / "study.yaml", tmp_path / "out"
    deployment = {"name": "base", "model": str(tiny_llama), "engine": engine}
    file.write_text(yaml.safe_dump({**STUDY, "deployment": deployment}, sort_keys=False))
    done = teapot("study", "run", str(file), "--out", str(out), timeout_s=800)
    # 3: on a busy machine a load may not be valid, which is then said.
    assert done.returncode in (0, 3), done.stderr
    summary = json.loads((out / "summary.json").read_text())
    assert [(arm["name"], arm["state"]) for arm in summary["arms"]] == [("plain", "done"), ("both", "done")]
    assert [mode["in_effect"] for mode in summary["arms"][1]["modes"]] == [True, True]
    figures = {(row["arm"], row["measure"]): row["figure"]["value"] for row in summary["rows"]}
    # 4 layers of 4 KV heads of 64: 4,096 bytes a token in 16 bits, half of that in 8.
    assert figures["plain", "kv_cache_tokens"] == 262_144
    assert figures["both", "kv_cache_tokens"] == 524_288
    # A model of random weights may repeat nothing that could be looked up; then there is no ratio.
    assert 0 <= figures.get(("both", "acceptance_ratio"), 0.0) <= 1
    assert figures["both", "tokens_per_pass"] >= 1
    # Every answer has 24 tokens, by the engine's own counter too.
    cells = [json.loads(path.read_text()) for path in out.glob("cells/*/cell.json")]
    assert [cell["counters"]["vllm:generation_tokens_total"] for cell in cells] == [8 * 24] * 4
    held = {one["measure"]: one["held"] for one in summary["predictions"]}
    assert held["kv_cache_tokens"] is True
    again = teapot("study", "run", str(file), "--out", str(out), "--resume", timeout_s=60)
    assert "starting" not in again.stderr
    assert (out / "report.html").stat().st_size > 10_000
