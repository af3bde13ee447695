"""The names of models at the edge: aliases put right on the way in, listed on the way out.

Owns: what an alias means for each request. Knows nothing about how a body or a list is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from serving.gateway.aliases import TooIntricate, list_aliases, rename_model
from serving.gateway.answers import Refused
from serving.gateway.models import pick_model
from serving.gateway.routes import Match

_LIST = "/v1/models"


class ModelNames:
    """The aliases of one gateway. Without any, bodies are not looked at."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self._aliases = aliases

    def put_right(self, body: bytes) -> bytes:
        """A body as the engine takes it. Raises: Refused (400)."""
        if not self._aliases:
            return body
        try:
            return rename_model(body, self._aliases)
        except TooIntricate as error:
            message = "the request body has too many parts to look for its model; say the model's own name"
            raise Refused(400, message, code="invalid_body") from error

    def listing(self, found: Match) -> tuple[str, Callable[[bytes], bytes] | None]:
        """What to ask an engine for when its models are asked for, and what to make of its answer."""
        if found.model is not None:
            return _LIST, partial(self._one, model=found.model)
        return found.route.path, self._all if self._aliases else None

    def _all(self, listing: bytes) -> bytes:
        try:
            return list_aliases(listing, self._aliases)
        except ValueError as error:
            raise Refused(
                502, "the engine's list of models cannot be read", code="bad_upstream_answer",
                kind="upstream_error",
            ) from error  # fmt: skip

    def _one(self, listing: bytes, *, model: str) -> bytes:
        return pick_model(self._all(listing) if self._aliases else listing, model)
