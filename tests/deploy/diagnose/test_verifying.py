"""A verification, with a scripted outcome and with scripted engines under the study's own runner."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fakes.diagnosed import options, ratio, study_of_ratios
from fakes.run_folders import write_run

from deploy.diagnose.diagnosis import Diagnosis, File, Known, diagnose
from deploy.diagnose.evidence import Evidence
from deploy.diagnose.question import Question, read_question
from deploy.diagnose.tried import Tried
from deploy.diagnose.verify import CONTROL, LOAD
from deploy.diagnose.verifying import Wanted, verify
from deploy.study.reading import ArmRead
from deploy.study.results import Summary
from deploy.study.session import run_document
from deploy.study.world import Up
from loadgen.results import conclude
from loadgen.workload import Workload
from serving.console import Console
from serving.errors import Failed, InvalidMeasurement, UsageError

NOW = datetime(2026, 11, 29, 23, 0, tzinfo=UTC)
FILE = "name: demo\nengine: {device: cpu, max_model_len: 1024, max_num_seqs: 8, kv_cache_memory: 46MiB}\n"
PREEMPTED = Evidence(
    source="e", seconds=60, requests=120, running_mean=6.0, running_max=8.0, waiting_mean=2.0,
    waiting_max=3.0, busy_ratio=1.0, queue_s=1.0, prefill_s=1.0, decode_s=2.0, ttft_s=2.0, tpot_s=0.1,
    kv_usage_max_ratio=1.0, preemptions=9, prompt_tokens=120 * 256, output_tokens=120 * 256,
    cache_config={"cache_dtype": "auto"},
)  # fmt: skip
IDLE = replace(
    PREEMPTED, running_mean=0.1, running_max=1.0, preemptions=0, waiting_mean=0.0, waiting_max=0,
    kv_usage_max_ratio=0.1,
)  # fmt: skip
CONSOLE = Console(out=io.StringIO(), err=io.StringIO())


def asked(folder: Path) -> tuple[Question, Diagnosis]:
    (folder / "demo.yaml").write_text(FILE)
    question = read_question(str(folder / "demo.yaml"), options(bandwidth=10.0, flops=1000.0))
    known = Known(planned=question.planned({}), file=File(question.name, question.text))
    return question, diagnose(question.seen(question.evidence(PREEMPTED), None), known)


def scripted(code: int = 0, **ratios: float) -> Callable[..., tuple[int, Summary]]:
    """A study's runner that runs nothing: every arm's ratios are those."""

    def run(data: Mapping[str, Any], *, out: Path, **_: object) -> tuple[int, Summary]:
        [lever] = (name for name in data["arms"] if name != CONTROL)
        where = {"kv_cache_tokens": None}
        made = (
            ratio(lever, CONTROL, name, where.get(name, LOAD), value, 0.0) for name, value in ratios.items()
        )
        return code, study_of_ratios(CONTROL, *made)

    return run


def test_the_next_lever_is_tried_and_what_came_of_it_is_kept_and_told_again(tmp_path: Path) -> None:
    question, diagnosis = asked(tmp_path)
    tried = Tried(tmp_path / "state")
    verified = verify(
        [diagnosis], question, Wanted(), tried=tried, console=CONSOLE, now=NOW,
        run_study=scripted(kv_cache_tokens=2.0, output_tokens_per_s=0.9),
    )  # fmt: skip
    assert (verified.lever.lever.id, verified.exit_code) == ("kv-memory", 0)
    assert [(t.measure, t.measured, t.held) for t in verified.trials] == [
        ("kv_tokens", 2.0, True),
        ("output_tokens_per_s", 0.9, False),
    ]
    assert "KV tokens 2.00x [2.00, 2.00]; predicted 2.00x to 2.00x, which held" in verified.text()
    assert tried.read() == verified.trials
    assert "which was wrong" in tried.words(question.deployment.model)["kv-memory"][1]
    assert verified.document()["trials"][0]["held"] is True


def test_another_lever_can_be_named(tmp_path: Path) -> None:
    question, diagnosis = asked(tmp_path)
    verified = verify(
        [diagnosis], question, Wanted(lever="kv-dtype", out=tmp_path / "out"), tried=Tried(tmp_path),
        console=CONSOLE, now=NOW, run_study=scripted(3),
    )  # fmt: skip
    assert (verified.lever.lever.id, verified.exit_code, verified.folder) == ("kv-dtype", 3, tmp_path / "out")
    assert (verified.trials, verified.kept) == ((), None)
    assert "nothing could be measured" in verified.text()


@pytest.mark.parametrize(
    ("evidence", "lever", "error", "words"),
    [
        (PREEMPTED, "nonsense", UsageError, "'nonsense' is none of this diagnosis' levers"),
        (replace(PREEMPTED, requests=3), None, InvalidMeasurement, "nothing to verify: 3 requests finished"),
        (IDLE, None, InvalidMeasurement, "no lever is ready"),
    ],
)  # fmt: skip
def test_what_cannot_be_tried_is_said(
    tmp_path: Path, evidence: Evidence, lever: str | None, error: type[Exception], words: str
) -> None:
    question, _ = asked(tmp_path)
    diagnosis = diagnose(question.seen(question.evidence(evidence), None))
    with pytest.raises(error, match=words):
        verify(
            [diagnosis], question, Wanted(lever=lever), tried=Tried(tmp_path), console=CONSOLE, now=NOW,
            run_study=scripted(),
        )  # fmt: skip


def test_without_a_file_there_is_nothing_to_try_it_on(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no deployment to try it on"):
        verify([], None, Wanted(), tried=Tried(tmp_path), console=CONSOLE, now=NOW, run_study=scripted())


class ScriptedWorld:
    """Engines that are not there: twice the cache has twice the tokens, and answers half as slowly."""

    def __init__(self) -> None:
        self.names: list[str] = []

    @asynccontextmanager
    async def up(self, arm: ArmRead) -> AsyncIterator[Up]:
        self.names.append(arm.name)
        cache = arm.deployment.engine.kv_cache_memory or 0

        async def ended() -> Failed:
            await asyncio.Event().wait()
            raise AssertionError

        yield Up(url=f"http://{arm.name}", kv_cache_tokens=cache // 23_040, ended=ended)

    async def load(self, up: Up, workload: Workload, out: Path) -> None:
        slow = 1.0 if up.url.endswith(CONTROL) else 0.5
        conclude(write_run(out, slow=slow, seed=len(self.names)))

    async def quality(self, up: Up) -> Mapping[str, Any]:
        raise AssertionError

    def log_tail(self, arm: ArmRead) -> tuple[str, ...]:
        return ()


@pytest.mark.slow
def test_the_studys_own_runner_proves_a_lever_on_scripted_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAPOT_HOME", str(tmp_path / "home"))
    question, diagnosis = asked(tmp_path)
    world = ScriptedWorld()
    verified = verify(
        [diagnosis], question, Wanted(repeats=2, out=tmp_path / "study"), tried=Tried(tmp_path / "state"),
        console=CONSOLE, now=NOW, run_study=partial(run_document, world=world),
    )  # fmt: skip
    assert sorted(world.names) == [CONTROL, CONTROL, "kv-memory", "kv-memory"]
    trials = {trial.measure: trial for trial in verified.trials}
    assert trials["kv_tokens"].measured == pytest.approx(2.0, rel=1e-3)
    assert trials["tpot_s"].measured == pytest.approx(2.0, rel=0.05)
    assert trials["tpot_s"].repeats == 2
    assert (tmp_path / "study" / "summary.json").exists()
