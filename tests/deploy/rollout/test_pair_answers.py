"""A pair answers over both of its engines, and each prompt anew."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fakes.scripted_engine import ScriptedEngine

from deploy.rollout.pair_answers import Pair, over_both
from deploy.study.quality import measure
from deploy.study.quality_record import Document, QualityPlan
from serving.connectors import CONNECTORS
from serving.engine.ports import free_port
from serving.errors import Failed

LEGS = CONNECTORS["nixl"].legs
assert LEGS is not None
PAIR = Pair("http://p", "http://d", "m", LEGS)
PLAN = QualityPlan(documents=(Document("one", "Once upon a time there was a pair"),), cuts=1, answer_tokens=3)
BLOCKS = {"do_remote_prefill": True, "remote_block_ids": [1, 2], "remote_host": "127.0.0.1"}
HANDS_OVER = {"choices": [{"text": ""}], "kv_transfer_params": BLOCKS}
ANSWERS = {"choices": [{"logprobs": {"tokens": ["token_id:7", "token_id:8"], "token_logprobs": [0, 0]}}]}


class Engines:
    """What both answer, and what they were sent."""

    def __init__(self, first: Any = HANDS_OVER, second: Any = ANSWERS, status: int = 200) -> None:
        self.answers = {"http://p": (200, first), "http://d": (status, second)}
        self.sent: list[tuple[str, dict[str, Any], str]] = []

    async def send(self, address: str, body: bytes, request_id: str) -> tuple[int, bytes]:
        engine, _, path = address.partition("/v1/")
        assert path == "completions"
        self.sent.append((engine, json.loads(body), request_id))
        await asyncio.sleep(0)
        status, document = self.answers[engine]
        return status, json.dumps(document).encode()


async def test_the_first_engine_prefills_and_the_second_takes_over_and_answers() -> None:
    there = Engines()
    [answer] = await over_both(PAIR, PLAN, there.send)
    assert (answer.prompt, answer.tokens) == ("one:1/2", ("token_id:7", "token_id:8"))
    (first, one, id_one), (second, two, id_two) = there.sent
    assert (first, second, id_one) == ("http://p", "http://d", id_two)
    assert (one["max_tokens"], two["max_tokens"]) == (1, 3)
    assert one["prompt"] == two["prompt"] == "Once upon a"
    assert two["kv_transfer_params"] == BLOCKS


async def test_no_prefix_cache_stands_in_for_what_is_handed_over() -> None:
    there = Engines()
    for _ in range(2):
        await over_both(PAIR, PLAN, there.send)
    salts = [body["cache_salt"] for _, body, _ in there.sent]
    assert salts[0] == salts[1]
    assert salts[2] == salts[3] != salts[0]


@pytest.mark.parametrize(
    ("engines", "said"),
    [
        (Engines(first={"choices": []}), "http://p/v1/completions: the engine gave no blocks to take over"),
        (Engines(status=500), "http://d/v1/completions: the engine answered its leg with 500"),
        (Engines(second={"choices": []}), "http://d/v1/completions: the engine told no tokens of its answer"),
    ],
)
async def test_a_leg_that_fails_is_said_with_its_engine(engines: Engines, said: str) -> None:
    with pytest.raises(Failed, match=said):
        await over_both(PAIR, PLAN, engines.send)


async def test_an_engine_that_is_not_there_is_said() -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(Failed, match="the engine gave no answer"):
        await over_both(Pair(nowhere, nowhere, "m", PAIR.legs), PLAN)


async def test_engines_that_hand_over_answer_together_as_the_second_does_alone() -> None:
    quick = ("--ttft", "0", "--itl", "0", "--hand-over", "blocks")
    with ScriptedEngine.start(*quick) as first, ScriptedEngine.start(*quick) as second:
        alone = await measure(second.url, "scripted", plan=PLAN)
        assert await over_both(Pair(first.url, second.url, "scripted", PAIR.legs), PLAN) == alone.answers
        assert second.exchanges()[-1].headers["x-request-id"] == first.exchanges()[-1].headers["x-request-id"]
