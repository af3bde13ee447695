"""What an engine has in memory is known while it serves, all of its processes together."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.engine_home import make_engine_home
from fakes.revisions import file_of, running, until

pytestmark = pytest.mark.slow


async def test_the_memory_of_each_engine_is_told_to_prometheus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    async with running(home, file_of(home, "old")) as up:
        gateway = up.stack.gateway
        (backend,) = gateway.state.backends
        await until(lambda: backend.memory_bytes is not None)
        assert backend.memory_bytes is not None
        assert backend.memory_bytes > 5 * 1024**2  # a Python process has that at least
        lines = gateway.metrics.exposition().decode().splitlines()
        assert any(line.startswith("teapot_engine_memory_bytes{") for line in lines)
