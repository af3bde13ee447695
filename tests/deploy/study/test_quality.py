"""Quality over HTTP, on a scripted engine that finds a word a tenth of a nat less likely for each letter."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
from fakes.scripted_engine import ScriptedEngine
from fakes.scripts import Script, json_answer

from deploy.study.quality import measure, shipped_plan
from deploy.study.quality_record import Document, QualityPlan
from serving.errors import Failed

PLAN = QualityPlan(
    documents=(Document("long", "a bbbb cc\n\ndddd eee f"), Document("short", "gg h")),
    window_chars=12,
    cuts=1,
    answer_tokens=3,
)


@pytest.fixture(scope="module")
def engine():
    with ScriptedEngine.start("--ttft", "0", "--itl", "0", "--api-key", "the-key") as started:
        yield started


@pytest.fixture(autouse=True)
def forgetful(engine):
    engine.reset()


@pytest.mark.slow
async def test_the_perplexity_is_that_of_the_words_the_engine_scored(engine):
    record = await measure(engine.url, "scripted", key="the-key", plan=PLAN)
    # "a bbbb cc" | "dddd eee f" | "gg h": the first word of each window has no likelihood.
    assert [document.windows for document in record.documents] == [2, 1]
    assert record.documents[0].nll == pytest.approx((0.4, 0.2, 0.3, 0.1))
    assert record.documents[1].nll == pytest.approx((0.1,))
    assert record.perplexity == pytest.approx(math.exp(1.1 / 5))


async def test_each_beginning_is_continued_greedily_once_the_prefix_cache_has_seen_it(engine):
    record = await measure(engine.url, "scripted", key="the-key", plan=PLAN)
    asked = [json.loads(exchange.body) for exchange in engine.exchanges(expect=7)][3:]
    assert [(body["prompt"], body["max_tokens"]) for body in asked] == [
        ("a bbbb", 1),
        ("a bbbb", 3),
        ("gg", 1),
        ("gg", 3),
    ]
    assert {(body["temperature"], body.get("stream")) for body in asked} == {(0, None)}
    assert [answer.prompt for answer in record.answers] == ["long:1/2", "short:1/2"]
    assert [len(answer.tokens) for answer in record.answers] == [3, 3]


async def test_the_prompts_are_asked_one_after_another(engine):
    await measure(engine.url, "scripted", key="the-key", plan=PLAN)
    exchanges = engine.exchanges(expect=7)
    assert all(before.t_end_ns <= after.t_received_ns for before, after in pairwise(exchanges))


async def test_an_engine_that_gives_no_likelihood_is_said_so(engine):
    engine.define(json_answer("mute", {"choices": [{"index": 0, "text": "a", "logprobs": None}]}))
    with pytest.raises(Failed, match="without log-probabilities"):
        await measure(engine.url, "mute", key="the-key", plan=PLAN)


async def test_a_refusal_is_told_in_the_engines_words_with_its_address(engine):
    refused = {"error": {"message": "prompt_logprobs is not supported here", "code": 400}}
    engine.define(json_answer("refusing", refused, status=400))
    with pytest.raises(Failed) as caught:
        await measure(engine.url, "refusing", key="the-key", plan=PLAN)
    assert "HTTP 400" in str(caught.value)
    assert "prompt_logprobs is not supported here" in str(caught.value)
    assert engine.url in str(caught.value)


async def test_an_error_shows_neither_the_key_nor_the_prompt(engine):
    with pytest.raises(Failed) as caught:
        await measure(engine.url, "scripted", key="another", plan=PLAN)
    assert "HTTP 401" in str(caught.value)
    assert "another" not in str(caught.value)
    assert "bbbb" not in str(caught.value)


async def test_a_document_of_one_token_cannot_be_scored(engine):
    plan = QualityPlan(documents=(Document("word", "alone"),))
    with pytest.raises(Failed, match="no token of document 'word'"):
        await measure(engine.url, "scripted", key="the-key", plan=plan)


async def test_a_likelihood_that_is_no_number_is_not_averaged(engine):
    broken = {"tokens": ["a", "b"], "token_logprobs": [None, math.nan]}
    engine.define(json_answer("broken", {"choices": [{"index": 0, "text": "", "logprobs": broken}]}))
    with pytest.raises(Failed, match="document 'long' are not numbers"):
        await measure(engine.url, "broken", key="the-key", plan=PLAN)


async def test_an_address_where_nobody_listens_is_said_so():
    with pytest.raises(Failed, match="cannot be asked"):
        await measure("http://127.0.0.1:1", "scripted", plan=PLAN)


async def test_an_engine_that_is_silent_is_not_waited_for_forever(engine):
    engine.define(Script("silent", end="hang"))
    with pytest.raises(Failed, match="within the timeout"):
        await measure(engine.url, "silent", key="the-key", plan=PLAN, timeout_s=0.2)


def test_the_shipped_text_is_twelve_documents_that_give_thirty_six_prompts():
    plan = shipped_plan()
    assert [document.name for document in plan.documents] == [
        *("arithmetic", "dialogue", "explanation", "letter", "log", "manual"),
        *("news", "python", "questions", "recipe", "settings", "story"),
    ]
    assert len(list(plan.prompts())) == 36
    assert all(len(document.text) <= plan.window_chars for document in plan.documents)
