"""Predicted against actual: labels and log lines of real engines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fakes.planning import ask, cache_of, plan

from serving.facts.load import model_configs, overheads
from serving.planner.check import check, loaded_bytes, summary, warnings
from serving.planner.model import model_shape
from serving.planner.plan import make_plan

LOG = Path(__file__).parents[2] / "golden" / "engine_logs" / "vllm-0.32.0-cpu-compiled.log"
SMOLLM = model_shape(model_configs()["smollm2-135m"], "smollm2")
ASK = ask(
    SMOLLM, device="cpu", version="0.32.0", gpu=None, memory_bytes=2**34, kv_cache_bytes=2**31,
    max_model_len=2048, cache=cache_of(device="cpu"),
)  # fmt: skip
LABELS = {
    "kv_cache_memory_bytes": "2147483648",
    "num_gpu_blocks": "728",
    "kv_cache_size_tokens": "93184",
    "kv_cache_max_concurrency": "45.5",
}


def test_a_cpu_engine_is_met_to_the_unit_by_its_labels() -> None:
    rows = {row.name: row for row in check(make_plan(ASK, overheads()), LABELS, [])}
    assert [rows[name].error for name in ("kv_cache", "kv_blocks", "kv_cache_tokens", "max_concurrency")] == [
        0
    ] * 4
    assert rows["weights"].ok is None
    assert list(warnings(rows.values())) == []
    assert summary(rows.values()) == (
        "has KV cache 2.00 GiB, blocks 728, tokens 93,184, concurrency 45.50: all as predicted"
    )


def test_the_log_tells_where_labels_do_not() -> None:
    rows = {row.name: row for row in check(make_plan(ASK, overheads()), {}, LOG.read_text().splitlines())}
    assert rows["kv_cache_tokens"].actual == 93184
    assert rows["max_concurrency"].ok is True
    assert rows["kv_blocks"].actual is None


def test_an_error_above_the_band_is_a_warning_with_a_pointer() -> None:
    rows = check(make_plan(ASK, overheads()), {**LABELS, "kv_cache_size_tokens": "46592"}, [])
    (said,) = warnings(rows)
    assert "the plan said tokens 93,184 and the engine has 46,592 (-50.0%" in said
    assert "docs/planner.md" in said
    assert "tokens 46,592 (93,184 predicted)" in summary(rows)
    assert summary(rows).endswith(": not as predicted")


def test_a_gpu_engine_is_held_to_the_band_of_its_overheads() -> None:
    # llm-d-planner's published record of vLLM 0.19 on H100.
    asked = replace(ask(), version="0.19", utilization=0.95)
    log = ["Model loading took 14.99 GiB memory and 3.2 seconds", "Available KV cache memory: 58.11 GiB"]
    rows = {row.name: row for row in check(make_plan(asked, overheads()), {"num_gpu_blocks": "29751"}, log)}
    assert rows["weights"].ok
    assert rows["kv_cache"].ok
    assert 0 < rows["kv_blocks"].band < 0.02
    assert summary(rows.values()).startswith(
        "has weights 14.99 GiB (14.96 GiB predicted), KV cache 58.11 GiB"
    )
    assert summary(rows.values()).endswith(": within the stated error")


def test_what_loading_took_is_told_by_the_log_alone() -> None:
    assert loaded_bytes(["starting", "Model loading took 1.50 GiB memory and 3.2 seconds"]) == 1_610_612_736
    assert loaded_bytes(["starting"]) is None


def test_a_label_that_is_no_number_is_not_told() -> None:
    rows = {row.name: row for row in check(plan(), {"num_gpu_blocks": "None"}, [])}
    assert rows["kv_blocks"].document()["ok"] is None
    assert summary(rows.values()) == "tells nothing of its KV cache"
