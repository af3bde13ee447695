"""Keeps a client's `kv_transfer_params` away from engines, and an engine's away from clients.

Owns: finding and taking out that key, however it is spelled in JSON. Knows nothing about connectors. An
engine with a KV connector obeys the key: a stale reference returned another prompt's answer (vLLM #52234),
and an answer's params hold internal addresses.
"""

from __future__ import annotations

import json
import re

KEY = "kv_transfer_params"
_PLAIN = KEY.encode()
# JSON may write any character of a key as \uXXXX, and only these escapes stand for letters or `_`. Clients
# that escape what is not ASCII do not write them, so their bodies are not parsed for it.
_ESCAPED_LETTER = re.compile(rb"\\u00(?:5[fF]|[67][0-9a-fA-F])")


class NotJson(ValueError):
    """A body that may hold the key and cannot be read."""


def without_params(body: bytes) -> bytes:
    """The body without the key; the same bytes where it does not occur. Raises: NotJson.

    Engines also read UTF-16 and UTF-32 (json.loads finds out by itself); such bodies hold zero bytes, which
    JSON in UTF-8 never does.
    """
    if _PLAIN not in body and b"\0" not in body and _ESCAPED_LETTER.search(body) is None:
        return body
    try:
        document = json.loads(body)
    except RecursionError as error:
        raise NotJson("the request body is nested too deeply") from error
    except ValueError as error:
        # What json.loads refuses here it refuses in the engine too, but not where the key is named.
        if _PLAIN not in body:
            return body
        raise NotJson("the request body is not valid JSON") from error
    if not isinstance(document, dict):
        return body
    if KEY not in document and b"\0" not in body:
        return body
    document.pop(KEY, None)
    return json.dumps(document, separators=(",", ":")).encode()


def answer_without_params(body: bytes) -> bytes:
    """An engine's whole answer without the key's value. A document that cannot be read is not let through.

    Raises: NotJson.
    """
    if _PLAIN not in body:
        return body
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotJson("the engine's answer is not valid JSON") from error
    if not isinstance(document, dict) or document.get(KEY) is None:
        return body
    document[KEY] = None
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
