from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadgen.descriptors import RESERVE, ensure, most_at_once, reserve
from loadgen.limits import Limits
from serving.errors import UsageError

STATUS = Path("/proc/self/status")


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_closed_loop_needs_its_slots_and_stages_their_most() -> None:
    assert most_at_once({"process": "closed", "concurrency": 8}, 1000, Limits()) == 8
    assert most_at_once({"process": "closed", "concurrency": 8}, 3, Limits()) == 3
    stages = {"process": "stages", "stages": [{"concurrency": 2}, {"concurrency": 9}, {"concurrency": 4}]}
    assert most_at_once(stages, 1000, Limits()) == 9


def test_an_open_loop_may_have_all_in_flight_that_are_sent_while_the_first_waits() -> None:
    limits = Limits(total_s=10)
    assert most_at_once({"process": "poisson", "rate": 4.5}, 1000, limits) == 45
    assert most_at_once({"process": "poisson", "rate": 4.5}, 30, limits) == 30
    ramp = {
        "process": "stages",
        "rate": 2.0,
        "stages": [{"from_rate": 1.0, "to_rate": 7.0, "concurrency": None}],
    }
    assert most_at_once(ramp, 1000, limits) == 70
    assert most_at_once({"process": "trace"}, 500, limits) == 500


def test_the_soft_limit_is_raised_when_it_is_too_low() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    assert ensure(500, closed=True, say=pytest.fail) == 500 + RESERVE
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 500 + RESERVE


def test_a_limit_that_suffices_is_left_alone() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert ensure(10, closed=True, say=pytest.fail) == soft


def test_too_few_are_said_in_an_open_loop_and_refused_in_a_closed_one() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        pytest.skip("this machine has no hard limit")
    said: list[str] = []
    ensure(hard + 1, closed=False, say=said.append)
    assert f"{hard + 1} requests may be in flight" in said[0]
    assert "ulimit -n" in said[0]
    with pytest.raises(UsageError, match="in flight at once"):
        ensure(hard + 1, closed=True, say=said.append)


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux shows the size of the table")
def test_the_table_of_files_is_made_large_enough_before_the_run() -> None:
    ensure(2000, closed=True, say=pytest.fail)
    before = len(list(Path("/proc/self/fd").iterdir()))
    reserve(2000)
    (size,) = [int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith("FDSize")]
    assert size >= 2000
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_more_than_the_limit_is_not_asked_of_the_table() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    reserve(100_000)
