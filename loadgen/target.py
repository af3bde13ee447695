"""The address under test: its parts, and the bytes of a request to it.

Owns: how a target is written (URL, with or without `/v1`), and its request head. Knows nothing about
sockets or what the bodies mean. The key is never part of a URL that is shown or stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from serving.errors import UsageError

KEY_VARIABLES = ("TEAPOT_API_KEY", "OPENAI_API_KEY")


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go. `prefix` is the path before `/v1`, without a slash at its end."""

    scheme: str
    host: str
    port: int
    prefix: str = ""
    api_key: str | None = field(default=None, repr=False)

    @property
    def tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """The Host header: an IPv6 address in brackets, the port only where it is not the scheme's."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address without any credentials."""
        return f"{self.scheme}://{self.authority}{self.prefix}"

    def headers(self) -> dict[str, str]:
        """What every request carries."""
        headers = {"Host": self.authority, "User-Agent": "teapot-load", "Accept-Encoding": "identity"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        return headers


def parse_target(url: str, *, api_key: str | None = None, where: str = "--target") -> Target:
    """Read `http://host:port`, with or without `/v1`; a password in the URL is taken as the key.
    `where` is the option that an error names.

    Raises: UsageError if it is not an http or https address.
    """
    form = "write it like http://127.0.0.1:8000"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"'{url}' is not an address: {error}", where=where, fix=form) from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"'{url}' is not an http or https address", where=where, fix=form)
    if parts.query or parts.fragment:
        raise UsageError("an address has no '?' or '#' part", where=where, fix=form)
    if port is None:
        port = 443 if parts.scheme == "https" else 80
    prefix = parts.path.rstrip("/").removesuffix("/v1")
    return Target(parts.scheme, parts.hostname, port, prefix, api_key or parts.password)


def key_from(environment: Mapping[str, str]) -> str | None:
    """The key for the target: never from the command line, where every user of the machine could see it."""
    return next((value for name in KEY_VARIABLES if (value := environment.get(name))), None)


def request_bytes(target: Target, path: str, body: Mapping[str, Any], *, request_id: str) -> bytes:
    """A whole HTTP/1.1 POST with a JSON body, ready for the socket."""
    content = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    head = {
        **target.headers(),
        "Accept": "text/event-stream",
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
        "X-Request-Id": request_id,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"POST {target.prefix}{path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + content
