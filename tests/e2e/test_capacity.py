"""What the planner says of the KV cache is what the engine then has, to the token.

The embedded model in four configurations, of which two are started here: a start costs CI half a minute.
The FP8 cache is the demo's (test_demo.py), TurboQuant's is proven not in effect anyway (test_modes.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.capacity import planned, recorded, told
from e2e.engines import plan, running

from serving.console import Console
from serving.engine.embedded import EMBEDDED, ensure_embedded
from serving.engine.environments import Environment
from serving.engine.folders import DataFolder

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def embedded(folder: DataFolder, environment: Environment) -> Path:
    return ensure_embedded(EMBEDDED["smollm2-135m"], environment.python, folder, Console())


@pytest.mark.parametrize(
    ("record", "drafting"), [("cpu-0.32-smollm2-bf16", False), ("cpu-0.32-smollm2+draft-same", True)]
)
async def test_planned_recorded_and_running_capacity_are_the_same_to_the_token(
    folder: DataFolder, environment: Environment, embedded: Path, tmp_path: Path, record: str, drafting: bool
) -> None:
    draft = {"kind": "speculative", "method": "draft_model", "model": str(embedded), "tokens": 3}
    modes = [draft] if drafting else []
    what = plan(folder, environment, embedded, modes, tmp_path, kv_cache_memory="2GiB")
    assert planned(what) == recorded(record)
    async with running(what) as [engine]:
        assert await told(engine) == recorded(record)
