from __future__ import annotations

import json
from collections.abc import Iterator

import aiohttp
import pytest
from fakes.scripted_engine import ScriptedEngine

from serving.engine.probes import ANSWER_PROMPTS, ANSWER_TOKENS, Prober, repeated_prompt


@pytest.fixture
def engine() -> Iterator[ScriptedEngine]:
    with ScriptedEngine.start("--block-size", "128", "--served-model-name", "m", "--ttft", "0.001") as engine:
        yield engine


def test_the_long_prompt_begins_with_its_head_and_is_cut_to_a_small_context() -> None:
    assert repeated_prompt("Probe 12").startswith("Probe 12. ")
    assert len(repeated_prompt("Probe 12").split()) > 400
    assert len(repeated_prompt("Probe 12", 64)) == (64 - 16) * 3


def test_one_short_prompt_repeats_what_came_before_its_end() -> None:
    assert any(" ".join(p.split()[-3:]) in " ".join(p.split()[:-3]) for p in ANSWER_PROMPTS)


async def test_both_long_prompts_are_the_same_greedy_request(engine: ScriptedEngine) -> None:
    async with aiohttp.ClientSession(engine.url) as session:
        first, second = await Prober(session, "m").twice(repeated_prompt("Probe two"))
    assert first == second
    assert first.prompt_tokens > 400
    sent = [e.body for e in engine.exchanges(expect=2) if e.path == "/v1/completions"]
    assert sent[0] == sent[1]
    body = json.loads(sent[0])
    assert (body["model"], body["temperature"], body["ignore_eos"]) == ("m", 0, True)


@pytest.mark.slow
async def test_short_prompts_are_asked_one_after_the_other(engine: ScriptedEngine) -> None:
    async with aiohttp.ClientSession(engine.url) as session:
        answers = await Prober(session, "m").answers()
    assert len(answers) == len(ANSWER_PROMPTS)
    sent = [json.loads(e.body) for e in engine.exchanges(expect=3) if e.path == "/v1/completions"]
    assert [body["prompt"] for body in sent] == list(ANSWER_PROMPTS)
    assert {body["max_tokens"] for body in sent} == {ANSWER_TOKENS}


async def test_a_refused_probe_is_an_error_with_the_engines_words() -> None:
    with ScriptedEngine.start("--max-model-len", "10") as engine:
        async with aiohttp.ClientSession(engine.url) as session:
            with pytest.raises(aiohttp.ClientResponseError, match="maximum context length is 10"):
                await Prober(session, "m").complete("word " * 30, 4)
