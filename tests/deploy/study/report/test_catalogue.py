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
    if "weight_bytes_bf16" in record:
        assert model.weight_bytes == record["weight_bytes_bf16"]
    for key in ("kv_bytes_per_token_bf16", "kv_bytes_per_token_full"):
        if key in record:
            layers = (
                record.get("layers_full", 1) if key.endswith("full") and name.startswith("google/g") else 1
            )
            assert model.kv.growing_per_token in (record[key], record[key] * layers)


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


def test_the_cache_overtakes_the_weights_where_it_is_as_large():
    assert model(KvBytes(10, 0, 0, 0)).overtakes_at == 100
    # A window of 200 bytes and states of 100: 700 / 10 more tokens.
    assert model(KvBytes(10, 20, 200, 100)).overtakes_at == 70


def test_a_cache_that_does_not_grow_or_not_so_far_never_overtakes():
    assert model(KvBytes(0, 20, 200, 100)).overtakes_at is None
    assert model(KvBytes(10, 0, 0, 0), max_context=99).overtakes_at is None


def test_the_short_name_is_without_the_owner():
    assert model(KvBytes(1, 0, 0, 0)).short == "m"
