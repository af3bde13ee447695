"""`teapot serve` as a process, with the scripted engine in the place of vLLM."""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path

import pytest
import yaml
from e2e.deployments import alive, free_port, serve
from fakes.engine_home import EngineHome, make_engine_home
from fakes.scripted_engine import ScriptedEngine

from deploy.commands import serve as command

pytestmark = pytest.mark.slow
GONE_WITHIN_S = 10
LOADING = "(Worker pid=1) INFO 11-29 16:17:19 [cpu_model_runner.py:68] Starting to load model /m..."
WARMING = "(Worker pid=1) INFO 11-29 16:17:19 [x.py:1] Directly load AOT compilation from path"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    return home


def test_its_arguments_are_a_file_overrides_and_leave_to_be_ineffective() -> None:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    args = parser.parse_args(["a.yaml", "--set", "x=1", "--set", "y=2", "--allow-ineffective"])
    assert (args.file, args.overrides, args.allow_ineffective) == ("a.yaml", ["x=1", "y=2"], True)


def test_it_serves_until_sigterm_and_says_where(home: EngineHome) -> None:
    with serve(home.deployment()) as running:
        running.wait_until_ready()
        running.wait_until_said("stop     Ctrl-C")
        assert f"API      {running.url}/v1" in running.said.read_text()
        processes = running.engines()
        assert running.stop(signal.SIGTERM) == 143
    assert alive(processes) == []


@pytest.mark.parametrize(
    ("stage", "line"), [("importing", ""), ("loading weights", LOADING), ("warming up", WARMING)]
)
def test_ctrl_c_at_any_stage_of_the_start_leaves_nothing(home: EngineHome, stage: str, line: str) -> None:
    home.behave(f"--child --start-delay 100 --ignore-sigterm --say '{line}'")
    with serve(home.deployment()) as running:
        running.wait_until_said(stage)
        until = time.monotonic() + 60
        while len(processes := running.engines()) < 3:  # the guardian, the engine and its own child
            assert time.monotonic() < until, running.said.read_text()
            time.sleep(0.05)
        assert running.stop(signal.SIGINT) == 130
    assert alive(processes) == []


@pytest.mark.parametrize("when", ["while it starts", "while it serves"])
def test_if_it_is_killed_its_engines_and_their_children_are_gone_within_ten_seconds(
    home: EngineHome, when: str
) -> None:
    home.behave("--child --ignore-sigterm" + (" --start-delay 100" if when == "while it starts" else ""))
    with serve(home.deployment(replicas=2, engine={"device": "cpu", "kv_cache_memory": "256MiB"})) as running:
        if when == "while it starts":
            running.wait_until_said("importing")
        else:
            running.wait_until_ready()
        until = time.monotonic() + 60
        while len(processes := running.engines()) < 5:  # the guardian, two engines, a child of each
            assert time.monotonic() < until, running.said.read_text()
            time.sleep(0.05)
        os.kill(running.process.pid, signal.SIGKILL)
        until = time.monotonic() + GONE_WITHIN_S
        while alive(processes) and time.monotonic() < until:
            time.sleep(0.05)
        assert alive(processes) == []


def test_a_killed_engine_is_started_again_and_the_deployment_goes_on(home: EngineHome) -> None:
    with serve(home.deployment()) as running:
        running.wait_until_ready()
        engine = next(
            pid
            for pid in running.engines()
            if b"scripted_engine" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
        os.kill(engine, signal.SIGKILL)
        running.wait_until_said("starting it again in 1 s")
        running.wait_until_said("engine scripted-0 is ready again")
        running.wait_until_ready()
        assert running.stop(signal.SIGTERM) == 143


def test_a_first_start_that_fails_is_exit_code_1_with_the_cause(home: EngineHome) -> None:
    home.behave(
        "--die-after 0 --start-delay 5 --die-exit-code 2 --die-message 'error: unrecognized arguments: -x'"
    )
    with serve(home.deployment()) as running:
        assert running.process.wait(60) == 1
    said = running.said.read_text()
    assert "this vLLM does not know the arguments -x" in said
    assert "starting it again" not in said
    assert "Traceback" not in said


def test_a_crash_loop_ends_with_exit_code_1_and_the_reason(home: EngineHome) -> None:
    home.behave("--die-after 1 --die-message 'RuntimeError: it fell over'")
    with serve(home.deployment()) as running:
        assert running.process.wait(100) == 1
    said = running.said.read_text()
    assert [f"starting it again in {s} s" in said for s in (1, 2, 4, 8, 16)] == [True] * 4 + [False]
    assert "it fell over; it is given up: 5 crashes within 10 minutes" in said


def test_two_starts_on_one_port_the_second_says_so_and_the_first_serves_on(home: EngineHome) -> None:
    path = home.deployment()
    with serve(path) as first:
        first.wait_until_ready()
        second_path = path.with_name("second.yaml")
        second_path.write_text(path.read_text())
        with serve(second_path) as second:
            assert second.process.wait(60) == 1
            assert "is in use by another process" in second.said.read_text()
            assert "importing" not in second.said.read_text()
        assert first.get("/health/ready")[0] == 200


def test_a_file_of_others_only_serves_without_any_engine(tmp_path: Path) -> None:
    with ScriptedEngine.start("--served-model-name", "small") as there:
        file = tmp_path / "relay.yaml"
        document = {
            "name": "relay",
            "revisions": [{"name": "there", "urls": [f"{there.url}/v1"]}],
            "gateway": {"port": free_port(), "admin_port": free_port()},
            "prometheus": {"enabled": False},
        }
        file.write_text(yaml.safe_dump(document))
        with serve(file) as running:
            running.wait_until_ready()
            running.wait_until_said("stop     Ctrl-C")
            assert running.get("/v1/models")[1]["data"][0]["id"] == "small"
            (revision,) = running.get("/status", admin=True)[1]["revisions"]
            assert (revision["name"], revision["backends"][0]["state"]) == ("there", "ready")
            assert running.engines() == []
            assert running.stop(signal.SIGTERM) == 143


def test_a_key_that_is_not_there_is_a_usage_error_before_anything_starts(home: EngineHome) -> None:
    there = {"name": "there", "urls": ["http://127.0.0.1:1/v1"], "key_env": "NOT_SET_HERE"}
    for revisions in ([there], [{"name": "main"}, there]):
        file = home.deployment(revisions=revisions)
        if len(revisions) == 1:
            kept = yaml.safe_load(file.read_text())
            file.write_text(yaml.safe_dump({key: kept[key] for key in ("name", "revisions", "gateway")}))
        with serve(file) as running:
            assert running.process.wait(60) == 2
            assert "key_env: NOT_SET_HERE is not set in the environment" in running.said.read_text()
