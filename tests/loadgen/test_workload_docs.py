"""docs/workloads.md names every key that a workload file may have, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from loadgen.traces.reading import FORMS
from loadgen.workload import PATHS, Sampling, Warmup, Workload
from loadgen.workload_arrivals import Closed, Constant, Gamma, Poisson, Stage, Stages, TraceFormat, TraceTimes
from loadgen.workload_lengths import FromFile, Lognormal, Normal, Uniform
from loadgen.workload_prompts import (
    PROMPT_KINDS,
    Mix,
    MultiTurn,
    PromptSet,
    RandomTokens,
    SharedPrefix,
    ShareGpt,
    TracePrompts,
)

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/workloads.md").read_text(encoding="utf-8")
NAMED = {"process", "kind", "distribution"}
SECTIONS: list[type[BaseModel]] = [
    Constant, Poisson, Gamma, TraceTimes, Closed, Stages,
    RandomTokens, PromptSet, SharedPrefix, MultiTurn, ShareGpt, TracePrompts, Mix,
    Uniform, Normal, Lognormal, FromFile,
]  # fmt: skip


def rows() -> dict[str, list[str]]:
    """Each table row by the word in its first cell."""
    found: dict[str, list[str]] = {}
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            found.setdefault(cells[0].strip("`"), []).append(cells[1])
    return found


def name_of(section: type[BaseModel]) -> str:
    (key,) = NAMED & section.model_fields.keys()
    return str(get_args(section.model_fields[key].annotation)[0])


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.__name__)
def test_the_row_of_each_kind_has_its_keys_and_no_other(section: type[BaseModel]) -> None:
    keys = {key for key in section.model_fields if key not in NAMED}
    told = [set(re.findall(r"`(\w+)`", cell)) for cell in rows()[name_of(section)]]
    assert keys in told


def test_every_key_at_the_top_has_a_row() -> None:
    assert Workload.model_fields.keys() <= rows().keys()


@pytest.mark.parametrize("section", [Stage, Sampling, Warmup])
def test_the_keys_of_the_smaller_sections_are_named(section: type[BaseModel]) -> None:
    assert [key for key in section.model_fields if not re.search(rf"[`{{]{key}[`:]", TEXT)] == []


def test_every_endpoint_form_of_trace_and_kind_of_task_is_named() -> None:
    words = [*PATHS, *PROMPT_KINDS, *(form.name for form in FORMS)]
    assert [word for word in words if f"`{word}`" not in TEXT] == []
    assert {form.name for form in FORMS} | {"auto"} == set(get_args(TraceFormat))


def test_the_example_is_the_shipped_one() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.DOTALL)
    shipped = (ROOT / "deploy/workloads/chat.yaml").read_text(encoding="utf-8")
    assert [line for line in shipped.splitlines() if not line.startswith("#")] == example.splitlines()


def test_every_kind_of_prompts_and_arrivals_has_a_shipped_example() -> None:
    shipped = "\n".join(file.read_text() for file in (ROOT / "deploy/workloads").glob("*.yaml"))
    missing = [
        name_of(section)
        for section in SECTIONS
        if not re.search(rf"(process|kind|distribution): {name_of(section)}\b", shipped)
        and not (section is Stages and "\n  stages:\n" in shipped)
    ]
    assert missing == []
