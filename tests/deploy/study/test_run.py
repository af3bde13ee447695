from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.scripted_world import ScriptedWorld
from fakes.studies import CHAT, made

from deploy.study.folder import StudyFolder
from deploy.study.journal import Journal
from deploy.study.rows import CellRow, StartRow
from deploy.study.run import Runner
from deploy.study.world import Times, Up
from loadgen.workload import Workload
from serving.errors import Failed


class Clock:
    """Goes on by so much at every look."""

    def __init__(self, step_s: float = 0.0) -> None:
        self.now, self.step = 0.0, step_s

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class Bench:
    """A study in a folder, with what it says and what it leaves."""

    def __init__(self, folder: Path, world: ScriptedWorld | None = None, **changes: Any) -> None:
        self.study, self.made = made(folder, **changes)
        self.world = world or ScriptedWorld()
        self.folder = StudyFolder(folder / "out")
        self.folder.create(self.made.design)
        self.lines: list[str] = []

    def runner(self, **more: Any) -> Runner:
        return Runner(
            study=self.study, design=more.pop("design", self.made.design), folder=self.folder,
            world=more.pop("world", self.world), pace=self.made.pace, say=self.lines.append, **more,
        )  # fmt: skip

    @property
    def cells(self) -> tuple[CellRow, ...]:
        return self.folder.cells(self.made.design)

    @property
    def starts(self) -> tuple[StartRow, ...]:
        return self.folder.starts(self.made.design)

    def events(self) -> list[str]:
        return [str(event["event"]) for event in Journal(self.folder.journal_path).events()]


@pytest.mark.slow
async def test_every_arm_comes_up_in_every_block_and_goes_down_before_the_next(tmp_path):
    bench = Bench(tmp_path)
    assert await bench.runner().run() == "complete"
    ups = [said for said in bench.world.said if not said.startswith("load")]
    assert ups == [f"{way} {start.arm}" for start in bench.made.design.starts for way in ("up", "down")]
    assert [row.state for row in bench.cells] == ["done"] * 4
    assert bench.events()[:4] == ["study-begun", "start-up", "proven", "cell-done"]
    assert bench.events()[-1] == "done"


@pytest.mark.slow
async def test_all_arms_of_a_block_get_the_same_prompts_and_the_next_block_gets_others(tmp_path):
    bench = Bench(tmp_path)
    await bench.runner().run()
    loads = sorted(said for said in bench.world.said if said.startswith("load"))
    assert loads == [f"load {arm} chat seed {seed}" for arm in ("fp8", "plain") for seed in (1, 2)]


@pytest.mark.slow
async def test_a_start_keeps_its_verdicts_and_what_the_engine_told_of_itself(tmp_path):
    bench = Bench(tmp_path, ScriptedWorld(tokens={"fp8": 2000}))
    await bench.runner().run()
    row = next(row for row in bench.starts if row.arm == "fp8")
    assert (row.state, row.kv_cache_tokens, row.cache_config) == (
        "ended",
        2000,
        {"kv_cache_size_tokens": "2000"},
    )
    assert [(mode.kind, mode.in_effect) for mode in row.verdicts] == [("quantized_kv", True)]


@pytest.mark.slow
async def test_a_held_engine_stays_up_for_all_its_repeats(tmp_path):
    bench = Bench(tmp_path, hold=True, repeats=3)
    await bench.runner().run()
    assert [said for said in bench.world.said if said.startswith("up")].__len__() == 2
    assert len(bench.cells) == 6


async def test_a_start_that_fails_is_a_row_with_its_log_and_the_others_go_on(tmp_path):
    def fail(arm: str) -> None:
        if arm == "fp8":
            raise Failed("mode 'quantized_kv' (fp8) is not in effect: stored at 2 bytes")

    bench = Bench(tmp_path, ScriptedWorld(starting=fail))
    assert await bench.runner().run() == "complete"
    failed = [row for row in bench.starts if row.state == "failed"]
    assert len(failed) == 2
    assert failed[0].error == "mode 'quantized_kv' (fp8) is not in effect: stored at 2 bytes"
    assert failed[0].log_tail == ("last line of fp8",)
    assert {row.arm for row in bench.cells} == {"plain"}


@pytest.mark.slow
async def test_a_load_that_fails_is_a_row_and_the_next_load_is_sent(tmp_path):
    def fail(arm: str, workload: str, dead: asyncio.Event) -> None:
        if workload == "bad":
            raise Failed("nothing answered")

    bench = Bench(tmp_path, ScriptedWorld(loading=fail), workloads={"chat": CHAT, "bad": CHAT})
    await bench.runner().run()
    states = {(row.workload, row.state, row.error) for row in bench.cells}
    assert states == {("chat", "done", None), ("bad", "failed", "nothing answered")}
    assert any("failed, and that is a row: nothing answered" in line for line in bench.lines)


@pytest.mark.slow
async def test_an_engine_that_dies_costs_its_cell_and_is_brought_up_once_more_for_the_rest(tmp_path):
    killed: list[str] = []

    def kill(arm: str, workload: str, dead: asyncio.Event) -> None:
        if not killed:
            killed.append(arm)
            dead.set()

    bench = Bench(tmp_path, ScriptedWorld(loading=kill), hold=True)
    assert await bench.runner().run() == "complete"
    first = bench.cells[0]
    assert (first.state, first.error) == ("failed", "the engine was killed")
    assert [row.state for row in bench.cells[1:]] == ["done"] * 3
    assert bench.world.said.count(f"up {first.arm}") == 2
    assert bench.world.said.count(f"down {first.arm}") == 2


async def test_a_signal_takes_everything_down_and_leaves_what_can_be_gone_on_with(tmp_path):
    bench = Bench(tmp_path, ScriptedWorld(hangs=True))
    running = asyncio.create_task(bench.runner().run())
    await bench.world.hanging.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert bench.world.said[-1].startswith("down")
    assert bench.events()[-1] == "interrupted"
    assert bench.cells == ()
    assert "4 cells to go; --resume" in bench.lines[-1]


async def test_going_on_runs_what_is_not_done_and_keeps_what_was_broken_off_aside(tmp_path):
    bench = Bench(tmp_path)
    loads: list[str] = []

    def hang(arm: str, workload: str, dead: asyncio.Event) -> None:
        loads.append(arm)
        bench.world.hangs = len(loads) == 3

    bench.world.loading = hang
    running = asyncio.create_task(bench.runner().run())
    await bench.world.hanging.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    again = ScriptedWorld()
    assert await bench.runner(world=again).run() == "complete"
    left = bench.made.design.starts[2:]
    assert [said for said in again.said if said.startswith("up")] == [f"up {start.arm}" for start in left]
    assert [row.state for row in bench.cells] == ["done"] * 4
    assert (bench.folder.path / "cells" / f"{left[0].cells[0].id}.broken-off-1").is_dir()
    assert "study-resumed" in bench.events()


async def test_failed_cells_are_tried_again_when_a_study_is_gone_on_with(tmp_path):
    def fail(arm: str, workload: str, dead: asyncio.Event) -> None:
        raise Failed("nothing answered")

    bench = Bench(tmp_path, ScriptedWorld(loading=fail))
    await bench.runner().run()
    assert await bench.runner(world=ScriptedWorld()).run() == "complete"
    assert [row.state for row in bench.cells] == ["done"] * 4


async def test_a_budget_that_is_used_up_ends_the_study_after_the_cell_and_says_what_is_left(tmp_path):
    bench = Bench(tmp_path)
    design = replace(bench.made.design, budget_s=10.0)
    runner = bench.runner(design=design, times=Times(monotonic=Clock(4.0)))
    assert await runner.run() == "out of budget"
    assert len(bench.cells) == 1
    assert bench.events()[-1] == "out-of-budget"
    assert bench.lines[-1] == "the budget is used up with 3 cells to go"


async def test_a_disk_with_no_room_ends_the_study_with_what_to_do(tmp_path):
    bench = Bench(tmp_path)
    with pytest.raises(Failed, match=r"the disk takes no more: 3 MiB are free; make room .* --resume"):
        await bench.runner(free=lambda path: 3 * 1024**2).run()
    assert bench.world.said == []


async def test_a_disk_that_fills_in_a_cell_takes_the_engine_down_first_and_the_journal_says_why(tmp_path):
    def full(arm: str, workload: str, dead: asyncio.Event) -> None:
        raise OSError(28, "No space left on device")

    bench = Bench(tmp_path, ScriptedWorld(loading=full))
    with pytest.raises(Failed, match="No space left on device"):
        await bench.runner().run()
    assert bench.world.said[-1].startswith("down")
    last = list(Journal(bench.folder.journal_path).events())[-1]
    assert last["event"] == "stopped"
    assert "the disk takes no more: No space left on device; make room" in last["error"]


async def test_a_disk_without_room_for_the_last_cell_of_all_ends_the_study_and_not_as_complete(tmp_path):
    room = iter([2**30, 2**30, 3 * 1024**2])
    bench = Bench(tmp_path, hold=True, arms={"plain": {}}, repeats=2)
    with pytest.raises(Failed, match="3 MiB are free"):
        await bench.runner(free=lambda path: next(room)).run()
    assert [said.split()[0] for said in bench.world.said] == ["up", "load", "down"]
    assert bench.events()[-1] == "stopped"
    assert await bench.runner(world=ScriptedWorld()).run() == "complete"
    assert [row.state for row in bench.cells] == ["done"] * 2


def _no_journal_any_more(bench: Bench) -> None:
    """In its place a folder, which takes no line, as a full disk takes none."""
    bench.folder.journal_path.unlink()
    bench.folder.journal_path.mkdir()


async def test_a_disk_that_takes_no_line_of_the_journal_either_ends_the_study_with_words(tmp_path):
    bench = Bench(tmp_path)
    bench.world.loading = lambda *_: _no_journal_any_more(bench)
    with pytest.raises(Failed, match=r"journal\.jsonl: the study stops, .*Is a directory; mend that"):
        await bench.runner().run()
    assert bench.world.said[-1].startswith("down")


async def test_a_signal_is_a_signal_also_where_the_disk_takes_no_more(tmp_path):
    bench = Bench(tmp_path, ScriptedWorld(hangs=True))
    running = asyncio.create_task(bench.runner().run())
    await bench.world.hanging.wait()
    _no_journal_any_more(bench)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert "--resume goes on" in bench.lines[-1]


async def test_each_start_and_cell_is_remembered_with_what_it_took(tmp_path):
    took: list[tuple[str, float]] = []
    bench = Bench(tmp_path, repeats=1)

    def remember(what: Any, seconds: float) -> None:
        took.append((type(what).__name__, seconds))

    await bench.runner(remember=remember, times=Times(monotonic=Clock(1.0))).run()
    assert [name for name, _ in took] == ["PlannedCell", "PlannedStart"] * 2
    assert all(seconds > 0 for _, seconds in took)


async def test_boards_hear_of_the_study_each_start_and_each_cell(tmp_path):
    marks: list[tuple[str, str]] = []
    bench = Bench(tmp_path, repeats=1)
    await bench.runner(mark=lambda what, text: marks.append((what, text))).run()
    assert [what for what, _ in marks] == ["study", "start", "cell", "start", "cell", "study"]
    assert marks[0] == ("study", "study two begins: 2 cells")


async def test_what_is_said_names_the_start_and_the_time_to_go(tmp_path):
    bench = Bench(tmp_path, repeats=1)
    await bench.runner().run()
    first = bench.made.design.starts[0].arm
    assert bench.lines[0].startswith(f"[1/2] {first}: starting (2 cells, about ")
    assert bench.lines[-1].endswith("; 0 cells, about 0 s to go")


async def test_a_journal_line_is_whole_before_the_next_step(tmp_path):
    bench = Bench(tmp_path, repeats=1)
    seen: list[str] = []
    look: Callable[[str, str, asyncio.Event], None] = lambda *_: seen.append(bench.events()[-1])  # noqa: E731
    bench.world.loading = look
    await bench.runner().run()
    assert seen == ["proven", "proven"]
    lines = bench.folder.journal_path.read_text().splitlines()
    assert all(json.loads(line)["at"] for line in lines)


@pytest.mark.slow
async def test_a_cell_that_is_called_done_and_whose_row_is_gone_is_run_again(tmp_path):
    bench = Bench(tmp_path)
    await bench.runner().run()
    lost = bench.made.design.cells[1]
    bench.folder.cell_file(lost).unlink()
    again = ScriptedWorld()
    assert await bench.runner(world=again).run() == "complete"
    assert [said for said in again.said if said.startswith("load")] == [
        f"load {lost.arm} {lost.workload} seed {lost.block}"
    ]
    assert [row.state for row in bench.cells] == ["done"] * 4


async def test_a_load_whose_records_cannot_be_read_is_no_cell_that_is_done(tmp_path):
    bench = Bench(tmp_path, repeats=1)
    cell = bench.made.design.cells[0]

    async def cut(up: Up, workload: Workload, out: Path) -> None:
        out.mkdir()
        (out / "summary.json").write_text("{")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.world, "load", cut)
        await bench.runner().run()
    assert bench.cells[0].state == "failed"
    assert bench.events().count("cell-failed") == 2
    again = ScriptedWorld()
    await bench.runner(world=again).run()
    assert f"load {cell.arm} chat seed 1" in again.said
