"""Who tells the evidence, and what is said while nobody does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.fake_deployment import FakeDeployment
from fakes.rollout_runs import PLAN, Source

from deploy.rollout.journal import DiskFull, Journal
from deploy.rollout.seen import read
from deploy.rollout.sight import Sight
from serving.errors import Failed


class Eyes:
    """A sight, what it said, and which sources it took."""

    def __init__(self, tmp_path: Path) -> None:
        self.there = FakeDeployment()
        self.said: list[str] = []
        self.journal = Journal(tmp_path / "journal.jsonl")
        admin: Any = self.there
        self.sight = Sight(PLAN, admin, self.journal, self.said.append, lambda: 7.0, self.source)

    def source(self, seen: Any, admin: Any, plan: Any) -> Source:
        return Source(seen.prometheus or "the counters")

    def look(self, error: Failed | None = None) -> str | None:
        def read_it(source: Any) -> None:
            if error is not None:
                raise error

        return self.sight.look(read_it, read(self.there.status()))


@pytest.fixture
def eyes(tmp_path: Path) -> Eyes:
    return Eyes(tmp_path)


def test_what_is_judged_by_is_said_once(eyes: Eyes) -> None:
    assert eyes.look() is None
    assert eyes.look() is None
    assert eyes.said == ["judged by the counters"]


def test_that_nobody_tells_the_numbers_is_said_and_kept_once_until_somebody_does(eyes: Eyes) -> None:
    why = eyes.look(Failed("no answer", where="http://p"))
    assert why == "nobody tells the numbers, so it holds: http://p: no answer"
    assert eyes.sight.blind
    eyes.look(Failed("no answer", where="http://p"))
    assert eyes.journal.lines() == ({"at": 7.0, "kind": "note", "text": why},)
    assert eyes.look() is None
    assert not eyes.sight.blind
    eyes.look(Failed("no answer"))
    assert len(eyes.journal.lines()) == 2


def test_another_prometheus_is_taken_and_one_that_is_gone_is_waited_for(eyes: Eyes) -> None:
    for address in ("http://a", None, "http://b"):
        eyes.there.prometheus = address
        eyes.look()
    assert eyes.said == ["judged by http://a", "judged by http://b"]


def test_a_full_disk_is_not_taken_for_evidence_that_is_away(eyes: Eyes) -> None:
    with pytest.raises(DiskFull):
        eyes.look(DiskFull("no room"))
    assert not eyes.sight.blind
