"""The access log says who, not what."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from serving.gateway.access_log import access_line, access_logger, switch_on
from serving.gateway.caller import Caller
from serving.gateway.outcome import Exchange


@pytest.fixture
def restored() -> Iterator[None]:
    before = (access_logger.level, access_logger.propagate, list(access_logger.handlers))
    yield
    access_logger.setLevel(before[0])
    access_logger.propagate, access_logger.handlers[:] = before[1], before[2]


def test_a_line_names_the_key_but_does_not_show_it() -> None:
    exchange = Exchange("mine", "/p", 0, kind="ok", status=200, caller=Caller("alice", "abc123"))
    assert access_line(exchange.outcome(1_000_000)) == "mine /p 200 ok 1.0ms in=0 out=0 by=alice"


@pytest.mark.usefixtures("restored")
def test_switched_on_it_writes_one_line_a_request_with_its_time() -> None:
    out = io.StringIO()
    switch_on(out)
    switch_on(out)
    assert access_logger.isEnabledFor(logging.INFO)
    access_logger.info("a line")
    (line,) = out.getvalue().splitlines()
    assert line.endswith(" a line")
    assert line[:2] == "20"
