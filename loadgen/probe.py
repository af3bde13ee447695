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
from loadgen.timetable import body
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


def probe(client: ControlClient, workload: Workload) -> Probed:
    """Ask for the models, one token of the workload's endpoint, and the tokenizer.

    Raises: Failed (target down or ill), UsageError (wrong key, model or sampling).
    """
    try:
        model = workload.model or _first_model(client)
        continuous, prompt_tokens = _one_token(client, workload, model)
        count = _tokenizer(client, workload, model)
    except (OSError, http.client.HTTPException) as error:
        raise Failed(
            f"nothing answers: {error or type(error).__name__}",
            where=client.target.url,
            fix="start the server (`teapot serve FILE`) or check --target",
        ) from error
    return Probed(model, continuous, count, max(0, (prompt_tokens or 0) - len(PROBE_WORDS)))


def _first_model(client: ControlClient) -> str:
    answer = client.get("/v1/models")
    if answer.status != 200:
        raise _refused(client, answer, "GET /v1/models")
    document = answer.json()
    models = document.get("data") if isinstance(document, Mapping) else None
    names = [row["id"] for row in models or () if isinstance(row, Mapping) and "id" in row]
    if not names:
        raise Failed(
            "it lists no model",
            where=f"{client.target.url}/v1/models",
            fix="name one in the workload: model: ...",
        )
    return str(names[0])


def _one_token(client: ControlClient, workload: Workload, model: str) -> tuple[bool, int | None]:
    """Send one request like those of the run; whether continuous usage is understood, and prompt tokens."""
    answer = Answer(0, b"")
    for continuous in (True, False):
        prompt = Prompt("probe", " ".join(PROBE_WORDS))
        asked = {**body(workload, prompt, model=model, continuous_usage=continuous), "max_tokens": 1}
        answer = client.post(workload.path, asked)
        if answer.status == 200:
            return continuous, _check_stream(client, workload, answer)
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


def _tokenizer(client: ControlClient, workload: Workload, model: str) -> Count | None:
    """The server's own count of a prompt, if it has `/tokenize` (vLLM has it beside `/v1`)."""

    def ask(text: str) -> Answer:
        prompt = body(workload, Prompt("probe", text), model=model, continuous_usage=False)
        return client.post(
            "/tokenize", {k: prompt[k] for k in ("model", "messages", "prompt") if k in prompt}
        )

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
