"""What a timetable will ask of the server, known before the first request: lengths, and what is shared.

Owns: the count of prompt tokens that a prefix cache may answer. Knows nothing about whether the server
has one, how large it is or in which blocks it keeps tokens: the counts are what is there to be found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from loadgen.prompts.prompt import Prompt
from serving.errors import Problem

MOST_SAID = 10


def expected(prompts: Sequence[Prompt]) -> dict[str, Any]:
    """Requests, lengths and shared tokens of the measured prompts, for the manifest.

    `shared_tokens` were sent before in the run as the beginning of another prompt. Of a later turn it
    counts everything said before it, with answers as long as they were asked for. What a chat template
    puts before every prompt is not counted. None: the target could not count.
    """
    inputs = [prompt.input_tokens for prompt in prompts]
    known = [tokens for tokens in inputs if tokens is not None]
    exact = len(known) == len(inputs)
    contexts = [context for prompt in prompts for context in _contexts(prompt)]
    told = exact or not contexts
    shared = _shared(prompts) + sum(before for before, _ in contexts) if told else None
    total = sum(known) + sum(before + new for before, new in contexts) if exact else None
    outputs = [tokens for prompt in prompts for tokens in _outputs(prompt) if tokens is not None]
    return {
        "requests": sum(1 + len(prompt.turns) for prompt in prompts),
        "conversations": sum(bool(prompt.turns) for prompt in prompts),
        "input_tokens": _spread(known) if exact else None,
        "output_tokens": _spread(outputs),
        "prompt_tokens_total": total,
        "shared_tokens": shared,
        "shared_ratio": shared / total if shared is not None and total else None,
    }


def too_long(prompts: Iterable[Prompt], max_model_len: int | None) -> list[Problem]:
    """Prompts that with their answers are longer than the model takes: the first ten, then a number."""
    problems: list[Problem] = []
    more = 0
    for index, prompt in enumerate(prompts if max_model_len else ()):
        needed = _needed(prompt)
        if max_model_len is None or needed is None or needed <= max_model_len:
            continue
        if len(problems) < MOST_SAID:
            what = f"request {index} needs {needed} tokens, and the model takes {max_model_len}"
            problems.append(Problem(what, "prompts", "ask for shorter prompts, answers or conversations"))
        else:
            more += 1
    return [*problems, Problem(f"{more} more requests are too long", "prompts")] if more else problems


def _needed(prompt: Prompt) -> int | None:
    """Tokens at the end of the last answer, without the templates of later turns."""
    if prompt.input_tokens is None:
        return None
    later = sum(turn.input_tokens for turn in prompt.turns)
    return prompt.input_tokens + later + sum(tokens or 1 for tokens in _outputs(prompt))


def _outputs(prompt: Prompt) -> list[int | None]:
    return [prompt.output_tokens, *(turn.output_tokens for turn in prompt.turns)]


def _contexts(prompt: Prompt) -> Iterable[tuple[int, int]]:
    """For each later turn: tokens said before it, and its new ones."""
    before = (prompt.input_tokens or 0) + (prompt.output_tokens or 0)
    for turn in prompt.turns:
        yield before, turn.input_tokens
        before += turn.input_tokens + (turn.output_tokens or 0)


def _shared(prompts: Iterable[Prompt]) -> int:
    """Tokens of leading blocks that an earlier prompt began with too."""
    seen: dict[int, int] = {}
    shared = 0
    for prompt in prompts:
        chain, known = 0, True
        for name, tokens in prompt.blocks:
            chain = hash((chain, name))  # of all blocks up to here
            before = seen.get(chain, 0)
            shared += min(tokens, before) if known else 0
            known = known and before >= tokens  # a block that was cut short before ends what is shared
            seen[chain] = max(tokens, before)
    return shared


def _spread(tokens: Sequence[int]) -> dict[str, float] | None:
    if not tokens:
        return None
    return {"n": len(tokens), "min": min(tokens), "mean": round(fmean(tokens), 2), "max": max(tokens)}
