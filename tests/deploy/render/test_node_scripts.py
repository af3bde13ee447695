"""The scripts of several machines, run by a shell with a fake vllm, a fake ray and a fake `ip`."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deploy.render.node_scripts import Parts, node_script, quoted, ray_address, ray_script
from serving.modes.mode import Setting
from serving.modes.nodes import nodes

ADDRESSES = ("10.0.0.1", "10.0.0.2")
SAYS = '#!/bin/sh\nfor word in "$@"; do echo "[$word]"; done\nenv | grep -E "VLLM_HOST|GLOO|CACHE|SAID"\n'
IP = """#!/bin/sh
echo '1: lo    inet 127.0.0.1/8 scope host lo'
echo '2: eth7    inet 10.0.0.2/24 brd 10.0.0.255 scope global eth7'
"""
PARTS = Parts("# made", "d", "vllm-1-py3*", {"CACHE": "$TEAPOT_HOME/cache", "SAID": quoted('a "$b` \\c')})
SETTINGS = (
    Setting("--model", "m", ""),
    Setting("--port", "1", ""),
    Setting("--json", "'{\"a\": 1}'", ""),
    Setting("--below", "-1", ""),
    Setting("--on", None, ""),
    Setting("--node-rank", "0", ""),
    Setting("VARIABLE", "x", ""),
)


# The connection to the first machine, as `ss` shows it: there while the file `connected` is.
SS = """#!/bin/sh
echo "$@" > "$(dirname "$0")/ss.asked"
[ -e "$(dirname "$0")/connected" ] && echo '0 0 10.0.0.2:59462 10.0.0.1:29501'
"""
LOSES_THE_FIRST = """#!/bin/sh
folder=$(dirname "$0")/../../../..
touch "$folder/connected"; sleep 0.6; rm "$folder/connected"
trap 'echo told to end; exit 0' TERM
while true; do sleep 0.1; done
"""


def ran(
    folder: Path, script: str, *words: str, vllm: str = SAYS, ss: str = SS, **environ: str
) -> subprocess.CompletedProcess[str]:
    programs = folder / "home/environments/vllm-1-py311/bin"
    programs.mkdir(parents=True)
    for path, text in (
        (programs / "vllm", vllm), (programs / "ray", SAYS), (folder / "ip", IP), (folder / "ss", ss),
    ):  # fmt: skip
        path.write_text(text)
        path.chmod(0o755)
    (folder / "script.sh").write_text(script)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "TEAPOT_HOME": str(folder / "home"), **environ}
    command = ["sh", str(folder / "script.sh"), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_node_is_started_with_its_rank_its_address_and_the_shared_flags(tmp_path: Path) -> None:
    done = ran(tmp_path, node_script(PARTS, "m/n", nodes(ADDRESSES), SETTINGS), "1", WATCH_S="0.1")
    words = [line[1:-1] for line in done.stdout.splitlines() if line.startswith("[")]
    assert words == [
        "serve",
        "m/n",
        "--json",
        '{"a": 1}',
        "--below=-1",
        "--on",
        "--node-rank",
        "1",
        "--headless",
    ]
    told = done.stdout.splitlines()[len(words) :]
    assert sorted(told) == [
        f"CACHE={tmp_path}/home/cache",
        "GLOO_SOCKET_IFNAME=eth7",
        'SAID=a "$b` \\c',
        "VLLM_HOST_IP=10.0.0.2",
    ]


def test_any_one_of_several_engine_environments_does_and_without_one_it_is_said(tmp_path: Path) -> None:
    script = node_script(PARTS, "m", nodes(ADDRESSES), SETTINGS)
    other = tmp_path / "both/home/environments/vllm-1-py312/bin/vllm"
    other.parent.mkdir(parents=True)
    other.write_text(SAYS)
    other.chmod(0o755)
    assert "[serve]" in ran(tmp_path / "both", script, "1", WATCH_S="0.1").stdout
    (tmp_path / "none").mkdir()
    done = ran(tmp_path / "none", script, "1", TEAPOT_HOME=str(tmp_path / "elsewhere"))
    assert done.returncode == 1
    assert "run teapot engine install" in done.stderr


@pytest.mark.slow
def test_a_node_that_lost_the_first_one_ends(tmp_path: Path) -> None:
    script = node_script(PARTS, "m", nodes(ADDRESSES), SETTINGS)
    done = ran(tmp_path, script, "1", vllm=LOSES_THE_FIRST, WATCH_S="0.1")
    assert done.returncode == 1
    assert "the first machine is gone: ending this rank" in done.stderr
    assert "told to end" in done.stdout
    assert ":29501" in (tmp_path / "ss.asked").read_text()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ss") is None, reason="no ss on this machine")
def test_a_connection_that_the_first_one_closed_counts_as_gone(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first, ThreadPoolExecutor(1) as aside:
        port = first.getsockname()[1]
        # Keeps its end open, as a rank does that has not noticed.
        joins = f"#!{sys.executable}\nimport socket, time\n"
        joins += f"end = socket.create_connection(('127.0.0.1', {port}))\ntime.sleep(90)\n"
        real = f'#!/bin/sh\nseen=$({shutil.which("ss")} "$@")\n'
        real += f'[ -z "$seen" ] || touch {tmp_path}/seen\necho "$seen"\n'
        script = node_script(PARTS, "m", nodes(ADDRESSES, port), SETTINGS)
        running = aside.submit(ran, tmp_path, script, "1", vllm=joins, ss=real, WATCH_S="0.1")
        joined, _ = first.accept()
        while not (tmp_path / "seen").exists():
            assert not running.done(), running.result()
            time.sleep(0.05)
        joined.close()
        done = running.result(timeout=60)
    assert done.returncode == 1
    assert "the first machine is gone" in done.stderr


def test_a_node_ends_as_its_engine_does(tmp_path: Path) -> None:
    script = node_script(PARTS, "m", nodes(ADDRESSES, 29777), SETTINGS)
    done = ran(tmp_path, script, "1", vllm="#!/bin/sh\nsleep 0.1; exit 3\n", WATCH_S="0.2")
    assert done.returncode == 3
    assert ":29777" in (tmp_path / "ss.asked").read_text()


def test_on_another_machine_than_the_ranks_nothing_is_started(tmp_path: Path) -> None:
    done = ran(tmp_path, node_script(PARTS, "m", nodes(ADDRESSES), SETTINGS), "0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "this machine has no address 10.0.0.1" in done.stderr


@pytest.mark.parametrize(("words", "said"), [((), "0 to 1"), (("2",), "there is no rank 2: give 0 to 1")])
def test_a_rank_that_is_none_is_refused(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = ran(tmp_path, node_script(PARTS, "m", nodes(ADDRESSES), SETTINGS), *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_ray_joins_the_cluster_of_the_first_machine(tmp_path: Path) -> None:
    done = ran(tmp_path, ray_script(PARTS, ADDRESSES), "1")
    words = [line[1:-1] for line in done.stdout.splitlines() if line.startswith("[")]
    assert words == [
        "start", "--block", "--node-ip-address=10.0.0.2", "--disable-usage-stats", "--address=10.0.0.1:6379",
    ]  # fmt: skip


def test_an_address_of_ipv6_is_put_into_brackets() -> None:
    assert ray_address(("fd00::1", "fd00::2")) == "[fd00::1]:6379"


def test_the_first_machine_is_the_head_of_ray() -> None:
    assert "0) address=10.0.0.1; set -- --head --port=6379 ;;" in ray_script(PARTS, ADDRESSES)
