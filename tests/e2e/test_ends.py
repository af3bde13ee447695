"""However it ends, nothing is left running and the reason is said."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest
import yaml
from e2e.deployments import alive, descendants, serve, write_deployment

from serving.engine.environments import Environment

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]


def test_ctrl_c_while_the_engine_imports_leaves_nothing(
    tiny_llama: Path, environment: Environment, tmp_path: Path
) -> None:
    with serve(write_deployment(tmp_path, model=tiny_llama)) as running:
        running.wait_until_said("importing")
        children = descendants(running.process.pid)
        assert children
        assert running.stop(signal.SIGINT) == 130
    assert alive(children) == []


def test_a_taken_port_is_said_before_the_engine_is_started(
    tiny_llama: Path, environment: Environment, tmp_path: Path
) -> None:
    path = write_deployment(tmp_path, model=tiny_llama)
    port = yaml.safe_load(path.read_text())["gateway"]["port"]
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", port))
        holder.listen()
        with serve(path) as running:
            assert running.process.wait(60) == 1
    said = running.said.read_text()
    assert f"port {port}" in said
    assert "gateway.port" in said
    assert "importing" not in said


def test_a_flag_that_vllm_does_not_know_is_said_before_the_engine_is_started(
    tiny_llama: Path, environment: Environment, tmp_path: Path
) -> None:
    path = write_deployment(tmp_path, model=tiny_llama)
    with serve(path, "--set", "engine.args.no-such-flag=1") as running:
        assert running.process.wait(60) in (1, 2)
    said = running.said.read_text()
    assert "no-such-flag" in said
    assert "importing" not in said


def test_what_the_engine_dies_of_at_its_start_is_its_cause_in_one_line(
    tiny_llama: Path, environment: Environment, tmp_path: Path
) -> None:
    path = write_deployment(tmp_path, model=tiny_llama)
    with serve(path, "--set", f"engine.args.tokenizer={tmp_path}") as running:
        assert running.process.wait(120) == 1
    said = running.said.read_text()
    assert any("tokenizer" in line and ".log" in line for line in said.splitlines()[-2:])
    assert "starting it again" not in said
    assert "Traceback" not in said
