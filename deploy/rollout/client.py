"""The admin interface of a running deployment, as a rollout uses it.

Owns: the requests, the token, and what is said where there is no answer. Knows nothing about why anything is
asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from deploy.admin_token import read_token
from serving.errors import Failed
from serving.wire.problems import message_of

TIMEOUT_S = 10.0


class Away(Failed):
    """Nobody answers there, now."""


class Declined(Failed):
    """It answered that it does not do this."""


class Admin:
    """One deployment's admin address. Every method raises Away or Declined."""

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self.url = url.rstrip("/")
        self._timeout_s = timeout_s
        # A proxy of the environment could not reach this machine's loopback.
        self._opener = build_opener(ProxyHandler({}))

    def status(self) -> Mapping[str, Any]:
        """The document of `GET /status`."""
        return self._document("GET", "/status")

    def begin(
        self, name: str, file: str, *, replaces: str | None = None, again_in_s: int | None = None
    ) -> None:
        """Have a revision's engines planned, started and proven."""
        asked = {"name": name, "file": file, "replaces": replaces, "again_in_s": again_in_s}
        self._changing(
            "POST", "/revisions", {key: value for key, value in asked.items() if value is not None}
        )

    def end(self, name: str, *, cut: bool) -> None:
        """Have a revision's engines ended, its requests finished or cut."""
        how = "cut" if cut else "finish"
        self._changing("DELETE", f"/revisions/{quote(name, safe='')}?in_flight={how}", None)

    def weigh(self, weights: Mapping[str, float]) -> None:
        """Give revisions their shares."""
        self._document("PUT", "/revisions", dict(weights))

    def shadow(self, revision: str, ratio: float) -> None:
        """Copy a share of the requests to a revision; 0: none."""
        self._document("POST", "/shadow", {"revision": revision, "ratio": ratio})

    def tell(self, document: Mapping[str, Any]) -> None:
        """Say where the rollout is, for `GET /status` and `/metrics`."""
        self._document("PUT", "/rollout", dict(document))

    def exposition(self) -> str:
        """What the gateway counts."""
        return self._ask("GET", "/metrics", None, {}).decode()

    def _changing(self, method: str, path: str, document: Any) -> None:
        # Read anew each time: a deployment that was started again has another.
        file = self.status().get("token_file")
        if not isinstance(file, str):
            raise Declined(
                "this deployment starts no engines of its own, so no revision of it can be rolled out",
                where=self.url,
                fix="give the admin address of a `teapot serve` with engines",
            )
        self._document(method, path, document, {"Authorization": f"Bearer {read_token(file)}"})

    def _document(
        self, method: str, path: str, document: Any = None, headers: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        body = self._ask(method, path, document, headers or {})
        try:
            value = json.loads(body)
        except ValueError:
            value = None
        if not isinstance(value, dict) or not {"name", "revisions"} <= value.keys():
            raise Away("this does not answer like the admin interface of a teapot gateway", where=self.url)
        return value

    def _ask(self, method: str, path: str, document: Any, headers: Mapping[str, str]) -> bytes:
        body = None if document is None else json.dumps(document).encode()
        request = Request(self.url + path, body, dict(headers), method=method)
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                told: bytes = answer.read()
                return told
        except HTTPError as error:
            with error:
                said = _message(error.read()) or f"{error.code} {error.reason}"
            kind = Declined if error.code < 500 else Away
            raise kind(said, where=f"{method} {self.url}{path}") from error
        except (OSError, HTTPException) as error:
            inner = error.reason if isinstance(error, URLError) else error
            why = getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
            raise Away(
                f"the gateway's admin interface cannot be reached ({why})",
                where=self.url + path,
                fix="is `teapot serve` running? give its gateway.admin_port with --admin URL",
            ) from error


def _message(body: bytes) -> str | None:
    try:
        return message_of(json.loads(body))
    except ValueError:
        return None
