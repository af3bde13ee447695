from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from deploy.commands.load_arguments import configure


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    configure(parser)
    return parser.parse_args(words)


def test_run_takes_a_workload_a_target_and_several_metrics() -> None:
    args = parse("run", "w.yaml", "--target", "http://h", "--metrics", "http://a", "--metrics", "http://b")
    assert (args.workload, args.target, args.metrics) == (
        Path("w.yaml"),
        "http://h",
        ["http://a", "http://b"],
    )
    assert (args.out, args.processes, args.exporter_port) == (None, 1, "auto")


def test_run_without_a_target_is_wrong_usage() -> None:
    with pytest.raises(SystemExit) as ended:
        parse("run", "w.yaml")
    assert ended.value.code == 2


def test_selftest_takes_steps_seconds_and_processes() -> None:
    args = parse("selftest", "--streams", "400", "--streams", "50", "--processes", "2")

    assert (args.streams, args.seconds, args.processes) == ([400, 50], 6.0, 2)


def test_compare_takes_two_sides_and_reads_nothing_into_them() -> None:
    args = parse("compare", "runs/a1,runs/a2", "runs/b", "--floor", "ttft.p50=5%,5ms")

    assert (args.a, args.b, args.metric, args.floor) == ("runs/a1,runs/a2", "runs/b", [], ["ttft.p50=5%,5ms"])


def test_search_needs_a_folder_to_go_on_from() -> None:
    with pytest.raises(SystemExit) as ended:
        parse("search", "w.yaml", "--target", "http://h")
    assert ended.value.code == 2


@pytest.mark.parametrize("action", ["run", "summarize", "report", "compare", "search", "selftest"])
def test_every_action_has_a_help_text_with_defaults(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(action, "--help")

    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ("selftest", "--streams", "0"),
        ("selftest", "--streams", "-1"),
        ("selftest", "--seconds", "nan"),
        ("run", "w.yaml", "--target", "http://h", "--processes", "0"),
        ("search", "w.yaml", "--target", "http://h", "--out", "s", "--precision", "0"),
        ("search", "w.yaml", "--target", "http://h", "--out", "s", "--trials", "none"),
        ("search", "w.yaml", "--target", "http://h", "--out", "s", "--goodput", "7"),
        ("run", "w.yaml", "--target", "http://h", "--exporter-port", "abc"),
        ("run", "w.yaml", "--target", "http://h", "--exporter-port", "99999"),
    ],
)
def test_a_number_that_means_nothing_is_wrong_usage(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(*words)

    assert ended.value.code == 2
    assert f"'{words[-1]}' is no" in capsys.readouterr().err
