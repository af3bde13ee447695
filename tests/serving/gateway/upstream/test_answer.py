"""One answer, told by hand what came."""

from __future__ import annotations

import asyncio

import pytest

from serving.gateway.upstream.answer import Answer, Broke
from serving.gateway.upstream.framing import Head

HEAD = Head(200, {}, keep_alive=True)


class Source:
    """Where the answer comes from; counts what is asked of it."""

    def __init__(self) -> None:
        self.paused = False
        self.cut = False

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def abort(self) -> None:
        self.cut = True


def made() -> tuple[Answer, Source]:
    source = Source()
    return Answer(source, asyncio.get_running_loop()), source


async def test_a_body_is_read_whole_with_or_without_framing() -> None:
    answer, _ = made()
    answer.take_framed(b"2\r\nab\r\n1\r\nc\r\n")
    answer.take_part(b"def")
    answer.whole()
    assert await answer.read(100) == b"abcdef"


async def test_no_more_is_read_than_wanted_and_then_the_engine_is_cut() -> None:
    answer, source = made()
    answer.take_part(b"x" * 50)
    answer.failed(Broke("cut, as asked"))
    assert await answer.read(10) == b"x" * 10
    assert source.cut


async def test_a_body_that_breaks_off_is_not_taken_for_whole() -> None:
    answer, _ = made()
    answer.take_part(b"half")
    answer.failed(Broke("x"))
    with pytest.raises(Broke):
        await answer.read(100)
    assert not answer.is_whole


async def test_a_failure_before_the_head_is_the_heads_too() -> None:
    answer, _ = made()
    answer.failed(Broke("x"))
    with pytest.raises(Broke):
        await answer.headed


async def test_what_is_read_by_nobody_does_not_pile_up() -> None:
    answer, source = made()
    answer.take_part(b"x" * 70_000)
    assert source.paused
    assert answer.waiting() == b"x" * 70_000


async def test_giving_up_after_a_cancelled_wait_still_cuts_the_engine() -> None:
    answer, source = made()
    answer.headed.set_result(HEAD)
    waiting = asyncio.ensure_future(asyncio.wait_for(answer.finished, 5))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert answer.finished.cancelled()
    answer.close()
    assert source.cut


async def test_a_slow_client_of_a_whole_answer_does_not_stop_the_connections_next_one() -> None:
    answer, source = made()
    answer.whole()
    answer.pause()
    assert not source.paused
    source.paused = True  # By the next answer's own client.
    answer.resume()
    assert source.paused
