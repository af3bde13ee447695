"""The plan of a start: refused in numbers, said, compared and kept."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from deploy.plan_start import compare_start, plan_start
from serving.config.document import Document
from serving.config.schema import Deployment
from serving.console import Console
from serving.engine.models import LocalModel
from serving.errors import Failed, UsageError
from serving.facts.load import model_configs
from serving.modes.mode import EngineContext, MachineFacts
from serving.planner.fit import Fit

GIB = 1024**3
DOCUMENT = Document("d.yaml", {}, {("model",): 2})
SMOLLM = LocalModel("smollm2-135m", "nowhere/smollm2-135m", model_configs()["smollm2-135m"], offline=True)
CONTEXT = EngineContext("cpu", "0.32.0", None, machine=MachineFacts((0,), 1, 16 * GIB, GIB))
SAID = "CPU KV cache size: {} tokens, Maximum concurrency for 2,048 tokens per request: 45.50x"


def planned(console: Console, model: LocalModel = SMOLLM, **engine: Any) -> Fit | None:
    deployment = Deployment.model_validate_json(json.dumps({"name": "d", "engine": engine}))
    return plan_start(deployment, DOCUMENT, model, CONTEXT, console)


def quiet() -> Console:
    return Console(err=io.StringIO(), out=io.StringIO())


def test_what_cannot_fit_is_refused_with_the_nearest_that_would() -> None:
    with pytest.raises(
        Failed, match=r"does not fit: one request of 8,192 tokens needs .*kv_cache_memory: 192MiB"
    ):
        planned(quiet(), kv_cache_memory="64MiB")


def test_what_no_engine_starts_with_is_refused_and_not_merely_unplanned() -> None:
    chunks = [{"kind": "chunked_prefill", "max_batched_tokens": 16}]
    text = json.dumps({"name": "d", "engine": {"max_num_seqs": 64}, "modes": chunks})
    with pytest.raises(UsageError, match=r"d.yaml: max_num_batched_tokens: is 16, less than max_num_seqs 64"):
        plan_start(Deployment.model_validate_json(text), DOCUMENT, SMOLLM, CONTEXT, quiet())


def test_what_fits_is_said() -> None:
    console = quiet()
    assert planned(console, max_model_len=2048) is not None
    assert "plan: fits: 93,184 KV tokens" in console.err.getvalue()  # type: ignore[attr-defined]  # a StringIO


def test_a_model_that_cannot_be_planned_is_started_with_a_note() -> None:
    console = quiet()
    unknown = LocalModel("new", "nowhere/new", {"architectures": ["NewForCausalLM"]}, offline=True)
    assert planned(console, unknown) is None
    assert "note: not planned:" in console.err.getvalue()  # type: ignore[attr-defined]  # a StringIO


def test_what_the_engine_tells_is_compared_and_kept(tmp_path: Path) -> None:
    console = quiet()
    found = planned(console, max_model_len=2048)
    assert found is not None
    kept = tmp_path / "d-0.plan.json"
    compare_start(found, "d-0", [SAID.format("93,184")], {}, kept=kept, console=console)
    assert "plan: d-0 has tokens 93,184, concurrency 45.50: all as predicted" in console.err.getvalue()  # type: ignore[attr-defined]  # a StringIO
    rows = {row["name"]: row for row in json.loads(kept.read_text())["figures"]}
    assert rows["kv_cache_tokens"]["ok"] is True


def test_an_error_above_its_band_is_a_warning(tmp_path: Path) -> None:
    console = quiet()
    found = planned(console, max_model_len=2048)
    assert found is not None
    compare_start(found, "d-0", [SAID.format("46,592")], {}, kept=tmp_path / "x.json", console=console)
    assert "warning: the plan said tokens 93,184 and the engine has 46,592" in console.err.getvalue()  # type: ignore[attr-defined]  # a StringIO
