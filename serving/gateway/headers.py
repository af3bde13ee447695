"""Which headers cross between client and engine: by allow-list, in both directions.

Owns: the lists. Knows nothing about sockets. So nothing crosses by accident: no hop-by-hop header, no cookie,
no key of a client, no header that steers an engine (vLLM's X-data-parallel-rank), no `Server: uvicorn`, no
address in `Location`.
"""

from __future__ import annotations

from collections.abc import Mapping

from serving.gateway import request_ids
from serving.gateway.answers import own_headers

REQUEST_HEADERS = (
    "Accept",
    "Accept-Encoding",
    "Content-Encoding",
    "Content-Type",
    "Traceparent",
    "Tracestate",
    "User-Agent",
)
ANSWER_HEADERS = ("Cache-Control", "Content-Encoding", "Content-Length", "Content-Type", "Retry-After")
_BY_ENGINES_NAME = tuple((name, name.lower()) for name in ANSWER_HEADERS)
SESSION = "X-Session-Id"
"""Read by routing, not passed on."""


def request_headers(client: Mapping[str, str], request_id: str) -> dict[str, str]:
    """The headers sent to the engine. Without Accept-Encoding, the engine must not encode its answer."""
    kept = {name: client[name] for name in REQUEST_HEADERS if name in client}
    return {"Accept-Encoding": "identity", **kept, request_ids.HEADER: request_id}


def answer_headers(engine: Mapping[str, str], request_id: str) -> dict[str, str]:
    """The headers sent to the client; the engine's names are in lower case."""
    kept = {name: engine[its] for name, its in _BY_ENGINES_NAME if its in engine}
    return {**kept, **own_headers(request_id)}
