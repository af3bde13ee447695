"""The public address by allow-list: which path, with which method, does what.

Owns: the list and its matching. Knows nothing about what is behind a route. Paths are compared as the
client wrote them, so `//`, `..` and percent-encoding match nothing; and what is sent on is the route's own
path, never the client's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Action = Literal["forward", "model", "live", "ready"]


@dataclass(frozen=True, slots=True)
class Route:
    """One allowed path. `path` labels metrics and, for `forward`, is the path at the engine."""

    path: str
    methods: tuple[str, ...]
    action: Action


@dataclass(frozen=True, slots=True)
class Match:
    """A route and, for one model's path, the model's id."""

    route: Route
    model: str | None = None


_POST = ("POST",)
_GET = ("GET",)
# A load balancer may ask with HEAD.
_PROBE = ("GET", "HEAD")

ROUTES: tuple[Route, ...] = (
    Route("/v1/chat/completions", _POST, "forward"),
    Route("/v1/completions", _POST, "forward"),
    Route("/v1/responses", _POST, "forward"),
    Route("/v1/embeddings", _POST, "forward"),
    Route("/v1/models", _GET, "forward"),
    Route("/tokenize", _POST, "forward"),
    Route("/detokenize", _POST, "forward"),
    Route("/health/live", _PROBE, "live"),
    Route("/health/ready", _PROBE, "ready"),
)
ONE_MODEL = Route("/v1/models/{id}", _GET, "model")

_BY_PATH = {route.path: Match(route) for route in ROUTES}
# Hub ids contain a slash; a segment starts with a letter or digit, so `.` and `..` are none.
_MODEL_PATH = re.compile(r"/v1/models/([A-Za-z0-9][\w.:@-]*(?:/[A-Za-z0-9][\w.:@-]*)*)", re.ASCII)


def match(target: str) -> Match | None:
    """Find the route of a request target (path and query, as on the request line); None if not allowed."""
    path = target.partition("?")[0]
    found = _BY_PATH.get(path)
    if found is None and (model := _MODEL_PATH.fullmatch(path)):
        return Match(ONE_MODEL, model[1])
    return found
