"""One request as the proxy carries it: what is asked, of whom, and what was tried.

Owns: the notes that last from try to try. Knows nothing about sockets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from serving.gateway.backends import Backend, Revision
from serving.gateway.disaggregated.division import DividedBodies
from serving.gateway.disaggregated.machine import Division
from serving.gateway.policies.policy import Ask

Rewrite = Callable[[bytes], bytes]


class Task(NamedTuple):
    """What to ask an engine for. `rewrite` makes our answer's body from the engine's; None: unread."""

    path: str
    rewrite: Rewrite | None = None


@dataclass(slots=True)
class Errand:
    """A request on its way."""

    task: Task
    method: str
    headers: dict[str, str]
    ask: Ask
    revision: Revision
    body: bytes | None
    tried: list[Backend] = field(default_factory=list)
    division: Division | None = None
    bodies: DividedBodies | None = None
    """Of a divided request, until its params were used."""
