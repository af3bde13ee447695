from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import replace

import pytest
from fakes.scripted_engine import ScriptedEngine
from fakes.scripts import json_answer, stream, text_answer

from loadgen.control import ControlClient
from loadgen.probe import PROBE_WORDS, Probed, probe
from loadgen.target import parse_target
from loadgen.workload import Workload
from serving.errors import Failed, UsageError

Make = Callable[..., Workload]


def look(engine: ScriptedEngine, workload: Workload, key: str | None = None) -> Probed:
    with ControlClient(parse_target(engine.url, api_key=key)) as client:
        return probe(client, workload)


def test_the_first_model_is_taken_and_the_server_counts_with_its_template(
    engine: ScriptedEngine, workload: Make
) -> None:
    with ControlClient(parse_target(engine.url)) as client:
        probed = probe(client, workload())
        assert (probed.model, probed.continuous_usage) == ("scripted", True)
        assert probed.overhead_tokens == 10  # the scripted engine's template
        assert probed.count is not None
        assert probed.count("a b c") == 13


def test_completions_are_counted_without_a_template(engine: ScriptedEngine, workload: Make) -> None:
    with ControlClient(parse_target(engine.url)) as client:
        probed = probe(client, workload(endpoint="completions"))
        assert probed.overhead_tokens == 0
        assert probed.count is not None
        assert probed.count("a b c") == 3


def test_the_probe_is_one_short_request(engine: ScriptedEngine, workload: Make) -> None:
    look(engine, workload())
    asked = engine.exchanges(expect=1)
    assert len(asked) == 1
    assert '"max_tokens": 1' in asked[0].body
    assert " ".join(PROBE_WORDS) in asked[0].body


def test_nobody_there_says_what_to_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    workload = Workload.model_validate(
        {
            "name": "x",
            "arrival": {"process": "closed", "concurrency": 1, "requests": 1},
            "prompts": {"kind": "prompt_set", "output_tokens": 1},
        }
    )
    with pytest.raises(Failed, match="nothing answers") as error:
        probe(ControlClient(parse_target(url)), workload)
    assert "teapot serve" in str(error.value)


def test_a_wrong_key_names_the_variables(workload: Make) -> None:
    with ScriptedEngine.start("--api-key", "right") as locked:
        assert look(locked, workload(), "right").model == "scripted"
        with pytest.raises(UsageError, match="TEAPOT_API_KEY"):
            look(locked, workload(), "wrong")


def test_a_wrong_model_is_told_in_the_server_s_words(workload: Make) -> None:
    with (
        ScriptedEngine.start("--served-model-name", "right") as strict,
        pytest.raises(UsageError, match="The model `wrong` does not exist"),
    ):
        look(strict, workload(model="wrong"))


def test_a_server_that_does_not_stream_is_refused(engine: ScriptedEngine, workload: Make) -> None:
    engine.define(json_answer("whole", {"object": "chat.completion", "choices": []}))
    with pytest.raises(Failed, match="did not answer with a stream"):
        look(engine, workload(model="whole"))


def test_an_ill_server_is_told_with_its_status(engine: ScriptedEngine, workload: Make) -> None:
    engine.define(text_answer("ill", "engine is dead", status=503))
    with pytest.raises(Failed, match="HTTP 503: engine is dead"):
        look(engine, workload(model="ill"))


def test_a_server_that_refuses_continuous_usage_is_asked_without(
    engine: ScriptedEngine, workload: Make
) -> None:
    engine.define(replace(stream("strict"), status=400, content_type="application/json"))
    with pytest.raises(UsageError, match="HTTP 400"):
        look(engine, workload(model="strict"))
    asked = [exchange.body for exchange in engine.exchanges(expect=2)]
    assert ["continuous_usage_stats" in body for body in asked] == [True, False]


EMBEDDING = {"object": "list", "data": [{"embedding": [0.5]}], "usage": {"prompt_tokens": 9}}


def embedder(workload: Make) -> Workload:
    prompts = {"kind": "random_tokens", "input_tokens": 24}
    return workload(endpoint="embeddings", prompts=prompts, sampling={}, model="embedder")


def test_an_embedding_is_asked_without_a_stream_and_tells_what_its_prompt_cost(
    engine: ScriptedEngine, workload: Make
) -> None:
    engine.define(json_answer("embedder", EMBEDDING))
    probed = look(engine, embedder(workload))
    assert probed.overhead_tokens == 9 - len(PROBE_WORDS)
    asked = json.loads(engine.exchanges(expect=1)[0].body)
    assert asked == {"model": "embedder", "input": " ".join(PROBE_WORDS)}


def test_an_answer_without_an_embedding_is_told(engine: ScriptedEngine, workload: Make) -> None:
    engine.define(json_answer("embedder", {"object": "list", "data": []}))
    with pytest.raises(Failed, match="did not answer with an embedding"):
        look(engine, embedder(workload))


def test_the_longest_that_the_model_takes_is_known_from_the_list(
    engine: ScriptedEngine, workload: Make
) -> None:
    assert look(engine, workload()).max_model_len == 2048
    assert look(engine, workload(models={"scripted": 2})).max_model_len == 2048
