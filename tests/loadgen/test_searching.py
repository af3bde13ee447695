from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadgen.search import Settings
from loadgen.searching import Search, at_load, judge, search, searched_key
from loadgen.workload import Workload
from serving.errors import UsageError

Make = Callable[..., Workload]


def summary(ratio: float = 1.0, **changes: Any) -> dict[str, Any]:
    return {
        "requests": {"intended": 100, "sent": 100, "ok": 100},
        "valid": True,
        "reasons": [],
        "goodput": {"ratio": ratio},
        "saturation": {"verdict": "steady"},
    } | changes


@pytest.fixture
def wanted(workload: Make) -> Search:
    return Search(
        workload=workload(slo={"ttft": "500ms"}),
        target="http://127.0.0.1:1",
        goodput=0.95,
        settings=Settings(start=1, lowest=0.1, highest=100),
    )


class Server:
    """Meets the objectives up to 5/s; stops the search after so many runs."""

    def __init__(self, stop_after: int = 1000) -> None:
        self.rates: list[float] = []
        self.stop_after = stop_after

    def run(self, workload: Workload, folder: Path) -> dict[str, Any] | None:
        if len(self.rates) >= self.stop_after:
            return None
        self.rates.append(workload.arrival.rate)  # type: ignore[union-attr]  # these tests have open loops
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
        return summary(0.99 if self.rates[-1] <= 5 else 0.5)


def test_the_highest_rate_is_found_and_kept_with_every_trial(wanted: Search, tmp_path: Path) -> None:
    found, trials = search(wanted, tmp_path, Server().run, lambda _: None)

    assert found is not None
    assert found.met is not None
    assert 4.5 <= found.met <= 5
    kept = json.loads((tmp_path / "search.json").read_text())
    assert kept["result"]["met"] == found.met
    assert [trial["folder"] for trial in kept["trials"]] == [trial.folder for trial in trials]
    assert trials[0].folder == "trial-01-rate-1"
    assert (tmp_path / trials[-1].folder).is_dir()


def test_a_search_that_was_stopped_goes_on_where_it_was(wanted: Search, tmp_path: Path) -> None:
    whole, _ = search(wanted, tmp_path / "whole", Server().run, lambda _: None)
    first, second = Server(stop_after=4), Server()

    stopped, so_far = search(wanted, tmp_path / "parts", first.run, lambda _: None)
    found, trials = search(wanted, tmp_path / "parts", second.run, lambda _: None)

    assert (stopped, len(so_far)) == (None, 4)
    assert found == whole
    assert [trial.value for trial in trials] == first.rates + second.rates


def test_a_finished_search_is_told_again_without_a_run(wanted: Search, tmp_path: Path) -> None:
    found, _ = search(wanted, tmp_path, Server().run, lambda _: None)
    again = Server()

    assert search(wanted, tmp_path, again.run, lambda _: None)[0] == found
    assert again.rates == []


def test_what_a_stopped_trial_left_is_not_written_over(wanted: Search, tmp_path: Path) -> None:
    (tmp_path / "trial-01-rate-1").mkdir()
    (tmp_path / "trial-01-rate-1" / "manifest.json").write_text("{}")

    _, trials = search(wanted, tmp_path, Server().run, lambda _: None)

    assert trials[0].folder == "trial-01-rate-1-again-2"


def test_the_folder_of_another_search_is_refused(wanted: Search, workload: Make, tmp_path: Path) -> None:
    search(wanted, tmp_path, Server(stop_after=1).run, lambda _: None)
    other = Search(
        workload=workload(slo={"ttft": "900ms"}),
        target=wanted.target,
        goodput=wanted.goodput,
        settings=wanted.settings,
    )

    with pytest.raises(UsageError, match="holds a search for something else"):
        search(other, tmp_path, Server().run, lambda _: None)


def test_a_search_file_that_is_broken_is_refused(wanted: Search, tmp_path: Path) -> None:
    (tmp_path / "search.json").write_text("{")

    with pytest.raises(UsageError, match="cannot be read"):
        search(wanted, tmp_path, Server().run, lambda _: None)


def test_a_closed_loop_is_searched_by_its_users(workload: Make) -> None:
    closed = workload(arrival={"process": "closed", "concurrency": 2, "requests": 9}, slo={"ttft": "1s"})

    assert searched_key(closed) == "concurrency"
    assert at_load(closed, 7.0).arrival.concurrency == 7  # type: ignore[union-attr]  # it is a closed loop
    assert at_load(closed, 7.0).fingerprint() != closed.fingerprint()


def test_a_load_of_many_rates_and_one_without_an_objective_are_refused(workload: Make) -> None:
    stages = workload(arrival={"stages": [{"rate": "2/s", "duration": "1s"}]}, slo={"ttft": "1s"})

    with pytest.raises(UsageError, match="has no one rate"):
        searched_key(stages)
    with pytest.raises(UsageError, match="no objective"):
        searched_key(workload())


@pytest.mark.parametrize(
    ("seen", "outcome", "told"),
    [
        (summary(0.96), "met", "goodput 96.0%"),
        (summary(0.95), "met", "goodput 95.0%"),
        (summary(0.94), "missed", "goodput 94.0%"),
        (summary(0.99, saturation={"verdict": "growing"}), "missed", "goodput 99.0%, and requests piled up"),
        (summary(0.99, saturation=None), "met", "goodput 99.0%"),
        (summary(0.99, valid=False, reasons=["lag"]), "invalid", "lag"),
        (
            summary(0.0, valid=False, reasons=["too few"], requests={"intended": 9, "sent": 9, "ok": 2}),
            "missed",
            "2 of 9 requests were answered",
        ),
        (
            summary(1.0, valid=False, reasons=["too few"], requests={"intended": 4, "sent": 4, "ok": 4}),
            "invalid",
            "too few",
        ),
    ],
)
def test_a_run_is_judged_by_its_summary(seen: dict[str, Any], outcome: str, told: str) -> None:
    assert judge(seen, 0.95) == (outcome, told)
