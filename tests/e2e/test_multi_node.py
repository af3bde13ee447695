"""One engine on two machines: what `teapot render systemd` writes, run in two network namespaces."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from e2e.deployments import END_WITHIN_S, READY_WITHIN_S, TEAPOT, teapot
from e2e.machines import ADDRESSES, Machine, NotPermitted, pinned, started, two_machines

from serving.engine.folders import DataFolder

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        os.geteuid() != 0 or any(shutil.which(name) is None for name in ("ip", "curl", "taskset")),
        reason="needs root, ip, curl and taskset",
    ),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs a core for each machine"),
]
URL = "http://127.0.0.1:8000"


@pytest.fixture
def machines() -> Iterator[tuple[Machine, Machine]]:
    try:
        with two_machines() as both:
            yield both
    except NotPermitted as error:
        pytest.skip(str(error))


@pytest.fixture
def rendered(tiny_llama: Path, tmp_path: Path) -> Path:
    """The folder that `teapot render systemd` wrote."""
    document = {
        "name": "two",
        "model": str(tiny_llama),
        "engine": {
            "device": "cpu", "max_model_len": 512, "max_num_seqs": 4, "kv_cache_memory": "512MiB",
            "args": {"enforce-eager": True},
        },
        "modes": [{"kind": "parallel", "tensor": 2, "hosts": list(ADDRESSES)}],
        "gateway": {"drain_timeout": "5s"},
        "prometheus": {"enabled": False},
    }  # fmt: skip
    (tmp_path / "two.yaml").write_text(yaml.safe_dump(document))
    done = teapot("render", "systemd", str(tmp_path / "two.yaml"), "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    return tmp_path / "systemd"


@pytest.mark.usefixtures("environment")
def test_two_machines_serve_with_one_engine(
    machines: tuple[Machine, Machine], rendered: Path, folder: DataFolder
) -> None:
    first, second = machines
    cores = sorted(os.sched_getaffinity(0))
    environ = {**os.environ, "TEAPOT_HOME": str(folder.root)}
    said, log = rendered / "teapot.said", rendered / "node-1.log"
    with said.open("wb") as out, log.open("wb") as headless:
        serve = first.command(*pinned(cores[0], [*TEAPOT, "serve", str(rendered / "two.yaml")]))
        node = second.command(*pinned(cores[-1], ["sh", str(rendered / "two-node.sh"), "1"]))
        running = [started(serve, env=environ, stdout=out, stderr=out)]
        running.append(started(node, env=environ, stdout=headless, stderr=headless))
    try:
        until = time.monotonic() + READY_WITHIN_S
        while first.get(f"{URL}/health/ready")[0] != 200:
            told = said.read_text() + log.read_text()
            assert [process.poll() for process in running] == [None, None], told
            assert time.monotonic() < until, told
            time.sleep(1.0)
        body = {
            "model": "tiny-llama",
            "prompt": "The capital of France is",
            "max_tokens": 8,
            "temperature": 0,
        }
        status, answer = first.get(f"{URL}/v1/completions", json.dumps(body))
        assert status == 200, answer
        assert json.loads(answer)["usage"]["completion_tokens"] == 8
        (rendered / "answer.json").write_text(answer)
        [mode] = json.loads(first.get("http://127.0.0.1:8001/status")[1])["modes"]
        assert (mode["kind"], mode["asked"], mode["in_effect"]) == ("parallel", "tensor=2, nnodes=2", True)
        assert "ranks 0 of a world of 2, 1 of 1 workers alive" in mode["evidence"]
        assert "Worker_TP1" in log.read_text()
    finally:
        _end(running)


def _end(running: list[subprocess.Popen[bytes]]) -> None:
    """Both at once as at a shutdown; then whatever is left of either, which would hold cores and memory."""
    for process in running:
        process.send_signal(signal.SIGTERM)
    for process in running:
        try:
            process.wait(END_WITHIN_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
