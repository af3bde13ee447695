"""Engines here are small scripts that misbehave in ways that vLLM was seen to."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from serving.engine.guardian import Guardian
from serving.engine.leftovers import leftovers
from serving.engine.ports import free_port, is_free
from serving.engine.process import EngineProcess, EngineSpec
from serving.errors import Failed

GRANDCHILD = """
import os, subprocess, sys, time
# Like vLLM's EngineCore: outlives its parent, and its environment cannot be read.
code = "import time; print('core up', flush=True); time.sleep(120)"
subprocess.Popen([sys.executable, "-c", code], env={"PATH": "/bin"})
"""
POLITE = "import time; print('up', flush=True); time.sleep(120)"
DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('up', flush=True)
time.sleep(120)
"""


def engine(folder: Path, script: str) -> EngineProcess:
    spec = EngineSpec("test", [sys.executable, "-c", script], folder / "logs" / "engine.log", free_port())
    return EngineProcess(spec)


async def wrote(process: EngineProcess, text: str) -> None:
    deadline = time.monotonic() + 30
    while text not in process.spec.log.read_text():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def test_a_polite_engine_ends_on_sigterm(tmp_path: Path) -> None:
    process = engine(tmp_path, POLITE)
    process.start()
    await wrote(process, "up")
    assert process.exit_code is None
    stopped = await process.stop(within_s=30)
    assert (stopped.code, stopped.killed) == (-signal.SIGTERM, ())
    assert leftovers(process.id) == []


@pytest.mark.slow
async def test_a_deaf_engine_is_killed_after_its_time(tmp_path: Path) -> None:
    process = engine(tmp_path, DEAF)
    process.start()
    await wrote(process, "up")
    stopped = await process.stop(within_s=0.2)
    assert stopped.code == -signal.SIGKILL
    assert [p.pid for p in stopped.killed] == [process.pid]


@pytest.mark.slow
async def test_an_orphan_that_hides_its_environment_is_killed_too(tmp_path: Path) -> None:
    process = engine(tmp_path, GRANDCHILD + "\ntime.sleep(120)")
    process.start()
    await wrote(process, "core up")
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    assert await process.wait() == -signal.SIGKILL
    (orphan,) = leftovers(process.id, process.pid)
    stopped = await process.stop(within_s=30)
    assert [p.pid for p in stopped.killed] == [orphan.pid]
    assert leftovers(process.id, process.pid) == []


async def test_stopping_waits_until_the_port_is_free(tmp_path: Path) -> None:
    process = engine(tmp_path, "")
    script = (
        f"import socket, time\ns = socket.create_server(('127.0.0.1', {process.spec.port}))\n"
        "print('up', flush=True)\ntime.sleep(120)"
    )
    process = EngineProcess(
        EngineSpec("test", [sys.executable, "-c", script], process.spec.log, process.spec.port)
    )
    process.start()
    await wrote(process, "up")
    assert not is_free("127.0.0.1", process.spec.port)
    await process.stop(within_s=30)
    assert is_free("127.0.0.1", process.spec.port)


async def test_a_death_is_noticed_with_its_exit_code(tmp_path: Path) -> None:
    process = engine(tmp_path, "import sys; sys.exit(7)")
    process.start()
    assert await asyncio.wait_for(process.wait(), 30) == 7
    assert (await process.stop(within_s=1)).code == 7


async def test_a_cancelled_stop_kills_at_once(tmp_path: Path) -> None:
    process = engine(tmp_path, DEAF)
    process.start()
    await wrote(process, "up")
    stopping = asyncio.create_task(process.stop(within_s=300))
    await asyncio.sleep(0.05)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert await asyncio.wait_for(process.wait(), 30) == -signal.SIGKILL
    await process.stop(within_s=1)


async def test_stopping_again_or_before_a_start_is_no_harm(tmp_path: Path) -> None:
    process = engine(tmp_path, POLITE)
    assert (await process.stop(within_s=1)).code is None
    process.start()
    first = await process.stop(within_s=30)
    assert await process.stop(within_s=30) == first


async def test_the_engine_gets_its_id_its_variables_and_a_temporary_folder_that_goes(tmp_path: Path) -> None:
    script = "import os; print(os.environ['TEAPOT_ENGINE_ID'], os.environ['FOO'], os.environ['TMPDIR'])"
    log = tmp_path / "engine.log"
    spec = EngineSpec("test", [sys.executable, "-c", script], log, free_port(), {"FOO": "bar"})
    process = EngineProcess(spec, engine_id="id-1")
    process.start()
    await process.wait()
    engine_id, foo, scratch = log.read_text().split()
    assert (engine_id, foo) == ("id-1", "bar")
    assert is_dir(scratch)
    await process.stop(within_s=1)
    assert not is_dir(scratch)


def is_dir(path: str) -> bool:
    return Path(path).is_dir()


async def test_torchs_precompiled_headers_outlive_the_temporary_folder(tmp_path: Path) -> None:
    script = (
        "import getpass, os, pathlib\n"
        "folder = pathlib.Path(os.environ['TMPDIR']) / f'torchinductor_{getpass.getuser()}'\n"
        "(folder / 'header').write_text('x')"
    )
    cache = tmp_path / "cache" / "torchinductor"
    environment = {"TORCHINDUCTOR_CACHE_DIR": str(cache)}
    argv = [sys.executable, "-c", script]
    process = EngineProcess(EngineSpec("test", argv, tmp_path / "engine.log", free_port(), environment))
    process.start()
    assert await process.wait() == 0
    await process.stop(within_s=1)
    assert (cache / "header").read_text() == "x"


async def test_what_cannot_be_started_says_so(tmp_path: Path) -> None:
    process = EngineProcess(EngineSpec("test", ["/no/such/python"], tmp_path / "log", free_port()))
    with pytest.raises(Failed, match="engine test cannot be started"):
        process.start()


async def test_what_is_to_be_unset_does_not_reach_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "secret")
    script = "import os; print(os.environ.get('VLLM_API_KEY', 'nothing'))"
    argv = [sys.executable, "-c", script]
    spec = EngineSpec("test", argv, tmp_path / "engine.log", free_port(), unset=("VLLM_API_KEY", "NEVER_SET"))
    process = EngineProcess(spec)
    process.start()
    await process.wait()
    await process.stop(within_s=1)
    assert spec.log.read_text() == "nothing\n"


class ToldGuardian(Guardian):
    def __init__(self) -> None:
        super().__init__("stack-1")
        self.told: list[tuple[str, int]] = []

    def began(self, session: int, scratch: str | None) -> None:
        assert scratch is not None
        self.told.append(("began", session))

    def ended(self, session: int) -> None:
        self.told.append(("ended", session))


async def test_a_guardian_is_told_of_the_session_and_the_engine_carries_its_mark(tmp_path: Path) -> None:
    guardian = ToldGuardian()
    argv = [sys.executable, "-c", "import os; print(os.environ['TEAPOT_STACK_ID'])"]
    process = EngineProcess(EngineSpec("test", argv, tmp_path / "log", free_port()), guardian=guardian)
    process.start()
    assert guardian.told == [("began", process.pid)]
    await process.wait()
    await process.stop(within_s=1)
    assert [what for what, _ in guardian.told] == ["began", "ended"]
    assert process.spec.log.read_text() == "stack-1\n"
