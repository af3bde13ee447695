"""A small client of Prometheus' HTTP API.

Owns: asking, how long to wait, and what is said when there is no answer. Knows nothing about what is asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

from dashboards.samples import (
    Metadata,
    Sample,
    Series,
    Target,
    WrongKind,
    read_matrix,
    read_metadata,
    read_names,
    read_targets,
    read_vector,
)
from serving.errors import Failed, UsageError

TIMEOUT_S = 10.0
"""For a whole answer. Prometheus is told to give up a little earlier, so that it can say why."""
MAX_POINTS = 11_000
"""Prometheus 2.42 refuses range queries with more points a series."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_REFUSED = (400, 422)
"""An expression that cannot be read, or that cannot be evaluated on what there is."""
T = TypeVar("T")


class QueryRefused(Failed):
    """Prometheus cannot evaluate this expression: the expression is wrong, not the way to Prometheus."""


class Prometheus:
    """A Prometheus server. Every method raises Failed where there is no answer.

    Raises: UsageError where `url` is no address.
    """

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self.url = checked_url(url)
        self._timeout_s = timeout_s
        self._opener = _opener(self.url)

    def query(self, expression: str, *, at_s: float | None = None) -> tuple[Sample, ...]:
        """What an expression is now, or at a Unix time. Raises: QueryRefused, Failed."""
        asked = {"query": expression, **({} if at_s is None else {"time": f"{at_s:.3f}"})}
        return self._ask("/api/v1/query", read_vector, **asked)

    def query_range(
        self, expression: str, *, start_s: float, end_s: float, step_s: float
    ) -> tuple[Series, ...]:
        """What it was every `step_s`, from start to end. Raises: QueryRefused, Failed, ValueError."""
        if step_s <= 0 or end_s < start_s or (end_s - start_s) / step_s >= MAX_POINTS:
            raise ValueError(
                f"{start_s} to {end_s} by {step_s} s is not a range of up to {MAX_POINTS} points"
            )
        asked = {"start": f"{start_s:.3f}", "end": f"{end_s:.3f}", "step": f"{step_s:.3f}"}
        return self._ask("/api/v1/query_range", read_matrix, query=expression, **asked)

    def label_values(self, label: str, selector: str, *, start_s: float, end_s: float) -> tuple[str, ...]:
        """The values that a label has among the series of a selector in a range, sorted. Raises: Failed."""
        asked = {"match[]": selector, "start": f"{start_s:.3f}", "end": f"{end_s:.3f}"}
        return self._ask(f"/api/v1/label/{label}/values?{urlencode(asked)}", read_names)

    def targets(self) -> tuple[Target, ...]:
        """What is scraped, and how that goes. Raises: Failed."""
        return self._ask("/api/v1/targets?state=active", read_targets)

    def metadata(self) -> Mapping[str, Metadata]:
        """What the exporters say of their metrics, by family. Raises: Failed."""
        return self._ask("/api/v1/metadata", read_metadata)

    def _ask(self, path: str, read: Callable[[Any], T], **asked: str) -> T:
        url = self.url + path
        if "query" in asked:
            asked["timeout"] = f"{max(1, round(self._timeout_s * 900))}ms"
        # Expressions are longer than some proxies allow in an address: they go in the body.
        body = urlencode(asked).encode() if asked else None
        document = self._document(Request(url, body), url, asked.get("query"))
        try:
            return read(document["data"])
        except WrongKind as error:
            raise _refused(str(error), url, asked["query"]) from error
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise self._not_prometheus(url, f"an answer of another shape ({error})") from error

    def _document(self, request: Request, url: str, expression: str | None) -> Mapping[str, Any]:
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                document = _json(answer.read())
        except HTTPError as error:
            with error:
                document = _json(error.read())
            if not document:
                raise self._not_prometheus(url, f"{error.code} {error.reason}") from error
            raise _told(document, error.code, url, expression) from error
        except TimeoutError as error:
            raise self._late(url) from error
        except (OSError, HTTPException) as error:
            if isinstance(error, URLError) and isinstance(error.reason, TimeoutError):
                raise self._late(url) from error
            raise Failed(
                f"Prometheus cannot be reached ({_reason(error)})",
                where=url,
                fix="start it (`teapot serve` does, and prints where), or give the right --prometheus URL",
            ) from error
        if document.get("status") != "success":
            raise self._not_prometheus(url, "something else than its JSON")
        return document

    def _late(self, url: str) -> Failed:
        return Failed(
            f"Prometheus did not answer within {self._timeout_s:g} s",
            where=url,
            fix="ask for a shorter range, or look why it is busy",
        )

    def _not_prometheus(self, url: str, got: str) -> Failed:
        return Failed(
            f"this does not answer like Prometheus: {got}",
            where=url,
            fix="give Prometheus' own address (without /api or /graph) with --prometheus URL",
        )


def checked_url(url: str) -> str:
    """The address without a slash at its end. Raises: UsageError where it is none."""
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right or parts.query or parts.fragment or "@" in parts.netloc:
        raise UsageError(
            f"'{url}' is not the address of a Prometheus",
            where="--prometheus",
            fix="write it like http://127.0.0.1:9090, without a name and password",
        )
    return url.rstrip("/")


def _opener(url: str) -> OpenerDirector:
    """A proxy of the environment could not reach this machine's loopback."""
    local = urlsplit(url).hostname in _LOOPBACK
    return build_opener(ProxyHandler({})) if local else build_opener()


def _json(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _told(document: Mapping[str, Any], code: int, url: str, expression: str | None) -> Failed:
    """What Prometheus itself says is wrong."""
    said = str(document.get("error", f"{code} without a reason"))
    if expression is not None and code in _REFUSED:
        return _refused(said, url, expression)
    fix = "ask for a shorter range" if document.get("errorType") == "timeout" else "its own log says more"
    return Failed(f"Prometheus answered {code}: {said}", where=url, fix=fix)


def _refused(said: str, url: str, expression: str) -> QueryRefused:
    return QueryRefused(
        f"Prometheus cannot evaluate this: {said}", where=url, fix=f"correct the expression: {expression}"
    )


def _reason(error: OSError | HTTPException) -> str:
    inner = error.reason if isinstance(error, URLError) else error
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
