"""Starting and ending the engines of revisions, over the admin address.

Owns: who may (the token), and what such requests say. Knows nothing about engines: their keeper comes in.
"""

from __future__ import annotations

import hmac
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aiohttp import web

from serving.gateway.answers import document
from serving.gateway.state import GatewayState
from serving.wire.problems import error_type, openai_error

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_KEYS = frozenset({"name", "file", "replaces", "again_in_s"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A revision to be brought up beside those that run, or in the place of one."""

    name: str
    file: str
    replaces: str | None = None
    """The revision whose engines end first, because there is no room for both."""
    again_in_s: int | None = None
    """What clients are told to wait meanwhile."""


class Keeper(Protocol):
    """Who starts and ends engines. Both return at once; `GET /status` tells how it goes."""

    token: str
    """What is asked of those who want it done."""

    def begin(self, asked: Asked) -> None:
        """Plan, start and prove a revision's engines. Raises: ValueError where that cannot be asked now."""

    def end(self, name: str, *, cut: bool) -> None:
        """Let a revision's requests finish, or cut them, and end its engines. Raises: ValueError."""


def add_routes(app: web.Application, state: GatewayState, keeper: Keeper) -> None:
    """Add `POST /revisions` and `DELETE /revisions/NAME`."""

    async def begin(request: web.Request) -> web.Response:
        if not _may(request, keeper.token):
            return _forbidden(state)
        try:
            keeper.begin(read_asked(await request.read()))
        except ValueError as error:
            return refusal(error)
        return web.Response(status=202, body=document(state.document()), content_type="application/json")

    async def end(request: web.Request) -> web.Response:
        if not _may(request, keeper.token):
            return _forbidden(state)
        in_flight = request.query.get("in_flight", "finish")
        try:
            if in_flight not in ("finish", "cut"):
                raise ValueError(f"in_flight is {in_flight!r}; write finish or cut")
            keeper.end(request.match_info["name"], cut=in_flight == "cut")
        except ValueError as error:
            return refusal(error)
        return web.Response(status=202, body=document(state.document()), content_type="application/json")

    app.router.add_post("/revisions", begin)
    app.router.add_delete("/revisions/{name}", end)


def read_asked(body: bytes) -> Asked:
    """The body of `POST /revisions`: `{"name": ..., "file": absolute path}`, with `replaces` and
    `again_in_s` where engines must end first. Raises: ValueError.
    """
    sent = json.loads(body)
    if not isinstance(sent, dict) or sent.keys() - _KEYS or not {"name", "file"} <= sent.keys():
        raise ValueError('write {"name": name, "file": absolute path}, perhaps with replaces and again_in_s')
    name, file = sent["name"], sent["file"]
    replaces, again_in_s = sent.get("replaces"), sent.get("again_in_s")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"the name is {name!r}; use letters, digits, '.', '_' and '-', at most 63 of them")
    if not isinstance(file, str) or not Path(file).is_absolute():
        raise ValueError(f"the file is {file!r}; give its absolute path")
    if replaces is not None and not isinstance(replaces, str):
        raise ValueError(f"replaces is {replaces!r}; give a revision's name")
    whole = isinstance(again_in_s, int) and not isinstance(again_in_s, bool) and again_in_s > 0
    if again_in_s is not None and not whole:
        raise ValueError(f"again_in_s is {again_in_s!r}; give whole seconds")
    return Asked(name, file, replaces, again_in_s)


def refusal(error: ValueError) -> web.Response:
    """A request that makes no sense, or not now."""
    body = openai_error(str(error), type=error_type(400), code="invalid_body")
    return web.Response(status=400, body=body, content_type="application/json")


def _may(request: web.Request, token: str) -> bool:
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(sent.encode(), token.encode())


def _forbidden(state: GatewayState) -> web.Response:
    words = f"starting and ending engines takes the token in {state.token_file}, as a bearer token"
    body = openai_error(words, type=error_type(401), code="invalid_token")
    headers = {"WWW-Authenticate": "Bearer"}
    return web.Response(status=401, body=body, content_type="application/json", headers=headers)
