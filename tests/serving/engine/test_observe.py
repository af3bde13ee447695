from __future__ import annotations

from collections.abc import Iterator

import aiohttp
import pytest
from fakes.scripted_engine import ScriptedEngine

from serving.engine.observe import cache_config_of, finished_requests, observe, parse_metrics, probe_prompt

TEXT = """# HELP vllm:request_success_total Count of successfully processed requests.
# TYPE vllm:request_success_total counter
vllm:request_success_total{finished_reason="stop",model_name="m"} 3.0
vllm:request_success_total{model_name="m",finished_reason="length"} 4.0
# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="128",cache_dtype="fp8",engine="0"} 1.0
"""


@pytest.fixture
def engine() -> Iterator[ScriptedEngine]:
    with ScriptedEngine.start("--block-size", "128", "--served-model-name", "m", "--ttft", "0.001") as engine:
        yield engine


def test_samples_are_found_by_exposed_name_and_sorted_labels() -> None:
    samples = parse_metrics(TEXT)
    key = ("vllm:request_success_total", (("finished_reason", "length"), ("model_name", "m")))
    assert samples[key] == 4.0
    assert finished_requests(samples) == 7.0


def test_the_cache_config_is_read_from_its_labels() -> None:
    assert cache_config_of(parse_metrics(TEXT)) == {"block_size": "128", "cache_dtype": "fp8", "engine": "0"}
    assert cache_config_of({}) == {}


def test_the_probe_begins_with_its_head_and_is_cut_to_a_small_context() -> None:
    assert probe_prompt("Probe 12").startswith("Probe 12. ")
    assert len(probe_prompt("Probe 12").split()) > 400
    assert len(probe_prompt("Probe 12", 64)) == (64 - 8) * 3


async def test_the_second_probe_hits_the_blocks_of_the_first(engine: ScriptedEngine) -> None:
    seen = await observe(engine.url, "Probe one", ["a line"])
    assert len(seen.answers) == 2
    assert seen.answers[0] == seen.answers[1] != ""
    hits = seen.moved("vllm:prefix_cache_hits_total")
    assert hits is not None
    assert hits >= 3 * 128
    assert seen.moved("vllm:request_success_total") == 2.0
    assert (seen.cache_config["block_size"], seen.log) == ("128", ["a line"])


async def test_both_probes_are_the_same_greedy_request(engine: ScriptedEngine) -> None:
    await observe(engine.url, "Probe two", [])
    first, second = [e for e in engine.exchanges(expect=2) if e.path == "/v1/completions"]
    assert first.body == second.body
    assert '"temperature": 0' in first.body
    assert '"model": "m"' in first.body


async def test_an_engine_that_refuses_the_probe_is_an_error() -> None:
    with (
        ScriptedEngine.start("--max-model-len", "10") as engine,
        pytest.raises(aiohttp.ClientResponseError, match="400"),
    ):
        await observe(engine.url, "Probe", [])
