"""The timetable: every request of a run with its body and its intended time, made before the run.

Owns: how a workload, its prompts and its arrivals become lines of timetable.jsonl. Knows nothing
about files, the target or who sends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loadgen.conversation import OPEN
from loadgen.prompts.prompt import Prompt
from loadgen.records import Phase, Planned
from loadgen.schedule import stage_of, stream
from loadgen.workload import OWNED_KEYS, TEXT_KEYS, Workload

LENGTH_KEYS = {"chat": "max_tokens", "completions": "max_tokens", "responses": "max_output_tokens"}
"""By endpoint, the key that bounds the answer; embeddings have none."""


def body(
    workload: Workload,
    prompt: Prompt,
    *,
    model: str,
    continuous_usage: bool,
    max_tokens: int | None = None,
) -> Mapping[str, Any]:
    """The JSON body of one request: streamed, with usage at its end, where the endpoint has streams.

    `continuous_usage` asks for usage in every event, which tells how many tokens each one carried
    (vLLM's `continuous_usage_stats`; servers without it refuse the key). `max_tokens` goes before the
    lengths of the prompt and of `sampling`.
    """
    sampling = workload.sampling.body()
    tokens = max_tokens or prompt.output_tokens or sampling.pop("max_tokens", None)
    sampling.pop("max_tokens", None)
    key = LENGTH_KEYS.get(workload.endpoint)
    may = ("model", *TEXT_KEYS.values())
    theirs = {k: v for k, v in prompt.body.items() if k not in OWNED_KEYS or k in may}
    if max_tokens is not None and key is not None:
        theirs |= {key: max_tokens}
    text = {} if theirs.keys() & set(TEXT_KEYS.values()) else _text(workload, prompt)
    length = {key: tokens} if key is not None and tokens is not None else {}
    ours = _stream(workload, continuous_usage=continuous_usage)
    return {"model": model, **text, **sampling, **length, **workload.extra_body, **theirs, **ours}


def countable(workload: Workload, text: str, *, model: str) -> Mapping[str, Any]:
    """The body of a question to vLLM's `/tokenize`, which knows chat messages and plain prompts."""
    if workload.endpoint in ("chat", "responses"):
        return {"model": model, "messages": [_said(text)]}
    return {"model": model, "prompt": text}


def timetable(
    workload: Workload,
    prompts: Sequence[Prompt],
    times: Sequence[int | None],
    *,
    model: str,
    continuous_usage: bool,
) -> tuple[Planned, ...]:
    """The first `warmup.requests` prompts without a time, then one for each time; each with its turns.

    Times are relative to the start of the measured phase, which begins when the warm-up has ended.
    Raises: ValueError if there are not as many prompts as arrivals.
    """
    slots: list[tuple[Phase, int | None]] = [("warmup", None)] * workload.warmup.requests
    slots += [("measure", time) for time in times]
    planned: list[Planned] = []
    for number, ((phase, time), prompt) in enumerate(zip(slots, prompts, strict=True)):
        chosen = _model(workload, number, default=model)
        bodies = _bodies(workload, prompt, model=chosen, continuous_usage=continuous_usage)
        thoughts = (0.0, *(turn.think_s for turn in prompt.turns))
        for turn, (made, think_s) in enumerate(zip(bodies, thoughts, strict=True)):
            planned.append(
                Planned(
                    index=len(planned),
                    phase=phase,
                    t_intended_ns=None if turn else time,
                    kind=prompt.kind,
                    path=workload.path,
                    body=made,
                    conversation=number if prompt.turns else None,
                    turn=turn,
                    think_s=think_s,
                    stage=stage_of(workload.arrival, time),
                )
            )
    return tuple(planned)


def _bodies(
    workload: Workload, prompt: Prompt, *, model: str, continuous_usage: bool
) -> Iterator[Mapping[str, Any]]:
    """The body of each turn; the answers before it are left open."""
    first = body(workload, prompt, model=model, continuous_usage=continuous_usage)
    yield first
    said = first.get("messages", ())
    for turn in prompt.turns:
        said = [*said, dict(OPEN), _said(turn.text)]
        length = {} if turn.output_tokens is None else {LENGTH_KEYS["chat"]: turn.output_tokens}
        yield {**first, "messages": said, **length}


def _text(workload: Workload, prompt: Prompt) -> dict[str, Any]:
    key = TEXT_KEYS[workload.endpoint]
    return {key: [_said(prompt.text)] if key == "messages" else prompt.text}


def _said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _stream(workload: Workload, *, continuous_usage: bool) -> dict[str, Any]:
    if workload.endpoint == "embeddings":
        return {}
    if workload.endpoint == "responses":  # its last event always holds the usage
        return {"stream": True}
    options = {"include_usage": True}
    if continuous_usage:
        options["continuous_usage_stats"] = True
    return {"stream": True, "stream_options": options}


def _model(workload: Workload, number: int, *, default: str) -> str:
    if not workload.models:
        return default
    names, weights = tuple(workload.models), tuple(workload.models.values())
    return stream(workload.seed, f"model/{number}").choices(names, weights)[0]
