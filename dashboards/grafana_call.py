"""One call of the package grafana-api 1.0.3, and everything that goes around its faults.

Owns: these faults. It takes every body for JSON (an empty 204, a page of a proxy); an error page with the
word `message` in it ends in a TypeError; exceptions of requests escape; a redirected POST becomes a GET; its
address needs a slash after a prefix and brackets around IPv6; proxies are asked for loopback.
Knows nothing about what is asked of Grafana.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from grafana_api.grafana_api import GrafanaException
from grafana_api.grafana_face import GrafanaFace

from serving.errors import Failed, UsageError

T = TypeVar("T")
ABSENT = 404
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class GrafanaFailed(Failed):
    """Grafana, or whatever answers there, did not do it. `status` is Grafana's answer; None: it gave none."""

    def __init__(self, what: str, *, where: str, fix: str, status: int | None = None) -> None:
        super().__init__(what, where=where, fix=fix)
        self.status = status


class GrafanaCalls:
    """A Grafana as grafana-api sees it. Raises: UsageError where `url` is no address or `token` no token."""

    def __init__(
        self, url: str, token: str, timeout_s: float, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.url = checked_url(url)
        self._timeout_s = timeout_s
        self.face = _face(self.url, checked_token(token), timeout_s)
        session: requests.Session = self.face.api.s
        session.hooks["response"].append(_readable)
        self.face.api.verify = next((environ[name] for name in _CA_VARIABLES if environ.get(name)), True)
        if urlsplit(self.url).hostname in _LOOPBACK:
            session.trust_env = False

    def close(self) -> None:
        """Let go of its connections."""
        self.face.api.s.close()

    def do(self, call: Callable[[], T], path: str) -> T:
        """Make a call to a path under /api. Raises: GrafanaFailed with what to do."""
        where = f"{self.url}/api{path}"
        try:
            return call()
        except GrafanaException as error:
            raise self._refused(error, where) from error
        except requests.RequestException as error:
            raise _unreached(error, where, self._timeout_s) from error

    def no_grafana(self, got: str) -> GrafanaFailed:
        """What answers there is something else."""
        return GrafanaFailed(
            f"this does not answer like Grafana: {got}",
            where=self.url,
            fix="give Grafana's own address, with its path where it has one, such as https://host/grafana",
        )

    def _refused(self, error: GrafanaException, where: str) -> GrafanaFailed:
        status, told = error.status_code, _told(error)
        if told is None and _TLS_WANTED in error.response[_PAGE]:
            return GrafanaFailed("this port speaks TLS", where=where, fix="write the address with https://")
        if told is None:
            return self.no_grafana(f"it answers {status}")
        what, fix = _SAID.get(status, ("answers {status}: {told}", "its own log says more"))
        return GrafanaFailed(
            "Grafana " + what.format(status=status, told=told), where=where, fix=fix, status=status
        )


_TLS_WANTED = "HTTPS server"
"""Go's words for a plain request to an encrypted port."""
_SAID: Mapping[int, tuple[str, str]] = {
    401: ("does not know this token: {told}", "make one for a service account, and give that"),
    403: ("does not allow this to the token: {told}", "give its service account the role Editor"),
    406: (
        "has this board in its v2 form, and tells it in another API: {told}",
        "delete it there, and push again",
    ),
}


def checked_url(url: str, *, where: str = "--grafana") -> str:
    """The address without a slash at its end. Raises: UsageError where it is none."""
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right or parts.query or parts.fragment or "@" in parts.netloc:
        # Without the value where it may hold a password.
        shown = "this" if "@" in url else f"'{url}'"
        fix = "write it like http://127.0.0.1:3000, without a name and password"
        raise UsageError(f"{shown} is not the address of a Grafana", where=where, fix=fix)
    return url.rstrip("/").removesuffix("/api")


def checked_token(token: str, *, where: str = "the token for Grafana") -> str:
    """The token without the space around it. Raises: UsageError where it cannot be one."""
    stripped = token.strip()
    if not stripped or not re.fullmatch(r"[\x21-\x7e]+", stripped):
        what = "has a character that no token has" if stripped else "is empty"
        raise UsageError(what, where=where, fix="give a service account's token, and nothing else")
    return stripped


def _face(url: str, token: str, timeout_s: float) -> GrafanaFace:
    parts = urlsplit(url)
    host = parts.hostname or ""
    prefix = parts.path.strip("/")
    return GrafanaFace(
        auth=token,
        host=f"[{host}]" if ":" in host else host,
        port=parts.port,
        url_path_prefix=f"{prefix}/" if prefix else "",
        protocol=parts.scheme,
        timeout=timeout_s,
    )


_PAGE = "page"
"""Key of what came instead of Grafana's JSON."""


class _NotJson(requests.RequestException):
    """An answer that is no JSON."""


class _Redirected(requests.RequestException):
    """An answer that sends us elsewhere."""


def _readable(response: requests.Response, *_: Any, **__: Any) -> requests.Response:
    """Make of every answer one that grafana-api can read, or say what it is."""
    if response.is_redirect:
        raise _Redirected(response.headers["location"], response=response)
    try:
        document = response.json() if response.content else None
    except ValueError:
        document = response
    if response.ok and document is response:
        raise _NotJson(f"{response.status_code} with a page that is not JSON", response=response)
    if response.ok and document is None:
        response._content = b"{}"
    if not response.ok and not isinstance(document, dict):
        response._content = json.dumps({_PAGE: response.text[:200]}).encode()
    return response


def _told(error: GrafanaException) -> str | None:
    """What Grafana says of it; None where it was not Grafana that answered."""
    if isinstance(error.response, dict) and _PAGE not in error.response:
        return str(error.response.get("message") or error)
    return None


def _unreached(error: requests.RequestException, where: str, timeout_s: float) -> GrafanaFailed:
    fix = "start it, or give its right address"
    if isinstance(error, _Redirected):
        what, fix = f"Grafana is not here: this leads to {error}", "give the address that it leads to"
    elif isinstance(error, _NotJson):
        what, fix = f"this does not answer like Grafana: {error}", "give Grafana's own address, with its path"
    elif isinstance(error, requests.exceptions.SSLError):
        what = f"TLS with Grafana fails ({_reason(error)})"
        fix = f"set {_CA_VARIABLES[0]} to a PEM file with the authority that signed it, or check the address"
    elif isinstance(error, requests.Timeout):
        what = f"Grafana did not answer within {timeout_s:g} s"
    else:
        what = f"Grafana cannot be reached ({_reason(error)})"
    return GrafanaFailed(what, where=where, fix=fix)


def _reason(error: BaseException) -> str:
    """The innermost cause in short: requests wraps urllib3, which wraps the system's."""
    inner: Any = error
    while True:
        below = getattr(inner, "reason", None) or next(
            (arg for arg in getattr(inner, "args", ()) if isinstance(arg, BaseException)), None
        )
        if not isinstance(below, BaseException):
            break
        inner = below
    text = getattr(inner, "verify_message", None) or getattr(inner, "strerror", None) or str(inner)
    return re.sub(r"^(<.*>|HTTPS?Connection\w*\(.*?\)): ", "", text) or type(inner).__name__
