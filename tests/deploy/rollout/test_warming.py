"""What new engines are asked before clients' requests go to them, and whose failure a failure is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from fakes.fake_deployment import FakeDeployment, Revision
from fakes.rollout_runs import PLAN

from deploy.rollout.client import Declined
from deploy.rollout.evidence import Quality
from deploy.rollout.journal import Journal
from deploy.rollout.seen import Engine, read
from deploy.rollout.warming import Event, Warming
from deploy.rollout.watch import Watch
from serving.errors import Failed

COMPARING = replace(PLAN, quality=True)


@dataclass(slots=True)
class Hands:
    """What is asked, in this order; `asked` may raise."""

    asked: Callable[[], None] = lambda: None
    quality: Quality = field(default_factory=lambda: Quality("pass"))
    calls: list[object] = field(default_factory=list)

    def plan(self, plan: object) -> None: ...

    def warm(self, urls: tuple[str, ...]) -> None:
        self.calls.append(urls)

    def compare(self, plan: object, engines: tuple[Engine, ...], baseline: str) -> Quality:
        self.calls.append(([engine.url for engine in engines], baseline))
        self.asked()
        return self.quality


@pytest.fixture
def there() -> FakeDeployment:
    made = FakeDeployment()
    made.rows["new"] = Revision("ready", "/new.yaml")
    return made


def came_of(hands: Hands, there: FakeDeployment, tmp_path: Path) -> tuple[Event | None, Watch]:
    watch = Watch(COMPARING, Journal(tmp_path / "journal.jsonl"))
    warming = Warming(COMPARING, hands, watch, lambda: read(there.status()), lambda text: None, lambda: 7.0)
    return warming.event(read(there.status())), watch


def refuse() -> None:
    raise Failed("the engine gave no answer", where="http://some")


def test_engines_are_warmed_and_then_their_answers_compared_and_kept(
    there: FakeDeployment, tmp_path: Path
) -> None:
    hands = Hands()
    event, watch = came_of(hands, there, tmp_path)
    assert event is None
    assert hands.calls == [("http://new",), (["http://new"], "http://main")]
    assert watch.quality == Quality("pass")
    assert watch.journal.lines() == ({"at": 7.0, "kind": "quality", "outcome": "pass", "reasons": []},)


def test_other_answers_are_the_new_ones_fault(there: FakeDeployment, tmp_path: Path) -> None:
    event, _ = came_of(Hands(quality=Quality("fail", ("half of them",))), there, tmp_path)
    assert event == ("engines_failed", "its answers are others: half of them")


def test_an_answer_that_does_not_come_while_the_old_one_is_well_is_the_new_ones_fault(
    there: FakeDeployment, tmp_path: Path
) -> None:
    event, _ = came_of(Hands(asked=refuse), there, tmp_path)
    assert event == (
        "engines_failed", "it was asked before clients are: http://some: the engine gave no answer",
    )  # fmt: skip


def test_an_old_one_that_goes_down_meanwhile_is_waited_for(there: FakeDeployment, tmp_path: Path) -> None:
    def asked() -> None:
        there.rows["main"].down = True
        refuse()

    with pytest.raises(Declined, match="no engine of the old revision is ready"):
        came_of(Hands(asked=asked), there, tmp_path)


def test_an_old_one_that_is_down_is_waited_for_before_the_new_one_is_warmed(
    there: FakeDeployment, tmp_path: Path
) -> None:
    there.rows["main"].down = True
    hands = Hands()
    with pytest.raises(Declined, match="so answers cannot be compared"):
        came_of(hands, there, tmp_path)
    assert hands.calls == []


def test_one_that_is_lost_meanwhile_is_no_reason_against_the_new_one(
    there: FakeDeployment, tmp_path: Path
) -> None:
    def asked() -> None:
        there.rows["main"].state = "failed"
        refuse()

    event, watch = came_of(Hands(asked=asked), there, tmp_path)
    assert (event, watch.quality) == (None, None)
