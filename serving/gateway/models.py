"""`GET /v1/models/{id}`, which vLLM does not answer: found in the engine's own list.

Owns: that one answer. Knows nothing about how an engine is reached.
"""

from __future__ import annotations

import json

from serving.gateway.answers import Refused, document


def pick_model(listing: bytes, model: str) -> bytes:
    """The entry of `model` in an answer to `GET /v1/models`, as JSON.

    Raises: Refused with 404 if there is none, with 502 if this is no list of models.
    """
    try:
        entries = json.loads(listing)["data"]
        found = next((entry for entry in entries if entry["id"] == model), None)
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(
            502, "the engine's list of models cannot be read", code="bad_upstream_answer",
            kind="upstream_error",
        ) from error  # fmt: skip
    if found is None:
        raise Refused(404, f"the model {model!r} does not exist", code="model_not_found")
    return document(found)
