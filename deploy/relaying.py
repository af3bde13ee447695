"""A deployment without engines of its own: the gateway alone, in front of what others serve.

Owns: its life, with the manner of `stack.Stack`. Knows nothing about engines, environments or models.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from deploy.leaving import leave
from deploy.marking import Marking, marking
from deploy.prometheus import LocalPrometheus, Place
from serving.config.schema import Deployment
from serving.console import Console
from serving.engine.guardian import Guardian
from serving.errors import Failed
from serving.gateway.routing_settings import routing_settings
from serving.gateway.server import Gateway
from serving.gateway.settings import edge_settings, gateway_limits, objectives


@dataclass(slots=True)
class Relaying:
    """One gateway in front of others. `up` once, then `down` once, whatever happened in between."""

    deployment: Deployment
    beside: Path
    """The deployment file's folder, in which the files lie that it names."""
    console: Console
    recording: Place | None = None
    gateway: Gateway = field(init=False)
    prometheus: LocalPrometheus | None = field(init=False, default=None)
    marks: Marking = field(init=False)
    _guardian: Guardian = field(default_factory=Guardian)

    def __post_init__(self) -> None:
        self.gateway = Gateway(
            self.deployment.name,
            gateway_limits(self.deployment.gateway),
            edge_settings(self.deployment.gateway, self.beside),
            routing_settings(self.deployment, self.beside),
            objectives(self.deployment),
        )
        self.marks = marking(self.deployment, self.beside, self.console.say)
        if self.recording is not None:
            self.prometheus = LocalPrometheus(
                self.recording, self._guardian, self.console.say, self.gateway.recorded_at
            )

    async def up(self) -> None:
        """Bind the addresses, ask every backend whether it answers, and take requests. Raises: Failed."""
        section = self.deployment.gateway
        await self.gateway.start(section.host, section.port, section.admin_host, section.admin_port)
        if self.prometheus is not None:
            self._guardian.start()
            await self.prometheus.start(self.gateway.admin_url, self.gateway.public_url)
        await self.gateway.known()
        self.gateway.open(())
        self.marks.ready(self.gateway.state)
        backends = list(self.gateway.state.backends)
        ready = sum(backend.state == "ready" for backend in backends)
        self.console.say(f"no engines of its own; {ready} of {len(backends)} backends elsewhere answer")

    async def ended(self) -> Failed:
        """Never: who is away elsewhere may come back."""
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    async def down(self) -> None:
        """Stop taking requests, let those in flight finish, close the addresses."""
        self.marks.stopping(self.gateway.state)
        try:
            await leave(self.gateway, self.deployment.gateway, self.console)
            if self.prometheus is not None:
                await self.prometheus.stop()
                self._guardian.close()
        finally:
            await self.gateway.stop()
            await asyncio.to_thread(self.marks.close)
