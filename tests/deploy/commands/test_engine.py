from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path

import pytest

from deploy.commands import engine
from serving.console import Console
from serving.engine.environments import write_record
from serving.engine.recipes import choose_recipe
from serving.errors import UsageError


def run(arguments: list[str], *, as_json: bool = False) -> tuple[int, str, str]:
    parser = argparse.ArgumentParser()
    engine.configure(parser)
    out, err = io.StringIO(), io.StringIO()
    code = engine.run(parser.parse_args(arguments), Console(as_json=as_json, out=out, err=err))
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TEAPOT_HOME", str(tmp_path))
    version = f"{sys.version_info[0]}{sys.version_info[1]}"
    path = tmp_path / "environments" / f"vllm-0.32.0-cpu-py{version}"
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "python").symlink_to(sys.executable)
    recipe = choose_recipe("cpu", "0.32.0").fingerprint()
    record = {"device": "cpu", "version": "0.32.0", "size_bytes": 3_500_000_000, "installed": "2026-11-29"}
    record["recipe"] = recipe
    write_record(path, record)
    return path


def test_what_is_installed_is_listed(environment: Path) -> None:
    code, out, _ = run(["list"])
    assert code == 0
    assert out.split() == [environment.name, "3.5", "GB", "2026-11-29", str(environment)]


def test_the_list_is_a_document_too(environment: Path) -> None:
    _, out, _ = run(["list"], as_json=True)
    (row,) = json.loads(out)
    assert (row["name"], row["device"], row["size_gb"]) == (environment.name, "cpu", 3.5)


def test_an_empty_list_says_how_to_fill_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAPOT_HOME", str(tmp_path))
    code, out, err = run(["list"])
    assert (code, out) == (0, "")
    assert "teapot engine install" in err


def test_an_environment_that_is_there_is_not_installed_again(environment: Path) -> None:
    code, out, err = run(["install", "--device", "cpu"])
    assert (code, out.split(), err) == (0, [environment.name, str(environment)], "")


def test_an_unknown_version_is_wrong_usage(environment: Path) -> None:
    with pytest.raises(UsageError, match=r"no engine is known for vLLM 1\.0"):
        run(["install", "--device", "cpu", "--version", "1.0"])
