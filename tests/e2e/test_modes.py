"""Every mode on a real vLLM: proven in effect, refused, or proven not to be. Eager, on two cores.

Modes that do not disturb each other share a start, since a start takes most of the time. The pair of engines
has a file of its own, test_disaggregated.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from e2e import capacity
from e2e.attested import references, verdicts
from e2e.deployments import serve, write_deployment
from e2e.engines import Plan, plan, running

from serving.engine.embedded import EMBEDDED, ensure_embedded
from serving.engine.environments import Environment
from serving.engine.folders import DataFolder
from serving.engine.reference import References
from serving.errors import Failed
from serving.modes.mode import Verdict

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

NGRAM = {
    "kind": "speculative", "method": "ngram", "tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 2,
}  # fmt: skip


def kv(kv_format: str) -> dict[str, Any]:
    return {"kind": "quantized_kv", "format": kv_format}


def weights(weight_format: str) -> dict[str, Any]:
    return {"kind": "quantized_weights", "format": weight_format}


class Bench:
    """Plans engines of modes on one model."""

    def __init__(self, folder: DataFolder, environment: Environment, model: Path, logs: Path) -> None:
        self.folder, self.environment, self.model, self.logs = folder, environment, model, logs

    def plan(self, *modes: Mapping[str, Any], **engine: Any) -> Plan:
        return plan(self.folder, self.environment, self.model, modes, self.logs, **engine)

    async def judged(self, what: Plan, known: References | None = None) -> Sequence[Verdict]:
        """The verdicts of a plan of one engine."""
        async with running(what) as [engine]:
            return await verdicts(what, engine, known)


@pytest.fixture
def bench(folder: DataFolder, environment: Environment, tiny_llama: Path, tmp_path: Path) -> Bench:
    return Bench(folder, environment, tiny_llama, tmp_path)


@pytest.fixture
def embedded(folder: DataFolder, environment: Environment, bench: Bench, tmp_path: Path) -> Bench:
    from serving.console import Console

    model = ensure_embedded(EMBEDDED["smollm2-135m"], environment.python, folder, Console())
    return Bench(folder, environment, model, tmp_path)


@pytest.fixture(scope="module")
def known(tiny_llama: Path, tmp_path_factory: pytest.TempPathFactory) -> References:
    """Shared by the tests of this module: the plain engine fills it, the others are held against it."""
    return references(tmp_path_factory.mktemp("answers"), tiny_llama)


def in_effect(found: Sequence[Verdict]) -> dict[str, bool | None]:
    return {verdict.kind: verdict.in_effect for verdict in found}


def told(found: Sequence[Verdict]) -> str:
    """All evidence and warnings, for looking at when a test fails."""
    return "\n".join(f"{v.kind} {v.in_effect}: {v.evidence} {v.warnings}" for v in found)


async def test_a_plain_engine_leaves_its_answers_as_the_reference(bench: Bench, known: References) -> None:
    assert await bench.judged(bench.plan(), known) == []
    [file] = known.folder.iterdir()
    assert "0.32.0-cpu-bfloat16" in file.name


async def test_prefix_caching_off_is_proven_off_with_the_same_answers(
    bench: Bench, known: References
) -> None:
    found = await bench.judged(bench.plan({"kind": "prefix_cache", "enabled": False}), known)
    assert in_effect(found) == {"prefix_cache": True}, told(found)
    assert "enable_prefix_caching=False" in found[0].evidence
    assert "all 3 greedy answers are the reference's" in found[0].evidence, told(found)


async def test_prefix_cache_chunks_fp8_weights_fp8_kv_and_ngram_are_proven_together(bench: Bench) -> None:
    what = bench.plan(
        {"kind": "prefix_cache"},
        {"kind": "chunked_prefill", "max_batched_tokens": 256},
        weights("fp8_per_block"),
        kv("fp8"),
        NGRAM,
    )
    what.check()
    found = await bench.judged(what)
    assert set(in_effect(found).values()) == {True}, told(found)
    by_kind = {verdict.kind: verdict.evidence for verdict in found}
    assert "512 prompt tokens" in by_kind["prefix_cache"]
    assert "in steps of at most 256" in by_kind["chunked_prefill"]
    # Four layers, each with its fused QKV, output, gate-and-up and down projections.
    assert by_kind["quantized_weights"].startswith("16 layers quantized by CPUFp8BlockScaledMMKernel")
    assert "1.00 bytes an element" in by_kind["quantized_kv"]
    assert "tokens drafted" in by_kind["speculative"]


async def test_a_drafting_model_and_an_e5m2_kv_cache_are_proven_together(bench: Bench) -> None:
    draft = {"kind": "speculative", "method": "draft_model", "model": str(bench.model), "tokens": 3}
    found = await bench.judged(bench.plan(draft, kv("fp8_e5m2")))
    assert in_effect(found) == {"speculative": True, "quantized_kv": True}, told(found)
    # The draft is the model itself, so nearly all that it drafts is right; rounding may part them.
    assert "accepted (" in found[0].evidence
    assert not found[0].warnings, told(found)


async def test_two_tensor_ranks_run_and_answer(bench: Bench, known: References) -> None:
    what = bench.plan({"kind": "parallel", "tensor": 2})
    what.check()
    [found] = await bench.judged(what, known)
    assert found.in_effect is True, told([found])
    assert found.evidence.startswith("ranks 0, 1 of a world of 2, 2 of 2 workers alive; 3 requests answered")


async def test_four_bit_kv_and_int8_weights_are_refused_and_if_allowed_proven_not_in_effect(
    bench: Bench,
) -> None:
    what = bench.plan(kv("int4_per_token_head"), weights("int8_per_channel_weight_only"))
    with pytest.raises(Failed, match=r"int4_per_token_head(.|\n)*quantizes 0 layers"):
        what.check()
    what.check(allow_ineffective=True)
    found = await bench.judged(what)
    assert in_effect(found) == {"quantized_kv": False, "quantized_weights": False}, told(found)
    assert "the engine quantized 0 layers" in found[1].evidence


async def test_turboquant_kv_is_refused_and_if_allowed_proven_not_in_effect(embedded: Bench) -> None:
    # Not the tiny Llama: the format spares two layers at each end, which is all that it has.
    what = embedded.plan(kv("turboquant_4bit_nc"), kv_cache_memory="2GiB")
    with pytest.raises(Failed, match="turboquant_4bit_nc is not really supported on cpu"):
        what.check()
    async with running(what) as [engine]:
        found = await verdicts(what, engine)
        # One byte an element, but for two layers at each end: the planner knows, to the token.
        assert (
            capacity.planned(what) == await capacity.told(engine) == capacity.recorded("cpu-0.32-smollm2-tq4")
        )
    assert in_effect(found) == {"quantized_kv": False}, told(found)


def test_what_cannot_start_is_refused_without_an_engine(bench: Bench, embedded: Bench) -> None:
    refused = [
        (bench.plan(weights("fp8")), "weight format fp8 has no kernel on cpu"),
        (bench.plan({"kind": "parallel", "pipeline": 2}), "pipeline"),
        (embedded.plan({"kind": "parallel", "tensor": 2}), "9"),
    ]
    for what, words in refused:
        with pytest.raises(Failed, match=words):
            what.check()


def test_serve_ends_with_1_where_a_mode_is_proven_not_in_effect(
    tiny_llama: Path, environment: Environment, tmp_path: Path
) -> None:
    path = write_deployment(tmp_path, model=tiny_llama, modes=[kv("fp8")])
    # Layers that keep 16 bits: fewer tokens than an FP8 cache has, though the label says fp8.
    with serve(path, "--set", 'engine.args.kv-cache-dtype-skip-layers=["0", "1"]') as served:
        assert served.process.wait(400) == 1
        said = served.said.read_text()
    assert "mode 'quantized_kv' (fp8) is not in effect" in said


def test_serve_refuses_at_once_and_with_allow_ineffective_serves_and_says_so(
    tiny_llama: Path, environment: Environment, tmp_path: Path
) -> None:
    path = write_deployment(tmp_path, model=tiny_llama, modes=[kv("int4_per_token_head")])
    with serve(path) as served:
        assert served.process.wait(60) == 1
        assert "importing" not in served.said.read_text()
    with serve(path, "--allow-ineffective") as served:
        served.wait_until_ready()
        [mode] = served.get("/status", admin=True)[1]["modes"]
        assert (mode["kind"], mode["in_effect"]) == ("quantized_kv", False)
