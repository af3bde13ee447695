"""The section of rollouts: what does not go together, and its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from serving.config.load import parse, validate
from serving.config.rollout import GatesSection, RolloutSection
from serving.config.rules import deployment_problems
from serving.config.schema import Deployment
from serving.config.units import parse_duration

PAGE = (Path(__file__).parents[3] / "docs" / "deployment-file.md").read_text(encoding="utf-8")


def problems(section: str) -> list[str]:
    document = parse(f"name: x\nrollout:\n{section}", "f.yaml")
    return [str(problem) for problem in deployment_problems(validate(document, Deployment), document)]


def test_the_defaults_go_together() -> None:
    assert problems("  quality: true\n") == []


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        (
            "  steps:\n    - {weight: 50}\n    - {weight: 10}\n    - {weight: 100}\n",
            "f.yaml:5: rollout.steps[1].weight: 10 is not more than the step before; "
            "write the steps in rising order",
        ),
        (
            "  steps: [{weight: 10}]\n",
            "f.yaml:3: rollout.steps: the last step ends at 10 %; end with a step of weight 100",
        ),
        (
            "  look_every: 10ms\n",
            "f.yaml:3: rollout.look_every: 0.01 s is too often; "
            "look once a second at most, such as look_every: 30s",
        ),
    ],
)
def test_what_does_not_go_together_is_said(section: str, problem: str) -> None:
    assert problems(section) == [problem]


def test_the_defaults_on_the_page_are_the_codes() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", PAGE.partition("## `rollout`")[2], re.MULTILINE))
    section, gates = RolloutSection(), GatesSection()
    assert (rows["strategy"], rows["on_rollback"]) == (section.strategy, section.on_rollback)
    assert int(rows["min_requests"]) == section.min_requests
    for key in ("shadow", "settle", "look_every"):
        assert parse_duration(rows[key]) == getattr(section, key)
    assert parse_duration(rows["wait"]) == section.inconclusive.wait
    assert rows["then"] == section.inconclusive.then
    assert {parse_duration(rows["bake"])} == {step.bake for step in section.steps}
    assert {key: float(rows[key]) for key in GatesSection.model_fields} == gates.model_dump()
