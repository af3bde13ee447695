"""Which web pages may call the gateway from a browser: none, unless their origin is listed.

Owns: the CORS headers. Knows nothing about routes. Keys travel in Authorization, never in cookies, so
credentials are not allowed for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

MAX_AGE_S = 600
ANY = "*"
_EXPOSED = "X-Request-Id, Retry-After"


def answer_headers(origin: str | None, allowed: Collection[str]) -> dict[str, str]:
    """The headers of an answer to a page at `origin`; none where no list is configured."""
    if not allowed:
        return {}
    if ANY in allowed:
        return {"Access-Control-Allow-Origin": ANY, "Access-Control-Expose-Headers": _EXPOSED}
    if origin is None or origin not in allowed:
        return {"Vary": "Origin"}
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": _EXPOSED,
        "Vary": "Origin",
    }


def is_preflight(method: str, headers: Mapping[str, str], allowed: Collection[str]) -> bool:
    """Whether a request is a browser's question before its real one, and pages may ask at all."""
    return bool(allowed) and method == "OPTIONS" and "Access-Control-Request-Method" in headers


def preflight_headers(
    origin: str | None, allowed: Collection[str], methods: Collection[str]
) -> dict[str, str]:
    """The answer to a browser's question; without the allowing headers if the origin is not listed."""
    headers = answer_headers(origin, allowed)
    if "Access-Control-Allow-Origin" not in headers:
        return headers
    return {
        **headers,
        "Access-Control-Allow-Methods": ", ".join(methods),
        # The official client for browsers adds headers of its own (X-Stainless-*), hence any but the key's,
        # which the wildcard does not cover.
        "Access-Control-Allow-Headers": "Authorization, Content-Type, *",
        "Access-Control-Max-Age": str(MAX_AGE_S),
    }
