"""What dies, hangs or is killed, with the real engine: nothing is left of it, and the rest goes on."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from pathlib import Path

import pytest
from e2e.deployments import Serving, alive, serve, write_deployment
from e2e.in_flight import CLIENTS, try_once

from serving.engine.environments import Environment

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]
TRIALS = int(os.environ.get("SIGTERM_TRIALS", "3"))
NOTICED_WITHIN_S = 120
GUARDIAN_WITHIN_S = 10


def pid_of(running: Serving, words: str) -> int:
    """The engine's process whose command has these words."""
    for pid in alive(running.engines()):
        if words.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise AssertionError(f"no process with {words}")


def wait_until_not_ready(running: Serving) -> None:
    until = time.monotonic() + NOTICED_WITHIN_S
    while running.get("/health/ready")[0] == 200:
        assert time.monotonic() < until, "the death was not noticed"
        time.sleep(0.05)


def complete(running: Serving) -> int:
    body = json.dumps({"model": "tiny-llama", "prompt": "Once", "max_tokens": 4, "ignore_eos": True}).encode()
    request = urllib.request.Request(
        f"{running.url}/v1/completions", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return int(json.loads(answer.read())["usage"]["completion_tokens"])


@pytest.mark.parametrize("attempt", range(TRIALS))
def test_sigterm_with_requests_in_flight_loses_no_answer(
    attempt: int, tiny_llama: Path, environment: Environment, tmp_path: Path
) -> None:
    trial = try_once(tmp_path, tiny_llama)
    print(trial)  # noqa: T201 (shown by `make bench-sigterm`)
    assert trial.in_flight == CLIENTS
    assert trial.ok, trial


def test_whatever_of_an_engine_is_killed_it_serves_again_and_nothing_of_the_old_one_is_left(
    tiny_llama: Path, environment: Environment, tmp_path: Path
) -> None:
    with serve(write_deployment(tmp_path, model=tiny_llama)) as running:
        running.wait_until_ready()
        for words in ("vllm.entrypoints", "VLLM::EngineCore", "VLLM::Worker"):
            old = [
                pid for pid in running.engines() if "guardian" not in Path(f"/proc/{pid}/cmdline").read_text()
            ]
            os.kill(pid_of(running, words), signal.SIGKILL)
            wait_until_not_ready(running)
            status, _ = running.get("/v1/models")
            assert status == 503
            running.wait_until_ready()
            assert alive(old) == []
            assert complete(running) == 4
        assert running.said.read_text().count("is ready again") == 3
        assert running.stop(signal.SIGTERM) == 143


def test_a_killed_teapot_takes_its_engines_with_it(
    tiny_llama: Path, environment: Environment, tmp_path: Path
) -> None:
    with serve(write_deployment(tmp_path, model=tiny_llama)) as running:
        running.wait_until_ready()
        engines = running.engines()
        os.kill(running.process.pid, signal.SIGKILL)
        until = time.monotonic() + GUARDIAN_WITHIN_S
        while alive(engines) and time.monotonic() < until:
            time.sleep(0.1)
        assert alive(engines) == []


def test_an_engine_core_that_stands_still_is_noticed_and_started_again(
    tiny_llama: Path, environment: Environment, tmp_path: Path
) -> None:
    path = write_deployment(tmp_path, model=tiny_llama)
    with serve(path, "--set", "engine.stuck_after=6s") as running:
        running.wait_until_ready()
        os.kill(pid_of(running, "VLLM::EngineCore"), signal.SIGSTOP)
        with pytest.raises(OSError):
            complete(running)
        running.wait_until_said("nothing has moved for 6 s")
        running.wait_until_said("is ready again")
        assert complete(running) == 4
