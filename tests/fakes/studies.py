"""Studies, machines and designs for tests, small enough to be read at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deploy.study.estimate import Costs
from deploy.study.judge import Judge
from deploy.study.making import Made, make_design
from deploy.study.reading import Study, study_of
from serving.config.document import Document
from serving.engine.folders import DataFolder
from serving.modes.mode import MachineFacts

GIB = 1024**3
FP8 = {"modes": [{"kind": "quantized_kv", "format": "fp8"}]}
CHAT: Mapping[str, Any] = {
    "arrival": {"process": "closed", "concurrency": 2, "requests": 8},
    "prompts": {"kind": "random_tokens", "input_tokens": 64, "output_tokens": 32},
}
STUDY: Mapping[str, Any] = {
    "name": "two",
    "deployment": {
        "name": "base",
        "model": "smollm2-135m",
        "engine": {"device": "cpu", "max_model_len": 2048, "kv_cache_memory": "2GiB"},
    },
    "arms": {"plain": {}, "fp8": FP8},
    "workloads": {"chat": CHAT},
    "repeats": 2,
}


def study(beside: Path, **changes: Any) -> Study:
    """A study of two arms; keyword arguments replace its keys, None takes one away."""
    data = {key: value for key, value in {**STUDY, **changes}.items() if value is not None}
    return study_of(Document("two.yaml", data, {}), beside)


def machine(folder: Path) -> Judge:
    """Two cores and 16 GiB, no GPU, and an empty data folder."""
    facts = MachineFacts((0, 1), 1, 16 * GIB, 8 * GIB)
    return Judge(facts, DataFolder(folder / "home"))


def made(beside: Path, **changes: Any) -> tuple[Study, Made]:
    """The study and its design."""
    one = study(beside, **changes)
    return one, make_design(one, machine(beside), Costs())
