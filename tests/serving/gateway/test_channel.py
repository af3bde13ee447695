"""Objects over a socket pair."""

from __future__ import annotations

import socket

import pytest

from serving.gateway.channel import Channel
from serving.gateway.limits import GatewayLimits


async def test_objects_arrive_whole_and_in_order_however_large() -> None:
    left, right = socket.socketpair()
    ours, theirs = await Channel.over(left), await Channel.over(right)
    sent = [GatewayLimits(body_s=1.5), None, "x" * 1_000_000, list(range(1000))]
    for message in sent[:2]:
        ours.send(message)
    assert [await theirs.receive() for _ in range(2)] == sent[:2]
    for message in sent[2:]:
        ours.send(message)
    assert [await theirs.receive() for _ in range(2)] == sent[2:]
    await ours.close()
    await theirs.close()


async def test_a_process_that_is_gone_is_an_end_and_not_a_fault() -> None:
    left, right = socket.socketpair()
    ours, theirs = await Channel.over(left), await Channel.over(right)
    theirs.send("last words")
    await theirs.close()
    assert await ours.receive() == "last words"
    with pytest.raises(EOFError):
        await ours.receive()
    for _ in range(3):
        ours.send("too late")
    await ours.close()
