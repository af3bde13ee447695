"""The planner's capacity of an engine beside what the running engine tells."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from e2e.engines import Plan, Running

from deploy.plan_file import facts
from deploy.plan_inputs import read_shape
from serving.engine.observe import cache_config
from serving.modes.speculative import Speculative
from serving.planner.fit import Model, Place, fit

GOLDEN = Path(__file__).parents[1] / "golden" / "planner_golden.json"


@dataclass(frozen=True, slots=True)
class Capacity:
    """Of a KV cache."""

    blocks: int
    tokens: int
    concurrency: float


@cache
def recorded(name: str) -> Capacity:
    """What was once read from a running engine, by the record's id."""
    records: list[dict[str, Any]] = json.loads(GOLDEN.read_text())["vllm_capacity"]
    row = next(row for row in records if row["id"] == name)
    return Capacity(row["blocks"], row["tokens"], row["conc"])


def planned(what: Plan) -> Capacity:
    """What the planner predicts of an engine before it is started."""
    shape, checkpoint = read_shape(str(what.model))
    drafts = [mode.model for mode in what.deployment.modes if isinstance(mode, Speculative) and mode.model]
    draft = read_shape(drafts[0])[0] if drafts else None
    context = what.contexts[0]
    assert context.machine is not None
    place = Place(context.device, context.version, context.machine)
    found = fit(what.deployment, Model(shape, checkpoint, draft), place, facts()).plan.capacity
    return Capacity(found.blocks, found.tokens, round(found.max_concurrency, 2))


async def told(engine: Running) -> Capacity:
    """What a running engine tells of itself."""
    labels = await cache_config(engine.process.url)
    return Capacity(
        int(labels["num_gpu_blocks"]),
        int(labels["kv_cache_size_tokens"]),
        round(float(labels["kv_cache_max_concurrency"]), 2),
    )
