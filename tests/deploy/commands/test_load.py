from __future__ import annotations

import argparse
import io
import json
from pathlib import Path
from typing import Any

import pytest
from fakes.run_folders import write_run

from deploy.commands import load
from serving.console import Console
from serving.errors import UsageError


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    load.configure(parser)
    return parser.parse_args(words)


def console() -> Console:
    return Console(out=io.StringIO(), err=io.StringIO())


def test_a_workload_that_is_not_there_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="no such file"):
        load.run(parse("run", "no-such.yaml", "--target", "http://h"), console())


@pytest.mark.parametrize("action", ["summarize", "report"])
def test_a_folder_without_a_run_is_wrong_usage(action: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        load.run(parse(action, str(tmp_path)), console())


def test_a_summary_that_a_hand_has_cut_is_wrong_usage_and_says_where(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    load.run(parse("summarize", str(tmp_path / "a")), console())
    (tmp_path / "a" / "summary.json").write_text('{"valid": true}')

    with pytest.raises(UsageError, match="is not what a run writes") as refused:
        load.run(parse("report", str(tmp_path / "a")), console())

    assert "summary.json" in str(refused.value)


SEARCHED = """name: small
arrival: {process: constant, rate: 2/s, requests: 6}
prompts: {kind: prompt_set, output_tokens: 4}
slo: {ttft: 1s}
"""


def search_of(tmp_path: Path, *more: str, text: str = SEARCHED) -> argparse.Namespace:
    (tmp_path / "w.yaml").write_text(text)
    return parse(
        "search",
        str(tmp_path / "w.yaml"),
        "--target",
        "http://127.0.0.1:1",
        "--out",
        str(tmp_path / "s"),
        *more,
    )


@pytest.mark.slow
def test_compare_takes_several_runs_a_side_and_exits_with_the_verdict(tmp_path: Path) -> None:
    for name, slow in (("a1", 1.0), ("a2", 1.01), ("b1", 1.5), ("b2", 1.52)):
        write_run(tmp_path / name, slow=slow)
    sides = [",".join(str(tmp_path / f"{side}{i}") for i in (1, 2)) for side in "ab"]
    out = io.StringIO()

    code = load.run(parse("compare", *sides, "--metric", "tpot.p50"), Console(out=out, err=io.StringIO()))

    assert code == 1
    assert out.getvalue().startswith("## Regression")


@pytest.mark.slow
def test_compare_gives_one_json_document(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    out = io.StringIO()
    folder = str(tmp_path / "a")

    code = load.run(
        parse("compare", folder, folder, "--metric", "ttft.p50", "--floor", "ttft.p50=20%,1ms"),
        Console(as_json=True, out=out, err=io.StringIO()),
    )

    assert code == 0
    (row,) = json.loads(out.getvalue())["metrics"]
    assert row["settings"]["floor_ratio"] == 0.2


def test_a_wrong_metric_or_floor_is_wrong_usage(tmp_path: Path) -> None:
    for words in (["--metric", "nonsense"], ["--floor", "ttft.p50"]):
        write_run(tmp_path / words[1])
        with pytest.raises(UsageError):
            load.run(parse("compare", *[str(tmp_path / words[1])] * 2, *words), console())


def test_search_begins_at_the_workloads_own_load_and_bounds_itself_around_it(tmp_path: Path) -> None:
    wanted = load._wanted(search_of(tmp_path))

    assert (wanted.settings.start, wanted.settings.lowest, wanted.settings.highest) == (2.0, 2 / 64, 2048.0)
    assert wanted.settings.whole is False


def test_search_of_users_takes_whole_numbers_from_one_on(tmp_path: Path) -> None:
    text = SEARCHED.replace("process: constant, rate: 2/s", "process: closed, concurrency: 4")

    settings = load._wanted(search_of(tmp_path, "--max", "8", text=text)).settings

    assert (settings.start, settings.lowest, settings.highest, settings.whole) == (4.0, 1.0, 8.0, True)


def test_search_bounds_that_do_not_hold_the_first_load_are_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not hold the first load 2"):
        load._wanted(search_of(tmp_path, "--min", "3"))


def test_search_runs_loads_and_tells_the_answer(tmp_path: Path) -> None:
    def run_load(*, workload: Any, out: Path, **_: Any) -> argparse.Namespace:
        ratio = 1.0 if workload.arrival.rate <= 5 else 0.4
        summary = {
            "requests": {"intended": 6, "sent": 6, "ok": 6},
            "valid": True,
            "goodput": {"ratio": ratio},
            "saturation": None,
        }
        return argparse.Namespace(exit_code=0, summary=summary)

    out = io.StringIO()

    code = load._search(search_of(tmp_path), Console(as_json=True, out=out, err=io.StringIO()), run_load)

    assert code == 0
    assert 4.5 <= json.loads(out.getvalue())["result"]["met"] <= 5.0


def test_search_that_is_interrupted_exits_with_the_signals_code(tmp_path: Path) -> None:
    def run_load(**_: Any) -> Any:
        return argparse.Namespace(exit_code=143, summary={})

    out = io.StringIO()

    assert load._search(search_of(tmp_path), Console(out=out, err=io.StringIO()), run_load) == 143
    assert "the same command goes on from here" in out.getvalue()
