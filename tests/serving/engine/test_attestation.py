from __future__ import annotations

from collections.abc import Sequence

import pytest
from fakes.scripted_engine import ScriptedEngine

from serving.engine.attestation import attest
from serving.modes.mode import EngineContext, Mode
from serving.modes.prefix_cache import PrefixCache

CONTEXT = EngineContext(device="cpu", version="0.32.0", model=None, max_model_len=2048)
MODES: Sequence[Mode] = (PrefixCache(kind="prefix_cache"), PrefixCache(kind="prefix_cache"))


@pytest.mark.parametrize(
    ("flag", "in_effect"), [("--enable-prefix-caching", True), ("--no-enable-prefix-caching", False)]
)
async def test_every_mode_judges_what_the_engine_really_did(flag: str, in_effect: bool) -> None:
    with ScriptedEngine.start("--block-size", "128", "--ttft", "0.001", flag) as engine:
        verdicts = await attest(engine.url, MODES, CONTEXT, [])
    assert [(v.kind, v.in_effect) for v in verdicts] == [("prefix_cache", in_effect)] * 2


async def test_a_second_attestation_is_not_fooled_by_the_first_ones_cache() -> None:
    with ScriptedEngine.start("--block-size", "128", "--ttft", "0.001") as engine:
        await attest(engine.url, MODES, CONTEXT, [])
        await attest(engine.url, MODES, CONTEXT, [])
        prompts = [e.body for e in engine.exchanges(expect=4) if e.path == "/v1/completions"]
    assert len(prompts) == 4
    assert len(set(prompts)) == 2
