"""Plans against vLLM's own classes: the bytes of a rank and the capacity of its cache, to the unit.

The record is what `tests/e2e/count_model.py` said in an engine environment of vLLM 0.32.0, and
`tests/e2e/test_counts.py` holds it to that again. Parameters are those of transformers' classes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.planning import ask, cache_of

from serving.facts.load import kv_formats, overheads, weight_storage
from serving.facts.storage import find_storage
from serving.planner.model import model_shape
from serving.planner.plan import Plan, memory_plan
from serving.planner.shape import ModelShape
from serving.planner.weights import Ranks

RECORD: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "golden" / "engine_counts.json").read_text("utf-8")
)


def shape_of(name: str) -> ModelShape:
    return model_shape(RECORD["models"][name], name)


def planned(case: dict[str, Any], asked: tuple[int, int, int]) -> Plan:
    model, device = shape_of(case["model"]), "cuda" if case.get("gpu") else "cpu"
    storage = find_storage(model.quantization or "bf16", weight_storage())
    assert storage is not None
    longest, batched, memory = asked
    question = ask(
        model,
        weights=replace(storage, ignore=model.ignore),
        cache=cache_of(case.get("kv", "auto"), device=device),
        device=device,
        ranks=Ranks(**{key: case[key] for key in ("tensor", "pipeline", "data", "expert") if key in case}),
        memory_bytes=2**50,
        max_model_len=longest,
        max_num_batched_tokens=batched,
        kv_cache_bytes=memory,
        prefix_cache=case.get("prefix_cache", True),
    )
    return memory_plan(question, overheads())


def named(case: dict[str, Any]) -> str:
    spread = {key: value for key, value in case.items() if key not in ("asks", "stages", "answers")}
    return " ".join(f"{key}={value}" for key, value in spread.items())


@pytest.mark.parametrize("case", RECORD["cases"], ids=named)
def test_a_rank_and_its_cache_are_those_of_vllms_own_classes(case: dict[str, Any]) -> None:
    plans = [planned(case, asked) for asked in case["asks"]]
    found = [[p.capacity.blocks, p.capacity.tokens, p.capacity.max_concurrency] for p in plans]
    assert found == case["answers"]
    assert plans[0].weights.rank_bytes == max(case["stages"])


@pytest.mark.parametrize("name", RECORD["counts"])
def test_parameters_are_those_of_transformers_class(name: str) -> None:
    assert shape_of(name).parameters == RECORD["counts"][name]


@pytest.mark.parametrize("name", RECORD["slots"])
def test_a_head_takes_the_bytes_that_vllm_gives_it_in_a_format(name: str) -> None:
    told = RECORD["slots"][name]
    assert {dim: kv_formats()[name].bytes_per_head(int(dim)) for dim in told} == told
