"""The timetable: every request of a run with its body and its intended time, made before the run.

Owns: how a workload, its prompts and its arrivals become lines of timetable.jsonl. Knows nothing
about files, the target or who sends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.prompts.prompt import Prompt
from loadgen.records import Planned
from loadgen.workload import Workload


def body(workload: Workload, prompt: Prompt, *, model: str, continuous_usage: bool) -> Mapping[str, Any]:
    """The JSON body of one request: always streamed, always with usage at its end.

    `continuous_usage` asks for usage in every event, which tells how many tokens each one carried
    (vLLM's `continuous_usage_stats`; servers without it refuse the key).
    """
    options: dict[str, Any] = {"include_usage": True}
    if continuous_usage:
        options["continuous_usage_stats"] = True
    text: dict[str, Any] = (
        {"messages": [{"role": "user", "content": prompt.text}]}
        if workload.endpoint == "chat"
        else {"prompt": prompt.text}
    )
    sampling = workload.sampling.body() | {"max_tokens": workload.max_tokens}
    return {"model": model, **text, "stream": True, "stream_options": options, **sampling}


def timetable(
    workload: Workload,
    prompts: Sequence[Prompt],
    times: Sequence[int | None],
    *,
    model: str,
    continuous_usage: bool,
) -> tuple[Planned, ...]:
    """One line for every prompt: the first `warmup.requests` without a time, then one for each time.

    Times are relative to the start of the measured phase, which begins when the warm-up has ended.
    Raises: ValueError if there are not as many prompts as requests.
    """
    slots = [("warmup", None)] * workload.warmup.requests + [("measure", time) for time in times]
    return tuple(
        Planned(
            index=index,
            phase="warmup" if phase == "warmup" else "measure",
            t_intended_ns=time,
            kind=prompt.kind,
            path=workload.path,
            body=body(workload, prompt, model=model, continuous_usage=continuous_usage),
        )
        for index, ((phase, time), prompt) in enumerate(zip(slots, prompts, strict=True))
    )
