"""The child beside a gateway, played by a script, and everything that may go wrong with it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from fakes.fake_prometheus import FakePrometheus, make_fake_prometheus

from deploy.prometheus import LocalPrometheus, Place
from deploy.prometheus_claims import claim_folder
from deploy.scrape_config import EngineTarget
from serving.config.schema import PrometheusSection
from serving.engine.folders import DataFolder
from serving.engine.guardian import Guardian, stack_processes
from serving.engine.ports import free_port, is_free
from serving.engine.states import EngineState
from serving.errors import Failed

pytestmark = pytest.mark.slow
FULL = 'level=error msg="Scrape commit failed" err="write to WAL: no space left on device"'


@dataclass
class Beside:
    """A Prometheus to be, and what it told."""

    place: Place
    guardian: Guardian
    said: list[str] = field(default_factory=list)
    urls: list[str | None] = field(default_factory=list)
    own: LocalPrometheus = field(init=False)

    def __post_init__(self) -> None:
        self.own = LocalPrometheus(self.place, self.guardian, self.said.append, self.urls.append)

    async def start(self) -> None:
        await self.own.start("http://127.0.0.1:8001", "http://127.0.0.1:8000")

    def processes(self) -> list[int]:
        return [process.pid for process in stack_processes(self.guardian.stack_id, [])]


@pytest.fixture
def fake(tmp_path: Path) -> FakePrometheus:
    return make_fake_prometheus(tmp_path)


def place(root: Path, **section) -> Place:
    settings = PrometheusSection.model_validate({"port": free_port()} | section)
    folder = DataFolder(root).make()
    return Place("demo", settings, folder, "now", environ={"PATH": str(root / "nothing")}, rules=())


@asynccontextmanager
async def beside(where: Place) -> AsyncIterator[Beside]:
    guardian = Guardian()
    guardian.start()
    found = Beside(where, guardian)
    try:
        yield found
    finally:
        await found.own.stop()
        assert found.processes() == []
        guardian.close()


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def test_it_answers_where_it_says_and_nothing_of_it_is_left(
    tmp_path: Path, fake: FakePrometheus
) -> None:
    async with beside(place(tmp_path)) as found:
        await found.start()
        port = found.place.section.port
        assert found.own.url == f"http://127.0.0.1:{port}"
        assert found.urls == [found.own.url]
        assert found.said == [f"Prometheus 2.53.1 is at {found.own.url} (log: {found.place.log})"]
        assert f"--web.listen-address=127.0.0.1:{port}" in fake.arguments()
        assert len(found.processes()) == 1
        await found.own.stop()
        assert found.urls == [f"http://127.0.0.1:{port}", None]
        assert is_free("127.0.0.1", port)
        await found.own.stop()
    assert len(found.said) == 1


async def test_rules_are_loaded_where_there_are_any(tmp_path: Path, fake: FakePrometheus) -> None:
    there, missing = tmp_path / "rules.yaml", tmp_path / "alerts.yaml"
    there.write_text("groups: []\n")
    async with beside(replace(place(tmp_path), rules=(there, missing))) as found:
        await found.start()
        text = found.place.files.config.read_text()
    assert str(there) in text
    assert str(missing) not in text


async def test_a_taken_port_is_left_for_the_next_and_that_is_said(
    tmp_path: Path, fake: FakePrometheus
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        async with beside(place(tmp_path, port=port)) as found:
            await found.start()
            assert found.own.url is not None
            assert port < int(found.own.url.rpartition(":")[2]) < port + 10
            assert f", since port {port} is taken" in found.said[0]


async def test_where_all_ports_are_taken_it_is_said_and_that_is_all(
    tmp_path: Path, fake: FakePrometheus
) -> None:
    with socket.create_server(("127.0.0.1", 65535)):
        async with beside(place(tmp_path, port=65535)) as found:
            await found.start()
            assert found.own.url is None
            assert found.said == [
                "Prometheus is not running, and serving goes on without it: "
                "prometheus.port: ports 65535 to 65535 are taken; set it to a free one"
            ]


async def test_any_port_will_do_where_the_file_says_0(tmp_path: Path, fake: FakePrometheus) -> None:
    async with beside(place(tmp_path, port=0)) as found:
        await found.start()
        assert found.own.url is not None
        assert "taken" not in found.said[0]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("listen tcp 127.0.0.1:9090: bind: address already in use", "its port is taken; set prometheus.port"),
        (FULL, "the disk is full; make room"),
        ("something never seen", "it ended (exit code 1); see the log's last lines"),
    ],
)
async def test_one_that_ends_at_its_start_is_said_once_with_the_reason(
    tmp_path: Path, fake: FakePrometheus, line: str, words: str
) -> None:
    fake.behave(say=[line], exit=1)
    async with beside(place(tmp_path)) as found:
        await found.start()
        assert found.own.url is None
        assert found.urls == []
        assert len(found.said) == 1
        assert words in found.said[0]
        assert str(found.place.log) in found.said[0]
        assert line in found.place.log.read_text()


async def test_one_that_is_killed_later_is_said_and_started_again_where_it_was(
    tmp_path: Path, fake: FakePrometheus
) -> None:
    async with beside(place(tmp_path)) as found:
        await found.start()
        url, [pid] = found.own.url, found.processes()
        os.kill(pid, signal.SIGKILL)
        await until(lambda: found.urls == [url, None, url])
        assert "serving goes on without it" in found.said[1]
        assert "it ended (signal 9)" in found.said[1]
        assert "it is started again" in found.said[1]
        assert found.processes() not in ([], [pid])
        assert len(found.said) == 2


async def test_one_that_ends_again_and_again_is_said_once_and_tried_on_and_on(
    tmp_path: Path, fake: FakePrometheus
) -> None:
    async with beside(replace(place(tmp_path), pauses_s=(0.01,))) as found:
        await found.start()
        fake.behave(say=[FULL], exit=1)
        os.kill(found.processes()[0], signal.SIGKILL)
        await until(lambda: found.place.log.read_text().count(FULL) >= 3)
        assert found.own.url is None
        assert len(found.said) == 2
        fake.behave()
        await until(lambda: found.own.url is not None)
        assert found.urls[0] == found.own.url
    assert len(found.said) == 2


async def test_one_that_ends_after_a_steady_run_is_news_again(tmp_path: Path, fake: FakePrometheus) -> None:
    async with beside(replace(place(tmp_path), pauses_s=(0.01,), steady_s=0.0)) as found:
        await found.start()
        url = found.own.url
        os.kill(found.processes()[0], signal.SIGKILL)
        await until(lambda: found.urls == [url, None, url])
        os.kill(found.processes()[0], signal.SIGKILL)
        await until(lambda: found.urls == [url, None, url, None, url])
        assert ["it ended (signal 9)" in words for words in found.said] == [False, True, True]


async def test_a_new_address_is_said_where_its_port_was_taken_in_between(
    tmp_path: Path, fake: FakePrometheus
) -> None:
    async with beside(place(tmp_path)) as found:
        await found.start()
        port = found.place.section.port
        os.kill(found.processes()[0], signal.SIGKILL)
        await until(lambda: is_free("127.0.0.1", port))
        with socket.create_server(("127.0.0.1", port)):
            await until(lambda: len(found.said) == 3)
        assert found.said[2] == f"Prometheus is at {found.own.url} now"
        assert found.own.url != f"http://127.0.0.1:{port}"


async def test_it_is_not_started_again_once_it_is_stopped(tmp_path: Path, fake: FakePrometheus) -> None:
    async with beside(place(tmp_path)) as found:
        await found.start()
        os.kill(found.processes()[0], signal.SIGKILL)
        await until(lambda: len(found.said) == 2)
        await found.own.stop()
        assert found.own.url is None
        assert found.processes() == []


async def test_a_full_disk_under_it_is_said_once_while_it_runs_on(
    tmp_path: Path, fake: FakePrometheus
) -> None:
    fake.behave(say=[FULL, FULL])
    async with beside(place(tmp_path)) as found:
        await found.start()
        await until(lambda: len(found.said) == 2)
        assert found.said[1].startswith("Prometheus cannot record: the disk is full; make room")
        with found.place.log.open("a") as log:
            log.write(FULL + "\n")
        await asyncio.sleep(1.2)  # longer than between two looks
        assert found.own.url is not None
    assert len(found.said) == 2


async def test_one_that_does_not_listen_to_sigterm_is_killed(tmp_path: Path, fake: FakePrometheus) -> None:
    fake.behave(ignore_sigterm=True)
    async with beside(replace(place(tmp_path), ends_within_s=0.3)) as found:
        await found.start()
        await found.own.stop()
        assert found.processes() == []
        assert found.said[-1] == "Prometheus did not end in 0.3 s and was killed"


async def test_a_program_that_will_not_do_is_said(tmp_path: Path, fake: FakePrometheus) -> None:
    fake.behave(version="prometheus, version 2.24.1+ds (branch: debian/sid)")
    async with beside(place(tmp_path)) as found:
        await found.start()
        assert "is Prometheus 2.24.1+ds, and 2.42 or newer is needed" in found.said[0]
    assert len(found.said) == 1


async def test_a_folder_that_cannot_be_written_to_is_said(tmp_path: Path, fake: FakePrometheus) -> None:
    where = place(tmp_path)
    (where.folder.state / "prometheus").write_text("in the way")
    async with beside(where) as found:
        await found.start()
        assert "its files cannot be written" in found.said[0]
    assert len(found.said) == 1


async def test_where_there_is_none_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    async with beside(place(tmp_path)) as found:
        await found.start()
        assert found.own.url is None
        assert len(found.said) == 1
        assert "apt install prometheus" in found.said[0]
        assert str(tmp_path / "bin") in found.said[0]


async def test_where_the_file_demands_one_its_lack_is_an_error(tmp_path: Path) -> None:
    async with beside(place(tmp_path, enabled=True)) as found:
        with pytest.raises(Failed, match=r"prometheus\.enabled: there is no prometheus on PATH; apt install"):
            await found.start()


async def test_where_the_file_wants_none_there_is_none(tmp_path: Path, fake: FakePrometheus) -> None:
    async with beside(place(tmp_path, enabled=False)) as found:
        await found.start()
        assert (found.said, found.urls, found.processes()) == ([], [], [])
    assert not found.place.files.folder.exists()


async def test_two_never_share_a_folder_and_the_second_leaves_the_first_s_targets_alone(
    tmp_path: Path, fake: FakePrometheus
) -> None:
    async with beside(place(tmp_path)) as first, beside(place(tmp_path)) as second:
        await first.start()
        first.own.see("demo-0", EngineTarget("http://127.0.0.1:4000", "main", "any"), EngineState.READY)
        before = {path: path.read_text() for path in first.place.files.folder.rglob("*.[jy]*")}
        await second.start()
        second.own.see("demo-0", EngineTarget("http://127.0.0.1:5000", "main", "any"), EngineState.READY)
        assert second.own.url is None
        assert "another teapot serves a deployment of this name" in second.said[0]
        assert first.own.url is not None
        assert {path: path.read_text() for path in first.place.files.folder.rglob("*.[jy]*")} == before
        await first.own.stop()
        third = Beside(first.place, first.guardian)
        await third.start()
        assert third.own.url is not None
        await third.own.stop()


async def test_the_lock_is_the_childs_too_so_that_one_left_behind_still_has_its_data(
    tmp_path: Path, fake: FakePrometheus
) -> None:
    async with beside(place(tmp_path)) as found:
        await found.start()
        assert found.own._lock is not None
        os.close(found.own._lock)  # as the kernel does when teapot is killed
        found.own._lock = None
        with pytest.raises(Failed, match="another teapot"):
            claim_folder(found.place.files.folder / "lock")


async def test_files_of_load_runs_that_were_killed_are_put_away(tmp_path: Path, fake: FakePrometheus) -> None:
    async with beside(place(tmp_path)) as found:
        found.place.files.load.mkdir(parents=True)
        stale = found.place.files.load / "4711.json"
        stale.write_text("[]")
        await found.start()
        await until(lambda: not stale.exists())
