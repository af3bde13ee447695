"""Trials of a prefilling and a decoding engine, on scripted ones that offer blocks, or only say so."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fakes.scripted_engine import ScriptedEngine

from deploy.handover import Handovers, Side, Trial
from serving.modes.disaggregated import Disaggregated
from serving.modes.mode import Role
from serving.modes.prefix_cache import PrefixCache

PAIR = Disaggregated.model_validate({"connector": {"kind": "nixl"}})
TRIAL = Trial(model="m", from_tokens=64, max_model_len=2048)


def engine(*words: str) -> ScriptedEngine:
    return ScriptedEngine.start("--served-model-name", "m", "--ttft", "0.001", "--itl", "0.001", *words)


@pytest.fixture
def prefill() -> Iterator[ScriptedEngine]:
    with engine("--hand-over", "blocks") as started:
        yield started


@pytest.fixture
def decode() -> Iterator[ScriptedEngine]:
    with engine("--hand-over", "blocks") as started:
        yield started


def side(role: Role, of: ScriptedEngine, number: int = 0) -> Side:
    return Side(f"{role}-{number}", role, of.url)


@pytest.mark.slow
async def test_an_engine_is_tried_as_soon_as_one_of_the_other_side_is_there(
    prefill: ScriptedEngine, decode: ScriptedEngine
) -> None:
    handovers = Handovers([PrefixCache(), PAIR], TRIAL)
    assert await handovers.settle(side("prefill", prefill)) == {}
    found = await handovers.settle(side("decode", decode))
    assert set(found) == {"prefill-0", "decode-0"}
    [verdict] = set(found.values())
    assert verdict.in_effect is True
    assert "prompt tokens came from prefill-0 to decode-0 in 1 transfer of 2.0 ms" in verdict.evidence
    assert "the answer is the one of the prefilling engine alone" in verdict.evidence
    [first, alone] = [json.loads(exchange.body) for exchange in prefill.exchanges(expect=2)]
    [second] = [json.loads(exchange.body) for exchange in decode.exchanges(expect=1)]
    assert first["kv_transfer_params"]["do_remote_decode"] is True
    assert second["kv_transfer_params"]["do_remote_prefill"] is True
    assert "kv_transfer_params" not in alone
    assert first["prompt"] == second["prompt"] == alone["prompt"]


@pytest.mark.slow
async def test_both_legs_bear_the_same_request_id(prefill: ScriptedEngine, decode: ScriptedEngine) -> None:
    handovers = Handovers([PAIR], TRIAL)
    await handovers.settle(side("decode", decode))
    await handovers.settle(side("prefill", prefill))
    [first, *_], [second] = prefill.exchanges(), decode.exchanges()
    assert first.headers["x-request-id"] == second.headers["x-request-id"]


@pytest.mark.slow
async def test_a_decoder_that_computes_the_prompt_itself_is_not_in_effect(prefill: ScriptedEngine) -> None:
    with engine("--hand-over", "nothing") as decode:
        handovers = Handovers([PAIR], TRIAL)
        await handovers.settle(side("prefill", prefill))
        found = await handovers.settle(side("decode", decode))
    assert found["decode-0"].in_effect is False
    assert found["decode-0"].evidence.startswith("decode-0 computed a prompt of ")


@pytest.mark.slow
async def test_a_prefiller_that_offers_nothing_is_not_in_effect(decode: ScriptedEngine) -> None:
    with engine() as prefill:
        handovers = Handovers([PAIR], TRIAL)
        await handovers.settle(side("prefill", prefill))
        found = await handovers.settle(side("decode", decode))
    assert found["prefill-0"].in_effect is False
    assert "gave no blocks to take over" in found["prefill-0"].evidence


@pytest.mark.slow
async def test_an_engine_that_refuses_its_leg_is_named_with_the_status(decode: ScriptedEngine) -> None:
    with engine("--hand-over", "blocks", "--max-model-len", "16") as prefill:
        handovers = Handovers([PAIR], TRIAL)
        await handovers.settle(side("prefill", prefill))
        found = await handovers.settle(side("decode", decode))
    assert found["decode-0"].in_effect is False
    assert found["decode-0"].evidence == "prefill-0 to decode-0: the first answered its leg with HTTP 400"


@pytest.mark.slow
async def test_every_engine_of_a_side_is_tried_and_later_ones_with_any(
    prefill: ScriptedEngine, decode: ScriptedEngine
) -> None:
    handovers = Handovers([PAIR], TRIAL)
    assert await handovers.settle(side("prefill", prefill, 0)) == {}
    assert await handovers.settle(side("prefill", prefill, 1)) == {}
    assert set(await handovers.settle(side("decode", decode, 0))) == {"prefill-0", "prefill-1", "decode-0"}
    assert set(await handovers.settle(side("decode", decode, 1))) == {"prefill-0", "decode-1"}


@pytest.mark.slow
async def test_an_engine_that_was_lost_is_tried_anew(prefill: ScriptedEngine, decode: ScriptedEngine) -> None:
    handovers = Handovers([PAIR], TRIAL)
    await handovers.settle(side("prefill", prefill))
    await handovers.settle(side("decode", decode))
    handovers.lost("prefill-0")
    handovers.lost("decode-0")
    assert await handovers.settle(side("decode", decode)) == {}
    assert set(await handovers.settle(side("prefill", prefill))) == {"prefill-0", "decode-0"}


@pytest.mark.slow
async def test_where_no_prompt_of_the_trial_would_be_divided_it_cannot_tell(
    prefill: ScriptedEngine, decode: ScriptedEngine
) -> None:
    handovers = Handovers([PAIR], Trial(model="m", from_tokens=100_000, max_model_len=2048))
    await handovers.settle(side("prefill", prefill))
    found = await handovers.settle(side("decode", decode))
    assert found["decode-0"].in_effect is None
    assert "only prompts of 100,000 tokens and more are divided" in found["decode-0"].evidence
    assert prefill.exchanges() == []


@pytest.mark.slow
async def test_without_legs_to_walk_nothing_is_sent(prefill: ScriptedEngine) -> None:
    push = Disaggregated.model_validate({"connector": {"kind": "nixl_push"}})
    for modes in ([], [push]):
        handovers = Handovers(modes, TRIAL)
        assert await handovers.settle(side("prefill", prefill)) == {}
        assert await handovers.settle(side("decode", prefill)) == {}
    assert prefill.exchanges() == []
