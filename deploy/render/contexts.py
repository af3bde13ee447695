"""What the modes of each engine know when it is rendered: no machine was looked at.

Owns: refusing what `teapot serve` would refuse before it starts anything. Knows nothing about commands.
"""

from __future__ import annotations

from deploy.render.target import Request
from serving.config.flags import engine_context, engine_contexts
from serving.config.layout import engine_slots
from serving.config.startup import startup_problems
from serving.errors import UsageError
from serving.modes.mode import Device, EngineContext


def startable(request: Request, device: Device, version: str) -> tuple[EngineContext, ...]:
    """The context of every engine. Raises: UsageError with all that would not start or do nothing."""
    deployment, document = request.deployment, request.document
    shared = engine_context(deployment, device=device, version=version, model=request.model)
    contexts = engine_contexts(shared, engine_slots(deployment, None, device=device))
    wrong = [p.problem for p in startup_problems(deployment, document, *contexts) if p.severity != "warning"]
    if wrong:
        raise UsageError.of(wrong)
    return contexts
