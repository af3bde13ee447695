"""Which event loop serves, and that a run ends like asyncio's own."""

from __future__ import annotations

import asyncio
import sys

import pytest

from serving.gateway import loop


async def kind() -> str:
    return type(asyncio.get_running_loop()).__module__.split(".")[0]


def test_uvloop_serves_where_it_is_installed() -> None:
    pytest.importorskip("uvloop")
    assert loop.run(kind()) == "uvloop"


def test_asyncios_own_loop_serves_where_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop.run(kind()) == "asyncio"


def test_what_goes_wrong_inside_comes_out() -> None:
    async def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        loop.run(fail())
