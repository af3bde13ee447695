from __future__ import annotations

import asyncio
import os
import signal

import pytest

from deploy.signals import StopSignal, terminable
from serving.errors import Interrupted


@pytest.fixture(autouse=True)
def handlers_back():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_wakes_whoever_waits_and_means_an_exit_code(number: signal.Signals, code: int) -> None:
    stop = StopSignal()
    waiting = asyncio.create_task(stop.wait())
    os.kill(os.getpid(), number)
    assert await asyncio.wait_for(waiting, 10) == code
    assert stop.exit_code == code


async def test_only_the_first_signal_counts() -> None:
    stop = StopSignal()
    os.kill(os.getpid(), signal.SIGTERM)
    assert await asyncio.wait_for(stop.wait(), 10) == 143
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0.01)
    assert stop.exit_code == 143


def test_outside_a_loop_sigterm_raises_so_that_work_is_cleaned_up() -> None:
    with pytest.raises(Interrupted) as caught, terminable():
        os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.exit_code == 143


def test_afterwards_sigterm_means_what_it_meant_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with terminable():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
