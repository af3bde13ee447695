"""A scripted world for studies: arms come up at once, loads leave a run folder that was never run.

Each arm has a speed; a hook may fail a start, a cell, or end the engine in the middle of one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.run_folders import write_run

from deploy.study.quality_record import Answer, DocumentScore, QualityRecord
from deploy.study.reading import ArmRead
from deploy.study.rows import ShownMode
from deploy.study.world import Up
from loadgen.results import conclude
from loadgen.workload import Workload
from serving.errors import Failed


@dataclass
class ScriptedWorld:
    """Remembers what it was asked for, in order."""

    slow: Mapping[str, float] = field(default_factory=dict)
    """By arm: times of its requests over the others'."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    """By arm: KV tokens; 1,000 where nothing is said."""
    starting: Callable[[str], None] = lambda arm: None
    """Called at each start; what it raises is how the start fails."""
    loading: Callable[[str, str, asyncio.Event], None] = lambda arm, workload, dead: None
    """Called at each load, with what ends the engine when it is set."""
    plans: Mapping[str, str] = field(default_factory=dict)
    """By arm: the hash of what its quality was asked for; `plan` where nothing is said."""
    hangs: bool = False
    """Loads last until they are cancelled."""
    said: list[str] = field(default_factory=list)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a load hangs."""

    @asynccontextmanager
    async def up(self, arm: ArmRead) -> AsyncIterator[Up]:
        """A start."""
        self.said.append(f"up {arm.name}")
        self.starting(arm.name)
        dead = asyncio.Event()

        async def ended() -> Failed:
            await dead.wait()
            return Failed("the engine was killed")

        tokens = self.tokens.get(arm.name, 1000)
        shown = tuple(ShownMode(kind=m.kind, asked=m.asked(), in_effect=True, evidence="scripted")
                      for m in arm.deployment.modes)  # fmt: skip
        up = Up(
            url="http://127.0.0.1:1", model=arm.name, verdicts=shown, kv_cache_tokens=tokens,
            cache_config={"kv_cache_size_tokens": str(tokens)}, ended=ended,
        )  # fmt: skip
        self._dead = dead
        try:
            yield up
        finally:
            self.said.append(f"down {arm.name}")

    async def load(self, up: Up, workload: Workload, out: Path) -> None:
        """A load."""
        self.said.append(f"load {up.model} {workload.name} seed {workload.seed}")
        self.loading(up.model, workload.name, self._dead)
        if self.hangs or self._dead.is_set():
            self.hanging.set()
            await asyncio.sleep(60)
        conclude(write_run(out, n=8, slow=self.slow.get(up.model, 1.0), seed=workload.seed))

    async def quality(self, up: Up) -> Mapping[str, Any]:
        """A record of one document of two tokens and one answer."""
        self.said.append(f"quality {up.model}")
        return QualityRecord(
            model=up.model, plan_sha256=self.plans.get(up.model, "plan"), window_chars=100, answer_tokens=1,
            documents=(DocumentScore("text", 1, "hash", (1.0, 2.0)),), answers=(Answer("text:1/2", ("t",)),),
        ).to_json()  # fmt: skip

    def log_tail(self, arm: ArmRead) -> tuple[str, ...]:
        """One line."""
        return (f"last line of {arm.name}",)
