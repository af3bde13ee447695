"""Requests of the rollout's own: they warm engines up, and compare answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from fakes.scripted_engine import ScriptedEngine

from deploy.rollout.pair_answers import Pair
from deploy.rollout.probing import compare_answers, warm
from deploy.rollout.seen import Engine
from deploy.study.quality_record import Answer, DocumentScore, QualityPlan, QualityRecord
from serving.connectors import CONNECTORS
from serving.engine.ports import free_port
from serving.errors import Failed

WORDS = ("one", "two", "three", "four")


@pytest.fixture(scope="module")
def engine() -> Iterator[ScriptedEngine]:
    with ScriptedEngine.start("--ttft", "0.001", "--itl", "0.001", "--served-model-name", "m") as running:
        yield running


@pytest.mark.slow
def test_each_engine_is_asked_alone_with_each_length_and_by_several_at_once(engine: ScriptedEngine) -> None:
    engine.reset()
    assert warm((engine.url, engine.url)) == 14
    assert len(engine.exchanges(expect=14)) == 14


@pytest.mark.slow
def test_prompts_are_no_longer_than_the_engine_takes() -> None:
    with ScriptedEngine.start("--ttft", "0.001", "--itl", "0.001", "--max-model-len", "128") as small:
        assert warm((small.url,)) == 7


@pytest.mark.slow
def test_an_engine_that_refuses_or_is_not_there_is_said() -> None:
    with pytest.raises(Failed, match="gave no answer"):
        warm((f"http://127.0.0.1:{free_port()}",))
    with (
        ScriptedEngine.start("--fail-every", "1") as failing,
        pytest.raises(Failed, match="answered 500"),
    ):
        warm((failing.url,))


def record(nll: float, words: tuple[str, ...], split: str = "s") -> QualityRecord:
    """Six documents, each of two tokens around one mean."""
    both = (nll - 0.5, nll + 0.5)
    return QualityRecord(
        model="m", plan_sha256="p", window_chars=2000, answer_tokens=4,
        documents=tuple(DocumentScore(f"d{at}", 1, f"{split}{at}", both) for at in range(6)),
        answers=tuple(Answer(f"d{at}:1/2", words) for at in range(6)),
    )  # fmt: skip


def engines(*urls: str, role: str = "any") -> tuple[Engine, ...]:
    return tuple(Engine(url, role, ready=True) for url in urls)


def comparing(engine: ScriptedEngine, canary: QualityRecord) -> tuple[str, list[str]]:
    """The outcome, and who was asked in which order."""
    asked: list[str] = []

    async def ask(url: str, model: str) -> QualityRecord:
        assert model == "m"
        asked.append(url)
        await asyncio.sleep(0)
        return canary if url == canary_url else record(2.0, WORDS)

    canary_url = engine.url.replace("127.0.0.1", "localhost")
    found = compare_answers(engines(canary_url), engine.url, ask=ask)
    return found.outcome, [("canary" if url == canary_url else "baseline") for url in asked]


@pytest.mark.slow
def test_the_baseline_is_asked_twice_to_see_how_much_it_differs_from_itself(engine: ScriptedEngine) -> None:
    assert comparing(engine, record(2.0, WORDS)) == ("pass", ["baseline", "baseline", "canary"])


@pytest.mark.slow
def test_wrong_answers_at_200_are_a_failure(engine: ScriptedEngine) -> None:
    # e^0.7 is twice the perplexity, and no answer begins like the control's.
    outcome, _ = comparing(engine, record(2.7, tuple(reversed(WORDS))))
    assert outcome == "fail"


@pytest.mark.slow
def test_of_several_engines_each_is_asked_and_the_one_that_answers_wrongly_is_named(
    engine: ScriptedEngine,
) -> None:
    good, bad = engine.url, engine.url.replace("127.0.0.1", "localhost")
    asked: list[str] = []

    async def ask(url: str, model: str) -> QualityRecord:
        asked.append(url)
        await asyncio.sleep(0)
        return record(2.7, tuple(reversed(WORDS))) if url == bad else record(2.0, WORDS)

    found = compare_answers(engines(good, bad), good, ask=ask)
    assert asked == [good, good, good, bad]
    assert found.outcome == "fail"
    assert found.reasons
    assert all(reason.startswith(f"{bad}: ") for reason in found.reasons)
    assert compare_answers(engines(good, good), good, ask=ask).outcome == "pass"


@pytest.mark.parametrize("handed_over_well", [True, False])
def test_of_a_pair_also_the_answers_over_both_engines_are_compared(
    engine: ScriptedEngine, handed_over_well: bool
) -> None:
    decoders = (engine.url.replace("127.0.0.1", "localhost"), engine.url)
    walked: list[Pair] = []

    async def ask(url: str, model: str) -> QualityRecord:
        await asyncio.sleep(0)
        return record(2.0, WORDS)

    async def walk(pair: Pair, plan: QualityPlan) -> tuple[Answer, ...]:
        walked.append(pair)
        await asyncio.sleep(0)
        words = WORDS if handed_over_well else tuple(reversed(WORDS))
        return tuple(Answer(f"d{at}:1/2", words) for at in range(6))

    found = compare_answers(
        (*engines("http://p", role="prefill"), *engines(*decoders, role="decode")),
        engine.url,
        CONNECTORS["nixl"].legs,
        ask=ask,
        walk=walk,
    )
    assert [(pair.prefill, pair.decode, pair.model) for pair in walked] == [
        ("http://p", url, "m") for url in decoders
    ]
    assert found.outcome == ("pass" if handed_over_well else "fail")
    if not handed_over_well:
        # Alone both decoding engines answer well, so neither is named without the other side.
        assert found.reasons
        assert all(reason.startswith("http://p and http://") for reason in found.reasons)


def test_a_model_that_splits_text_otherwise_cannot_be_compared(engine: ScriptedEngine) -> None:
    outcome, _ = comparing(engine, record(2.0, WORDS, split="other"))
    assert outcome == "inconclusive"
