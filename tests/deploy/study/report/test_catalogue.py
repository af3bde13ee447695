"""What public models need in memory, against the golden records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy.study.report.catalogue import Footprint, footprints
from serving.facts.load import kv_formats, public_models, weight_storage
from serving.planner.kv_layers import KvBytes

GOLDEN = Path(__file__).parents[3] / "golden" / "planner_golden.json"
RECORDS = {row["model"]: row for row in json.loads(GOLDEN.read_text())["models"]}


@pytest.fixture(scope="module")
def models():
    return {model.name: model for model in footprints(public_models(), kv_formats(), weight_storage())}


@pytest.mark.parametrize("name", [name for name in RECORDS if name in public_models()])
def test_weights_and_cache_are_those_of_the_golden_records(name, models):
    record, model = RECORDS[name], models[name]
    mine = {
        "weight_bytes_bf16": model.weight_bytes,
        "kv_bytes_per_token_bf16": model.kv.growing_per_token,
        "kv_bytes_per_token_full": model.kv.growing_per_token,
        "kv_bytes_per_token_sliding": model.kv.window_per_token,
        "kv_bytes_per_token_bf16_all": model.kv.growing_per_token + model.kv.window_per_token,
    }
    told = {key: record[key] for key in mine if key in record}
    assert told
    assert {key: mine[key] for key in told} == told


def test_every_public_model_says_where_it_is_from():
    import tomllib
    from importlib import resources

    table = tomllib.loads((resources.files("serving.facts") / "public_models.toml").read_text("utf-8"))
    assert all(row["source"] and row["date"] for row in table.values())


def test_the_smallest_weights_come_first(models):
    sizes = [model.weight_bytes for model in models.values()]
    assert sizes == sorted(sizes)


def model(kv: KvBytes, weight_bytes: int = 1000, max_context: int = 10_000) -> Footprint:
    return Footprint(
        name="owner/m", kind="dense", parameters=1, active_parameters=1, weight_bytes=weight_bytes,
        kv=kv, kv_fp8=kv, max_context=max_context,
    )  # fmt: skip


def test_users_whose_cache_is_as_large_as_the_weights_are_counted_at_32k_or_the_models_limit():
    assert model(KvBytes(10, 0, 0, 0), weight_bytes=2 * 327_680, max_context=10**6).users_as_weights == 2
    # A limit of 100 tokens: 100 x 10, a window of 200 bytes, states of 300.
    assert model(KvBytes(10, 20, 200, 300), weight_bytes=6000, max_context=100).users_as_weights == 4


def test_the_short_name_is_without_the_owner():
    assert model(KvBytes(1, 0, 0, 0)).short == "m"
