from __future__ import annotations

import argparse
import io
from pathlib import Path

import pytest

from deploy.commands import load
from serving.console import Console
from serving.errors import UsageError


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    load.configure(parser)
    return parser.parse_args(words)


def console() -> Console:
    return Console(out=io.StringIO(), err=io.StringIO())


def test_run_takes_a_workload_a_target_and_several_metrics() -> None:
    args = parse("run", "w.yaml", "--target", "http://h", "--metrics", "http://a", "--metrics", "http://b")
    assert (args.workload, args.target, args.metrics) == (
        Path("w.yaml"),
        "http://h",
        ["http://a", "http://b"],
    )
    assert (args.out, args.processes) == (None, 1)


def test_run_without_a_target_is_wrong_usage() -> None:
    with pytest.raises(SystemExit) as ended:
        parse("run", "w.yaml")
    assert ended.value.code == 2


def test_several_processes_are_refused_and_not_ignored() -> None:
    with pytest.raises(UsageError, match="--processes: 4 sending processes are not there yet"):
        load.run(parse("run", "w.yaml", "--target", "http://h", "--processes", "4"), console())


def test_a_workload_that_is_not_there_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="no such file"):
        load.run(parse("run", "no-such.yaml", "--target", "http://h"), console())


@pytest.mark.parametrize("action", ["summarize", "report"])
def test_a_folder_without_a_run_is_wrong_usage(action: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        load.run(parse(action, str(tmp_path)), console())
