"""Waiting for a place, and giving it back whatever happens."""

from __future__ import annotations

import asyncio
import random

import pytest

from serving.gateway.answers import Refused
from serving.gateway.gate import Gate
from serving.gateway.settings import EdgeSettings


def gate(places: int, queue: int, timeout_s: float = 60.0) -> Gate:
    return Gate(EdgeSettings(max_in_flight=places, queue=queue, queue_timeout_s=timeout_s), 7)


async def hold(door: Gate, until: asyncio.Event) -> None:
    async with door:
        await until.wait()


async def queued(door: Gate, count: int) -> list[asyncio.Task[None]]:
    """Requests that wait, each until it is cancelled."""
    tasks = [asyncio.create_task(hold(door, asyncio.Event())) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_a_full_queue_sends_away_with_a_time_to_come_back() -> None:
    door, free = gate(1, 1), asyncio.Event()
    inside = asyncio.create_task(hold(door, free))
    await asyncio.sleep(0)
    waiting = await queued(door, 1)
    with pytest.raises(Refused) as caught:
        async with door:
            pass
    assert (caught.value.status, caught.value.code) == (503, "queue_full")
    assert caught.value.headers == {"Retry-After": "7"}
    for task in (inside, *waiting):
        task.cancel()


async def test_who_waits_too_long_is_sent_away_and_leaves_no_trace() -> None:
    door, free = gate(1, 5, timeout_s=0.01), asyncio.Event()
    inside = asyncio.create_task(hold(door, free))
    await asyncio.sleep(0)
    with pytest.raises(Refused) as caught:
        async with door:
            pass
    assert (caught.value.status, caught.value.code) == (503, "queue_timeout")
    assert door.waiting == 0
    free.set()
    await inside
    async with door:
        pass


async def test_a_waiter_that_leaves_does_not_keep_the_place_it_was_just_given() -> None:
    door, free = gate(1, 5), asyncio.Event()
    inside = asyncio.create_task(hold(door, free))
    await asyncio.sleep(0)
    (waiting,) = await queued(door, 1)
    free.set()
    await inside  # The place is the waiter's now, but it has not run since.
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(1):
        async with door:
            pass


async def test_all_who_wait_are_told_when_the_server_goes_down() -> None:
    door = gate(1, 5)
    inside, *waiting = await queued(door, 3)
    door.end_all()
    for outcome in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(outcome, Refused)
        assert outcome.code == "shutting_down"
    inside.cancel()
    await asyncio.gather(inside, return_exceptions=True)
    async with asyncio.timeout(1):
        async with door:
            pass


async def test_places_are_kept_whatever_waiters_do() -> None:
    dice = random.Random(4)
    door, inside, most = gate(3, 50, timeout_s=0.02), 0, 0

    async def visit(stay_s: float) -> None:
        nonlocal inside, most
        async with door:
            inside += 1
            most = max(most, inside)
            try:
                await asyncio.sleep(stay_s)
            finally:
                inside -= 1

    tasks = []
    for _ in range(400):
        tasks.append(asyncio.create_task(visit(dice.random() * 0.004)))
        if dice.random() < 0.4:
            dice.choice(tasks).cancel()
        if dice.random() < 0.3:
            await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (inside, door.waiting) == (0, 0)
    assert most == 3
    for _ in range(3):
        door_held = await queued(door, 3)
        assert door.waiting == 0
        for task in door_held:
            task.cancel()
        await asyncio.gather(*door_held, return_exceptions=True)
