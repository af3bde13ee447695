"""`teapot rollout` as it is typed: its exit codes, what it says, and what comes back after a kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes.engine_home import EngineHome, make_engine_home
from fakes.revisions import Clients, Running, Said, file_of, running, until
from fakes.rollouts import SECTION

from deploy.cli import main
from deploy.rollout.asking import waits
from deploy.rollout.entries import begun, moved
from deploy.rollout.journal import JOURNAL, LOCK, Journal, folder_of, lock, newest_first
from deploy.rollout.machine import State
from deploy.rollout.plan import Plan, Step


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    home.behave("--ttft 0.004 --itl 0.001")
    return home


def journal(home: EngineHome) -> Journal | None:
    newest = newest_first(folder_of(home.root, "scripted"))
    return Journal(newest[0] / JOURNAL) if newest else None


def states(home: EngineHome) -> list[str]:
    found = journal(home)
    lines = () if found is None else found.lines()
    return [row["kind"] if row["kind"] == "plan" else row["state"]["name"]
            for row in lines if row["kind"] in ("plan", "state")]  # fmt: skip


async def typed(*words: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "deploy.cli", "rollout", *words, stdout=pipe, stderr=pipe, env=os.environ
    )


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str, str]:
    async with asyncio.timeout(90):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


def clients(up: Running) -> Clients:
    return Clients(up.stack.gateway.public_url, tokens=4)


@pytest.mark.slow
@pytest.mark.parametrize("state", ["starting", "baking", "promoting"])
async def test_killed_and_started_again_it_goes_on_and_no_request_fails(home: EngineHome, state: str) -> None:
    old, new = file_of(home, "old"), file_of(home, "new", rollout=SECTION)
    async with running(home, old) as up, clients(up).asking(4) as asking:
        words = ("start", str(new), "--admin", up.admin)
        first = await typed(*words)
        await until(lambda: state in states(home))
        first.send_signal(signal.SIGKILL)
        await first.communicate()
        before = states(home)
        code, out, err = await ended(await typed(*words))
        assert code == 0, (out, err)
        assert "going on with the rollout that began before" in err or before[-1] == "done"
        assert states(home)[: len(before)] == before
        assert f"teapot serve {new}" in err
        assert "promoted" in out
        assert [row["name"] for row in up.stack.gateway.state.document()["revisions"]] == ["new"]
    assert set(asking.statuses) == {200}, asking.failures


@pytest.mark.slow
async def test_a_signal_leaves_it_where_it_is_and_abort_takes_it_back(home: EngineHome) -> None:
    old, new = file_of(home, "old"), file_of(home, "new", rollout=SECTION | {"min_requests": 10**6})
    async with running(home, old) as up, clients(up).asking(2) as asking:
        going = await typed("start", str(new), "--admin", up.admin)
        await until(lambda: "baking" in states(home))
        going.send_signal(signal.SIGTERM)
        code, _, err = await ended(going)
        assert code == 143
        assert f"go on: teapot rollout start {new}; or take it back: teapot rollout abort" in err
        assert {row["weight"] for row in up.stack.gateway.state.document()["revisions"]} == {0.5}
        code, out, _ = await ended(await typed("status", "--admin", up.admin))
        assert (code, "watching (step 1 of 2, 50%)" in out) == (0, True)
        code, out, err = await ended(await typed("abort", "--admin", up.admin))
        assert (code, states(home)[-1]) == (0, "rolled_back"), (out, err)
        assert [row["name"] for row in up.stack.gateway.state.document()["revisions"]] == ["main"]
        code, _, err = await ended(await typed("abort", "--admin", up.admin))
        assert (code, "no rollout is going on" in err) == (1, True)
    assert set(asking.statuses) == {200}, asking.failures


@pytest.mark.slow
async def test_while_one_goes_on_another_is_refused_and_a_person_is_heard(home: EngineHome) -> None:
    old = file_of(home, "old")
    new, other = file_of(home, "new", rollout=SECTION | {"min_requests": 10**6}), file_of(home, "other")
    async with running(home, old) as up:
        going = await typed("start", str(new), "--admin", up.admin)
        await until(lambda: "baking" in states(home))
        code, _, err = await ended(await typed("start", str(other), "--admin", up.admin))
        assert (code, "a rollout is going on already" in err) == (1, True)
        code, _, err = await ended(await typed("promote", "--admin", up.admin))
        assert (code, "has taken it" in err) == (0, True)
        await until(lambda: states(home).count("baking") == 2)
        code, _, err = await ended(await typed("abort", "--admin", up.admin))
        assert code == 0
        code, out, _ = await ended(going)
        assert (code, "asked for by a person" in out) == (1, True)


@pytest.mark.slow
async def test_a_file_of_another_deployment_or_a_name_that_is_taken_is_wrong_usage(home: EngineHome) -> None:
    old = file_of(home, "old")
    other = home.deployment(name="other").rename(home.root / "other.yaml")
    same = file_of(home, "main")
    async with running(home, old) as up:
        code, _, err = await ended(await typed("start", str(other), "--admin", up.admin))
        assert (code, "the file is of 'other', and 'scripted' runs" in err) == (2, True)
        code, _, err = await ended(await typed("start", str(same), "--admin", up.admin))
        assert (code, "would be called 'main'" in err) == (2, True)
        code, _, err = await ended(await typed("start", str(same), "--name", "a/b", "--admin", up.admin))
        assert (code, "cannot be called 'a/b'" in err) == (2, True)
        assert journal(home) is None


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Said:
    said = Said()
    monkeypatch.setattr("deploy.cli.Console", lambda as_json: _as(said, as_json))
    return said


def _as(said: Said, as_json: bool) -> Said:
    said.as_json = as_json
    return said


def written(home: EngineHome, *states: State) -> Path:
    plan = Plan(
        deployment="demo", canary="new", baseline="main", file="/new.yaml", strategy="canary",
        steps=(Step(0.5, 60.0), Step(1.0, 60.0)),
    )  # fmt: skip
    folder = folder_of(home.root, "demo") / "20260101-000000-new"
    made = Journal(folder / JOURNAL)
    made.append(begun(plan, at_s=100.0))
    for state in states:
        made.append(moved(state, "fits"))
    return folder


def test_the_status_is_shown_from_the_journal_where_the_gateway_is_away(home: EngineHome, told: Said) -> None:
    written(home, State(name="starting", since_s=101.0), State(name="failed", since_s=130.0, why="no memory"))
    assert main(["rollout", "status", "--deployment", "demo", "--admin", "http://127.0.0.1:9"]) == 0
    assert told.results().splitlines() == [
        "demo: main -> new (canary) from /new.yaml",
        "       1 s  new: starting its engines",
        "      30 s  new: failed before a request was moved: no memory",
    ]


def test_nobody_carrying_it_out_is_said_with_what_to_do(home: EngineHome, told: Said) -> None:
    written(home, State(name="baking", since_s=101.0, step=0, window_s=102.0))
    assert main(["rollout", "status", "--deployment", "demo", "--json"]) == 0
    assert "nobody is carrying it out; go on: teapot rollout start /new.yaml" in told.text()
    document: dict[str, Any] = json.loads(told.results())
    assert (document["state"], document["step"], document["plan"]["canary"]) == ("baking", 0, "new")


@pytest.mark.parametrize("what", ["status", "promote", "abort"])
def test_without_a_gateway_the_user_is_asked_whose_rollout(home: EngineHome, told: Said, what: str) -> None:
    assert main(["rollout", what, "--admin", "http://127.0.0.1:9"]) == 1
    assert "or say whose rollout with --deployment NAME" in told.text()


@pytest.mark.parametrize("url", ["no-address", "localhost:8001", "http://127.0.0.1:99999"])
def test_what_is_no_address_is_wrong_usage_and_nothing_is_asked(
    home: EngineHome, told: Said, url: str
) -> None:
    folder = written(home, State(name="baking", since_s=101.0, step=0, window_s=102.0))
    start = ["start", str(home.deployment())]
    for words in (start, ["status"], ["promote"], ["abort", "--deployment", "demo"]):
        assert main(["rollout", *words, "--admin", url]) == 2
    assert told.text().count(f"'{url}' is not an http address") == 4
    assert not waits(folder)


def test_a_lock_of_a_process_that_is_gone_is_nobodys_though_another_has_its_number(
    home: EngineHome, told: Said
) -> None:
    folder = written(home, State(name="baking", since_s=101.0, step=0, window_s=102.0)).parent
    with lock(folder):
        assert main(["rollout", "status", "--deployment", "demo"]) == 0
        assert "nobody is carrying it out" not in told.text()
    assert (folder / LOCK).read_text() == str(os.getpid())
    assert main(["rollout", "status", "--follow", "--deployment", "demo"]) == 0
    assert "nobody is carrying it out" in told.text()


def test_where_there_never_was_one_that_is_said(home: EngineHome, told: Said) -> None:
    assert main(["rollout", "status", "--deployment", "demo"]) == 1
    assert "there never was a rollout of it here" in told.text()
    assert main(["rollout", "abort", "--deployment", "demo"]) == 1
    assert "no rollout is going on" in told.text()
    assert not folder_of(home.root, "demo").exists()
