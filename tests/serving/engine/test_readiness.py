from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from fakes import scripted_engine

from serving.engine.leftovers import leftovers
from serving.engine.ports import free_port
from serving.engine.process import EngineProcess, EngineSpec
from serving.engine.readiness import start_engine
from serving.engine.stages import StartStage
from serving.errors import Failed

LOADING = "(Worker pid=1) INFO 11-29 16:17:19 [cpu_model_runner.py:68] Starting to load model /m..."
WARMING_UP = "(Worker pid=1) INFO 11-29 16:21:11 [decorators.py:743] [backbone] saved AOT compiled function"


class Stages:
    def __init__(self) -> None:
        self.seen: list[StartStage] = []
        self.elapsed: list[float] = []

    def __call__(self, stage: StartStage, elapsed_s: float) -> None:
        self.seen.append(stage)
        self.elapsed.append(elapsed_s)


def engine(folder: Path, *arguments: str) -> EngineProcess:
    port = free_port()
    argv = [sys.executable, str(scripted_engine.__file__), "--port", str(port), *arguments]
    return EngineProcess(EngineSpec("test", argv, folder / "engine.log", port))


def scripted(folder: Path, script: str) -> EngineProcess:
    return EngineProcess(
        EngineSpec("test", [sys.executable, "-c", script], folder / "engine.log", free_port())
    )


@pytest.mark.slow
async def test_an_engine_is_ready_after_one_real_token(tmp_path: Path) -> None:
    process, stages = engine(tmp_path, "--start-delay", "0.3", "--say", LOADING), Stages()
    try:
        log = await start_engine(process, 60, stages)
        assert stages.seen == ["importing", "loading weights", "first token", "ready"]
        assert stages.elapsed == sorted(stages.elapsed)
        assert LOADING in log.lines
    finally:
        await process.stop(within_s=10)


async def test_one_that_dies_at_import_is_told_with_its_cause_and_its_log(tmp_path: Path) -> None:
    process = scripted(tmp_path, "raise ImportError('libfoo.so is not there')")
    with pytest.raises(Failed) as caught:
        await start_engine(process, 60, Stages())
    said = str(caught.value)
    assert said.startswith(f"{tmp_path}/engine.log: engine test died at stage 'importing': ")
    assert "libfoo.so is not there" in said
    assert "Traceback" not in said


async def test_one_that_dies_without_a_word_is_told_by_its_signal(tmp_path: Path) -> None:
    process = scripted(tmp_path, "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(Failed, match="died at stage 'importing': signal 9, and its log names no error"):
        await start_engine(process, 60, Stages())


@pytest.mark.slow
async def test_healthy_is_not_ready_when_the_first_token_kills_it(tmp_path: Path) -> None:
    process, stages = (
        engine(tmp_path, "--die-on-request", "1", "--die-message", "ValueError: odd head size"),
        Stages(),
    )
    with pytest.raises(Failed, match="died at stage 'first token': odd head size"):
        await start_engine(process, 60, stages)
    assert StartStage.READY not in stages.seen


async def test_an_engine_that_answers_an_error_is_not_ready(tmp_path: Path) -> None:
    process = engine(tmp_path, "--max-model-len", "1")
    with pytest.raises(Failed, match="answers /health but cannot generate: HTTP 400: "):
        await start_engine(process, 60, Stages())
    assert leftovers(process.id) == []


@pytest.mark.slow
async def test_one_that_never_opens_its_port_is_stopped_after_its_time(tmp_path: Path) -> None:
    process = engine(tmp_path, "--start-delay", "100", "--child", "--ignore-sigterm")
    with pytest.raises(
        Failed, match=r"not ready within 1 s \(last stage: importing\); .*engine\.start_timeout"
    ):
        await start_engine(process, 1.0, Stages())
    assert leftovers(process.id) == []


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.0, 0.5])
async def test_a_cancelled_start_leaves_nothing(tmp_path: Path, after_s: float) -> None:
    process = engine(tmp_path, "--start-delay", "100", "--child", "--ignore-sigterm")
    starting = asyncio.create_task(start_engine(process, 60, Stages()))
    await asyncio.sleep(after_s)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert leftovers(process.id) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "stage"),
    [(LOADING, StartStage.LOADING_WEIGHTS), (WARMING_UP, StartStage.WARMING_UP)],
    ids=["loading weights", "warming up"],
)
async def test_a_start_cancelled_in_a_later_stage_leaves_nothing_either(
    tmp_path: Path, line: str, stage: StartStage
) -> None:
    process, stages = (
        engine(tmp_path, "--start-delay", "100", "--child", "--ignore-sigterm", "--say", line),
        Stages(),
    )
    starting = asyncio.create_task(start_engine(process, 60, stages))
    async with asyncio.timeout(30):
        while stage not in stages.seen:  # noqa: ASYNC110 - what is watched has no event
            await asyncio.sleep(0.01)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert leftovers(process.id) == []
