"""`teapot plan --fleet`: from options, a run or a search to a size; what is refused."""

from __future__ import annotations

import argparse
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from deploy.commands import plan
from deploy.plan_fleet import OPTIONS
from serving.console import Console
from serving.errors import TeapotError

PAGE = (Path(__file__).parents[2] / "docs/capacity.md").read_text(encoding="utf-8")


def answered(*words: str, as_json: bool = True) -> tuple[int, Any]:
    parser = argparse.ArgumentParser()
    plan.configure(parser)
    out = io.StringIO()
    code = plan.run(parser.parse_args(words), Console(as_json=as_json, out=out, err=io.StringIO()))
    return code, json.loads(out.getvalue()) if as_json else out.getvalue()


def refused(*words: str) -> str:
    with pytest.raises(TeapotError) as caught:
        answered(*words)
    return str(caught.value)


def run_folder(folder: Path, rate: float | None, *, valid: bool = True) -> Path:
    folder.mkdir(parents=True)
    goodput = None if rate is None else {"ratio": 0.99, "requests_per_s": rate}
    summary = {"goodput": goodput, "valid": valid, "reasons": [] if valid else ["the engine was restarted"]}
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def test_a_peak_and_a_goodput_give_a_size() -> None:
    # Two needed. Up in 99 of 100 hours: of 3, at least 2 in 0.999702; of 2, both in 0.9801.
    code, found = answered(
        "--fleet", "20", "--goodput", "10", "--between-failures", "99h", "--repair", "1h", "--target", "0.999"
    )
    assert code == 0
    assert (found["size"]["replicas"], found["size"]["needed"]) == (3, 2)
    assert found["size"]["covered"] == pytest.approx(0.999702)
    assert found["lived"]["covered"] == pytest.approx(0.999702, abs=5e-4)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_life() -> None:
    words = ("--fleet", "20", "--goodput", "10", "--between-failures", "99h", "--repair", "1h")
    assert answered(*words) == answered(*words, "--seed", "1")
    assert answered(*words)[1]["lived"] != answered(*words, "--seed", "2")[1]["lived"]


def test_people_get_the_picture() -> None:
    code, text = answered(
        "--fleet", "20", "--goodput", "10", "--slots", "8", "--mean-e2e", "500ms", as_json=False
    )
    assert code == 0
    assert "replicas cover 20 requests/s" in text
    assert "█" in text
    assert "waiting" in text


def test_the_goodput_of_a_run_is_taken_and_told_as_a_lower_bound(tmp_path: Path) -> None:
    _, found = answered("--fleet", "20", "--run", str(run_folder(tmp_path / "run", 4.0)))
    assert found["fleet"]["goodput_per_s"] == 4.0
    assert "a lower bound" in found["goodput_source"]


def test_of_a_search_the_highest_load_that_met_is_taken(tmp_path: Path) -> None:
    run_folder(tmp_path / "trial-1", 3.9)
    run_folder(tmp_path / "trial-2", 7.8)
    trials = [
        {"value": value, "outcome": outcome, "told": "", "folder": f"trial-{number}"}
        for number, value, outcome in ((1, 4.0, "met"), (2, 8.0, "met"), (3, 16.0, "missed"))
    ]
    (tmp_path / "search.json").write_text(
        json.dumps({"trials": trials, "result": {"met": 8.0, "missed": 16.0}})
    )
    _, found = answered("--fleet", "20", "--run", str(tmp_path))
    assert found["fleet"]["goodput_per_s"] == 7.8


def test_a_search_without_an_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "search.json").write_text(json.dumps({"trials": [], "result": None}))
    assert "no load met the objectives" in refused("--fleet", "20", "--run", str(tmp_path))


def test_a_run_that_does_not_count_is_refused_with_its_reason(tmp_path: Path) -> None:
    assert "the engine was restarted" in refused(
        "--fleet", "20", "--run", str(run_folder(tmp_path / "run", 4.0, valid=False))
    )
    assert "has no goodput" in refused("--fleet", "20", "--run", str(run_folder(tmp_path / "other", None)))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fleet", "20"), "one replica's goodput is needed"),
        (("--goodput", "3", "--surge"), "--goodput, --surge: is said of no fleet"),
        (("--fleet", "20", "--goodput", "3", "--target", "1"), "something always fails"),
        (("--fleet", "20", "--goodput", "3", "--slots", "4"), "one is said without the other"),
        (("--fleet", "20", "--goodput", "3", "--at-once", "2"), "--at-once: is said of no rollouts"),
        (("--fleet", "20", "--goodput", "3", "--repair", "8d"), "as long as a replica lives"),
        (("a.yaml", "--fleet", "20", "--goodput", "3"), "a fleet is counted in replicas"),
    ],
)
def test_what_makes_no_question_is_refused(words: tuple[str, ...], said: str) -> None:
    assert said in refused(*words)


def test_a_fleet_that_cannot_be_is_exit_1() -> None:
    code, found = answered("--fleet", "20000", "--goodput", "1")
    assert (code, found["size"]) == (1, None)


@pytest.mark.slow
def test_the_page_shows_what_the_command_prints() -> None:
    [command] = re.findall(r"^teapot plan (--fleet .*)$", PAGE, re.MULTILINE)
    [shown] = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert answered(*shlex.split(command), as_json=False) == (0, shown)


def test_the_page_has_every_option() -> None:
    for name in ("fleet", "run", *OPTIONS):
        assert f"`--{name.replace('_', '-')}" in PAGE
