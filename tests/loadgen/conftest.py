"""What the load generator's tests share: a scripted engine of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.scripted_engine import ScriptedEngine

from loadgen.workload import Workload


@pytest.fixture(scope="session")
def shared_engine() -> Iterator[ScriptedEngine]:
    """One engine for all tests of the room: starting it costs more than most of them."""
    with ScriptedEngine.start("--ttft", "0.01", "--itl", "0.002") as running:
        yield running


@pytest.fixture
def engine(shared_engine: ScriptedEngine) -> ScriptedEngine:
    """That engine, with nothing left of the test before."""
    shared_engine.reset()
    return shared_engine


@pytest.fixture
def workload() -> Callable[..., Workload]:
    """Makes a small workload; keyword arguments replace its sections."""

    def make(**changes: Any) -> Workload:
        fields: dict[str, Any] = {
            "name": "small",
            "arrival": {"process": "constant", "rate": "40/s", "requests": 6},
            "prompts": {"kind": "random_tokens", "input_tokens": 24, "output_tokens": 4},
            "sampling": {"temperature": 0.0},
        }
        return Workload.model_validate(fields | changes)

    return make


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """Where a run folder may be made."""
    return tmp_path / "run"
