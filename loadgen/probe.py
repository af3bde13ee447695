"""One look at the target before the run: is it there, with this key, this model, and what can it count?

Owns: the questions asked and what each refusal means to a user. Knows nothing about prompts or files.
"""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loadgen.control import Answer, ControlClient
from loadgen.prompts.prompt import Count, Prompt
from loadgen.timetable import body, countable
from loadgen.workload import Workload
from serving.errors import Failed, TeapotError, UsageError
from serving.wire import chunks, problems, sse

PROBE_WORDS = ("river", "stone", "light", "paper", "green", "house", "water", "table")


@dataclass(frozen=True, slots=True)
class Probed:
    """What the target is."""

    model: str
    continuous_usage: bool
    """It tells usage in every event."""
    count: Count | None
    """Its own tokenizer; None where it has no /tokenize."""
    overhead_tokens: int
    """What a prompt costs beyond its words, as one answered request showed."""
    max_model_len: int | None = None
    """The longest prompt with its answer, in tokens, where the target tells it (vLLM's list of models)."""


def probe(client: ControlClient, workload: Workload) -> Probed:
    """Ask for the models, one token of the workload's endpoint, and the tokenizer.

    Raises: Failed (target down or ill), UsageError (wrong key, model or sampling).
    """
    try:
        listed = _listed(client, required=not (workload.model or workload.models))
        asked = (workload.model,) if workload.model else tuple(workload.models)
        model = next(iter((*asked, *listed)))
        continuous, prompt_tokens = _one_token(client, workload, model)
        count = _tokenizer(client, workload, model)
    except (OSError, http.client.HTTPException) as error:
        raise Failed(
            f"nothing answers: {error or type(error).__name__}",
            where=client.target.url,
            fix="start the server (`teapot serve FILE`) or check --target",
        ) from error
    missing = [name for name in workload.models if listed and name not in listed]
    if missing:
        raise UsageError(
            f"'{missing[0]}' is not served",
            where="models",
            fix=f"{client.target.url} lists {', '.join(listed)}",
        )
    longest = [length for name in asked or (model,) if (length := listed.get(name)) is not None]
    overhead = max(0, (prompt_tokens or 0) - len(PROBE_WORDS))
    return Probed(model, continuous, count, overhead, min(longest, default=None))


def _listed(client: ControlClient, *, required: bool) -> dict[str, int | None]:
    """The models by name, with the longest that each takes; empty where none are told and none are needed."""
    answer = client.get("/v1/models")
    if answer.status != 200 and required:
        raise _refused(client, answer, "GET /v1/models")
    document = answer.json()
    models = document.get("data") if isinstance(document, Mapping) else None
    rows = [row for row in models or () if isinstance(row, Mapping) and "id" in row]
    if not rows and required:
        raise Failed(
            "it lists no model",
            where=f"{client.target.url}/v1/models",
            fix="name one in the workload: model: ...",
        )
    lengths = (row.get("max_model_len") for row in rows)
    return {
        str(row["id"]): length if isinstance(length, int) else None
        for row, length in zip(rows, lengths, strict=True)
    }


def _one_token(client: ControlClient, workload: Workload, model: str) -> tuple[bool, int | None]:
    """Send one request like those of the run; whether continuous usage is understood, and prompt tokens."""
    answer = Answer(0, b"")
    for continuous in (True, False):
        prompt = Prompt("probe", " ".join(PROBE_WORDS))
        asked = body(workload, prompt, model=model, continuous_usage=continuous, max_tokens=1)
        answer = client.post(workload.path, asked)
        if answer.status == 200:
            check = _check_embedding if workload.endpoint == "embeddings" else _check_stream
            return continuous, check(client, workload, answer)
        if answer.status not in (400, 422):
            break
    raise _refused(client, answer, f"POST {workload.path}")


def _check_stream(client: ControlClient, workload: Workload, answer: Answer) -> int | None:
    read = [chunks.classify(event) for event in sse.decode(answer.body)]
    for chunk in read:
        if chunk.error:
            raise Failed(f"the probe request failed: {chunk.error}", where=client.target.url + workload.path)
    if not any(chunk.event_class is chunks.EventClass.DONE or chunk.finish_reason for chunk in read):
        raise Failed(
            "it did not answer with a stream of events",
            where=client.target.url + workload.path,
            fix="--target must be an OpenAI-compatible server that streams",
        )
    return next((c.usage.prompt_tokens for c in reversed(read) if c.usage and c.usage.prompt_tokens), None)


def _check_embedding(client: ControlClient, workload: Workload, answer: Answer) -> int | None:
    document = answer.json()
    if not isinstance(document, Mapping) or not document.get("data"):
        raise Failed(
            "it did not answer with an embedding",
            where=client.target.url + workload.path,
            fix="--target must serve an embedding model",
        )
    usage = document.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    return tokens if isinstance(tokens, int) else None


def _tokenizer(client: ControlClient, workload: Workload, model: str) -> Count | None:
    """The server's own count of a prompt, if it has `/tokenize` (vLLM has it beside `/v1`)."""

    def ask(text: str) -> Answer:
        return client.post("/tokenize", countable(workload, text, model=model))

    def count(text: str) -> int:
        answer = ask(text)
        tokens = _counted(answer)
        if tokens is None:
            raise _refused(client, answer, "POST /tokenize")
        return tokens

    return count if _counted(ask("river")) is not None else None


def _counted(answer: Answer) -> int | None:
    document = answer.json() if answer.status == 200 else None
    tokens = document.get("count") if isinstance(document, Mapping) else None
    return tokens if isinstance(tokens, int) else None


def _refused(client: ControlClient, answer: Answer, what: str) -> TeapotError:
    said = _said(answer.json()) or answer.body[:200].decode(errors="replace").strip() or "no reason given"
    where, head = client.target.url, f"{what} was refused with HTTP {answer.status}: {said}"
    if answer.status in (401, 403):
        return UsageError(head, where=where, fix="set the key in TEAPOT_API_KEY or OPENAI_API_KEY")
    if answer.status == 404:
        return UsageError(head, where=where, fix="check 'model' and 'endpoint' of the workload, and --target")
    if answer.status in (400, 422):
        return UsageError(head, where=where, fix="check 'sampling' and the lengths of the workload")
    return Failed(head, where=where, fix="wait until the server is ready, or read its log")


def _said(document: Any) -> str | None:
    return problems.message_of(document) if isinstance(document, Mapping) else None
