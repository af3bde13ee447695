from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.scripted_engine import ScriptedEngine

from serving.engine import attestation
from serving.engine.attestation import attest
from serving.engine.reference import References
from serving.errors import Failed
from serving.modes.mode import EngineContext, Mode
from serving.modes.prefix_cache import PrefixCache
from serving.modes.quantized_kv import QuantizedKv
from serving.modes.speculative import Speculative

CONTEXT = EngineContext(device="cpu", version="0.32.0", model=None, max_model_len=2048)
MODES: Sequence[Mode] = (PrefixCache(kind="prefix_cache"), PrefixCache(kind="prefix_cache"))
FAST = ("--block-size", "128", "--ttft", "0.001", "--gap", "0.0001")


def prompts(engine: ScriptedEngine, expect: int) -> list[str]:
    bodies = [e.body for e in engine.exchanges(expect=expect) if e.path == "/v1/completions"]
    return [json.loads(body)["prompt"] for body in bodies]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flag", "in_effect"), [("--enable-prefix-caching", True), ("--no-enable-prefix-caching", False)]
)
async def test_every_mode_judges_what_the_engine_really_did(flag: str, in_effect: bool) -> None:
    with ScriptedEngine.start(*FAST, flag) as engine:
        verdicts = await attest(engine.url, MODES, CONTEXT, [])
    assert [(v.kind, v.in_effect) for v in verdicts] == [("prefix_cache", in_effect)] * 2


@pytest.mark.slow
async def test_a_second_attestation_is_not_fooled_by_the_first_ones_cache() -> None:
    with ScriptedEngine.start(*FAST) as engine:
        await attest(engine.url, MODES, CONTEXT, [])
        await attest(engine.url, MODES, CONTEXT, [])
        long = [prompt for prompt in prompts(engine, 10) if prompt.startswith("Probe")]
    assert len(long) == 4
    assert len(set(long)) == 2


@pytest.mark.slow
async def test_probes_that_no_mode_asked_for_are_not_sent() -> None:
    drafting = Speculative(method="ngram", tokens=4, prompt_lookup_max=4)
    with ScriptedEngine.start(*FAST) as engine:
        await attest(engine.url, [QuantizedKv(format="fp8")], CONTEXT, [])
        assert prompts(engine, 0) == []
        await attest(engine.url, [drafting], CONTEXT, [])
        assert not [prompt for prompt in prompts(engine, 3) if prompt.startswith("Probe")]


@pytest.mark.slow
async def test_answers_of_a_plain_engine_are_kept_and_those_of_a_mode_compared_with_them(
    tmp_path: Path,
) -> None:
    references = References(tmp_path, "model")
    with ScriptedEngine.start(*FAST) as engine:
        [before] = await attest(engine.url, MODES[:1], CONTEXT, [], references=references)
        assert list(tmp_path.iterdir()) == []
        assert await attest(engine.url, [], CONTEXT, [], references=references) == []
        [kept] = tmp_path.iterdir()
        [after] = await attest(engine.url, MODES[:1], CONTEXT, [], references=references)
    assert before.not_compared == "no reference answers yet: serve once without modes to have them"
    assert "all 3 greedy answers are the reference's" in after.evidence
    assert after.not_compared is None
    assert after.warnings == ()
    document = json.loads(kept.read_text())
    document["answers"][1] = "something else"
    kept.write_text(json.dumps(document))
    with ScriptedEngine.start(*FAST) as engine:
        [changed] = await attest(engine.url, MODES[:1], CONTEXT, [], references=references)
    assert changed.in_effect is True
    [warning] = changed.warnings
    assert "answer 2 parts from the reference at word 1" in warning


@pytest.mark.slow
async def test_a_plain_engine_whose_answers_are_known_is_not_probed(tmp_path: Path) -> None:
    references = References(tmp_path, "model")
    with ScriptedEngine.start(*FAST) as engine:
        await attest(engine.url, [], CONTEXT, [], references=references)
        await attest(engine.url, [], CONTEXT, [], references=references)
        assert len(prompts(engine, 3)) == 3


@pytest.mark.slow
async def test_an_engine_that_refuses_a_probe_is_said_with_its_words() -> None:
    with (
        ScriptedEngine.start("--max-model-len", "10") as engine,
        pytest.raises(Failed, match=r"HTTP 400.*maximum context length"),
    ):
        await attest(engine.url, MODES, CONTEXT, [])


@pytest.mark.slow
async def test_an_engine_that_dies_on_a_probe_leaves_time_to_tell_of_its_death(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attestation, "DEATH_SHOWS_WITHIN_S", 0.01)
    with (
        ScriptedEngine.start(*FAST, "--die-on-request", "2") as engine,
        pytest.raises(Failed, match="broke off a probe"),
    ):
        await attest(engine.url, MODES, CONTEXT, [])


@pytest.mark.slow
async def test_an_engine_that_does_not_answer_is_not_waited_for_without_end() -> None:
    with (
        ScriptedEngine.start("--ttft", "30") as engine,
        pytest.raises(Failed, match=r"within 0\.3 s"),
    ):
        await attest(engine.url, MODES, CONTEXT, [], within_s=0.3)
