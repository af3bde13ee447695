"""What does not work is said once, and not borne for ever."""

from __future__ import annotations

import pytest

from deploy.rollout.client import Away
from deploy.rollout.journal import DiskFull
from deploy.rollout.patience import Patience


def test_the_same_trouble_is_said_once_and_another_again() -> None:
    said: list[str] = []
    patience = Patience(said.append, lambda: 0.0, 600.0)
    for word in ("a", "a", "b", "a"):
        patience.bear(Away(word))
    assert said == ["holding: a", "holding: b", "holding: a"]
    patience.over()
    patience.bear(Away("a"))
    assert said[3:] == ["holding: a"]


def test_it_ends_when_nothing_has_worked_for_so_long() -> None:
    now_s = 0.0
    patience = Patience(lambda text: None, lambda: now_s, 600.0)
    patience.bear(Away("a"))
    now_s = 599.0
    patience.bear(Away("b"))
    patience.over()
    now_s = 1000.0
    patience.bear(Away("a"))
    now_s = 1600.0
    with pytest.raises(Away):
        patience.bear(Away("a"))


def test_a_full_disk_is_borne_for_somebody_has_to_watch() -> None:
    now_s = 0.0
    patience = Patience(lambda text: None, lambda: now_s, 600.0)
    patience.bear(DiskFull("no room"))
    now_s = 1e6
    patience.bear(DiskFull("no room"))
