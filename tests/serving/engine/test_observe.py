from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fakes.scripted_engine import ScriptedEngine
from fakes.scripts import json_answer

from serving.engine.leftovers import Process
from serving.engine.observe import (
    Look,
    cache_config,
    cache_config_of,
    finished_requests,
    observe,
    parse_metrics,
    workers,
)

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


@pytest.mark.slow
async def test_the_cache_config_is_asked_of_an_engine_without_any_probe(engine: ScriptedEngine) -> None:
    engine.set_cache_config(num_gpu_blocks="7")
    found = await cache_config(engine.url)
    assert (found["num_gpu_blocks"], found["block_size"]) == ("7", "128")
    assert engine.exchanges() == []


# What ps shows of a running vLLM 0.32.0 with --tensor-parallel-size 2.
PROCESSES = (
    Process(8118, "/env/bin/python -m vllm.entrypoints.openai.api_server --tensor-parallel-size 2"),
    Process(8180, "/env/bin/python -B -c from multiprocessing.resource_tracker import main;main(31)"),
    Process(8181, "VLLM::EngineCore"),
    Process(8281, "VLLM::Worker_TP0"),
    Process(8282, "VLLM::Worker_TP1"),
)


def test_workers_are_told_from_an_engines_other_processes_by_their_name() -> None:
    assert workers(PROCESSES) == 2
    assert workers(PROCESSES[:3]) == 0


@pytest.mark.slow
async def test_the_second_long_prompt_hits_the_blocks_of_the_first(engine: ScriptedEngine) -> None:
    seen = await observe(engine.url, Look(repeat="Probe one", answers=False), ["a line"])
    assert len(seen.repeated) == 2
    assert seen.repeated[0] == seen.repeated[1] != ""
    assert seen.answers == []
    hits = seen.moved("vllm:prefix_cache_hits_total")
    assert hits is not None
    assert hits >= 3 * 128
    assert seen.longest_prompt_tokens is not None
    assert seen.longest_prompt_tokens > hits
    assert seen.moved("vllm:request_success_total") == 2.0
    assert (seen.cache_config["block_size"], seen.log) == ("128", ["a line"])


@pytest.mark.slow
async def test_short_answers_alone_are_three_requests(engine: ScriptedEngine) -> None:
    seen = await observe(engine.url, Look(), [])
    assert (len(seen.answers), seen.repeated) == (3, [])
    assert seen.moved("vllm:request_success_total") == 3.0


@pytest.mark.slow
async def test_where_nobody_asked_for_probes_none_are_sent(engine: ScriptedEngine) -> None:
    seen = await observe(engine.url, Look(answers=False), [])
    assert seen.moved("vllm:request_success_total") in (None, 0.0)
    assert seen.longest_prompt_tokens is None
    assert not [e for e in engine.exchanges() if e.path == "/v1/completions"]


@pytest.mark.slow
async def test_models_and_living_workers_are_looked_at(engine: ScriptedEngine) -> None:
    seen = await observe(engine.url, Look(answers=False, processes=lambda: PROCESSES), [])
    assert (seen.models, seen.ranks) == (["m"], 2)
    unseen = await observe(engine.url, Look(answers=False), [])
    assert unseen.ranks is None


@pytest.mark.slow
async def test_models_that_a_mode_adds_are_asked_the_same_where_they_are_offered(
    engine: ScriptedEngine,
) -> None:
    answer = {"choices": [{"text": " SELECT"}], "usage": {"prompt_tokens": 5}}
    engine.define(json_answer("sql", answer, tokens=1))
    seen = await observe(engine.url, Look(added_models=("sql", "not there")), [])
    assert seen.answers_by == {"sql": [" SELECT"] * 3}
    asked = [json.loads(e.body) for e in engine.exchanges(expect=6)]
    assert [body["prompt"] for body in asked if body["model"] == "sql"] == [
        body["prompt"] for body in asked if body["model"] == "m"
    ]
