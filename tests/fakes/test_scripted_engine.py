"""The ground truth itself: the scripted engine sends what and when its script says."""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import fakes.scripted_engine
import h11
import pytest
from fakes.scripted_engine import ScriptedEngine
from fakes.scripts import Events, Script, Step, cut, json_answer, stall, stream, text_answer
from prometheus_client.parser import text_string_to_metric_families

BODY = {"model": "m", "messages": [{"role": "user", "content": "one two three"}], "stream": True}


@pytest.fixture(scope="module")
def running() -> Iterator[ScriptedEngine]:
    with ScriptedEngine.start("--dtype", "bfloat16", "--enforce-eager", "-tp", "1") as engine:
        yield engine


@pytest.fixture
def engine(running: ScriptedEngine) -> ScriptedEngine:
    running.reset()
    return running


def raw_request(path: str, body: Any, **headers: str) -> bytes:
    data = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "host: x", f"content-length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def connected(engine: ScriptedEngine) -> socket.socket:
    return socket.create_connection(("127.0.0.1", engine.port), timeout=5)


def ask(engine: ScriptedEngine, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", engine.port, timeout=5)
    try:
        connection.request("GET" if body is None else "POST", path, json.dumps(body), headers)
        response: HTTPResponse = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def play(engine: ScriptedEngine, script: Script, *, path: str = "/v1/chat/completions") -> tuple[int, bytes]:
    engine.define(script)
    return ask(engine, path, BODY, **{"X-Script": script.name, "X-Request-Id": "7"})


def events_of(body: bytes) -> list[Any]:
    blocks = body.decode().split("\n\n")[:-1]
    return [json.loads(block[6:]) for block in blocks if block != "data: [DONE]"]


def metric(engine: ScriptedEngine, name: str, **labels: str) -> float:
    text = ask(engine, "/metrics")[1].decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    (value,) = [s.value for s in samples if s.name == name and labels.items() <= s.labels.items()]
    return value


@pytest.mark.slow
def test_a_script_is_played_byte_for_byte_one_write_a_step(engine: ScriptedEngine) -> None:
    character = "世".encode()
    steps = (
        Step(0.0, b": hi\r\n\r\n", "comment"),
        *Step(0.0, b"data: " + character + b"\n\n", "part").split(7, gap_s=0.01),
        Step(0.02, b'data: {"id":"@ID@","model":"@MODEL@"}\r\r', "part"),
    )
    status, body = play(engine, Script("bytes", steps))
    assert status == 200
    assert body == b': hi\r\n\r\ndata: \xe4\xb8\x96\n\ndata: {"id":"chatcmpl-7","model":"m"}\r\r'
    (exchange,) = engine.exchanges(expect=1)
    assert [sent.size_bytes for sent in exchange.sent] == [8, 7, 4, 39]
    assert (exchange.script, exchange.complete, exchange.t_gone_ns) == ("bytes", True, None)
    assert exchange.headers["x-request-id"] == "7"
    assert json.loads(exchange.body) == BODY


def test_a_script_is_also_chosen_by_the_models_name(engine: ScriptedEngine) -> None:
    engine.define(json_answer("m", {"mine": True}, status=418))
    assert ask(engine, "/v1/completions", BODY) == (418, b'{"mine":true}')
    assert ask(engine, "/v1/completions", BODY, **{"X-Script": "unknown"})[0] == 404


def test_each_framing_is_what_h11_takes_it_for(engine: ScriptedEngine) -> None:
    for framing in ("chunked", "length", "close"):
        engine.define(
            Script(framing, (Step(0.0, b"one", "part"), Step(0.0, b"two", "part")), framing=framing)
        )
        client = h11.Connection(h11.CLIENT)
        client.send(h11.Request(method="POST", target="/", headers=[("host", "x"), ("content-length", "0")]))
        client.send(h11.EndOfMessage())
        body = b""
        with connected(engine) as sock:
            sock.sendall(raw_request("/v1/completions", {**BODY, "model": framing}))
            while not isinstance(event := client.next_event(), h11.EndOfMessage):
                if event is h11.NEED_DATA:
                    client.receive_data(sock.recv(4096))
                elif isinstance(event, h11.Data):
                    body += bytes(event.data)
        assert body == b"onetwo"


def test_one_connection_serves_one_request_after_the_other(engine: ScriptedEngine) -> None:
    connection = HTTPConnection("127.0.0.1", engine.port, timeout=5)
    for _ in range(3):
        connection.request("POST", "/v1/completions", json.dumps({"prompt": "a", "max_tokens": 1}))
        assert connection.getresponse().read()
    connection.close()
    assert len(engine.exchanges(expect=3)) == 3


def received_until_the_end(engine: ScriptedEngine, script: Script) -> bytes:
    engine.define(script)
    received = b""
    with connected(engine) as sock:
        sock.sendall(raw_request("/v1/chat/completions", BODY, x_script=script.name))
        while data := sock.recv(4096):
            received += data
    return received


def test_a_stream_can_be_cut_by_fin_and_by_reset(engine: ScriptedEngine) -> None:
    whole = stream("whole", ttft_s=0.0, gap_s=0.0)
    received = received_until_the_end(engine, cut(whole, keep=2, how="fin"))
    assert received.count(b"data: ") == 2
    assert not received.endswith(b"0\r\n\r\n")
    with pytest.raises(ConnectionResetError):
        received_until_the_end(engine, cut(whole, keep=2, how="rst", after_s=0.02))


def test_a_client_that_leaves_is_noticed_with_the_moment(engine: ScriptedEngine) -> None:
    engine.define(cut(stream("hang", ttft_s=0.0, gap_s=0.0), keep=2, how="hang"))
    with connected(engine) as sock:
        sock.sendall(raw_request("/v1/chat/completions", BODY, x_script="hang"))
        while b" w0" not in sock.recv(4096):
            pass
        assert metric(engine, "vllm:num_requests_running") == 1
        left_ns = time.perf_counter_ns()
    (exchange,) = engine.exchanges(expect=1)
    assert not exchange.complete
    assert exchange.t_gone_ns is not None
    assert exchange.t_gone_ns > left_ns
    assert metric(engine, "vllm:num_requests_running") == 0


def test_the_builders_speak_openai(engine: ScriptedEngine) -> None:
    events = Events()
    steps = (
        events.role(0.0),
        events.empty(0.0, token_ids=[5]),
        events.reasoning(0.0, "hm"),
        events.tool_call(0.0, "now", "{"),
        events.tool_call(0.0, None, "}"),
        events.content(0.0, " a b", tokens=2, usage=(9, 5)),
        events.finish(0.0),
        events.usage(0.0, 9, 5, cached=8),
        events.error(0.0, "boom"),
        events.done(0.0),
    )
    documents = events_of(play(engine, Script("words", steps))[1])
    deltas = [document["choices"][0]["delta"] for document in documents[:7]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert deltas[2] == {"reasoning": "hm"}
    assert deltas[3]["tool_calls"][0]["function"] == {"name": "now", "arguments": "{"}
    assert deltas[4]["tool_calls"] == [{"index": 0, "function": {"arguments": "}"}}]
    assert documents[1]["choices"][0]["token_ids"] == [5]
    assert documents[5]["usage"] == {"prompt_tokens": 9, "total_tokens": 14, "completion_tokens": 5}
    assert documents[6]["choices"][0]["finish_reason"] == "stop"
    assert documents[7]["usage"]["prompt_tokens_details"] == {"cached_tokens": 8}
    assert documents[8]["error"]["message"] == "boom"


def test_a_stall_moves_only_what_comes_after_it() -> None:
    stalled = stall(stream("s", ttft_s=0.1, gap_s=0.1, chunks=3), before=2, for_s=1.0)
    assert [round(step.at_s, 3) for step in stalled.steps] == [0.0, 0.1, 1.2, 1.3, 1.305, 1.305]


def test_without_a_script_as_many_tokens_come_as_were_asked_for(engine: ScriptedEngine) -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    asked = {**BODY, "max_tokens": 3, "stream_options": options, "return_token_ids": True}
    documents = events_of(ask(engine, "/v1/chat/completions", asked)[1])
    assert [document["usage"]["completion_tokens"] for document in documents[1:]] == [1, 2, 3, 3]
    # Three words and the template's ten.
    assert documents[-1]["usage"]["prompt_tokens"] == 13
    assert [len(document["choices"][0]["token_ids"]) for document in documents[1:4]] == [1, 1, 1]
    whole = json.loads(ask(engine, "/v1/completions", {"prompt": "one two", "max_tokens": 2})[1])
    assert whole["usage"]["prompt_tokens"] == 2
    assert len(whole["choices"][0]["text"].split()) == 2


def test_a_wrong_request_is_refused_in_vllms_words(engine: ScriptedEngine) -> None:
    status, body = ask(engine, "/v1/completions", {"prompt": "a", "max_tokens": 5000})
    assert (status, json.loads(body)["error"]["type"]) == (400, "BadRequestError")
    assert ask(engine, "/v1/completions", {"model": "m"})[0] == 400
    assert ask(engine, "/elsewhere") == (404, b'{"detail": "Not Found"}')


@pytest.mark.slow
def test_the_counters_move_as_the_requests_go(engine: ScriptedEngine) -> None:
    def counters() -> dict[str, float]:
        names = ("prefix_cache_queries", "prefix_cache_hits", "prompt_tokens", "generation_tokens")
        values = {name: metric(engine, f"vllm:{name}_total") for name in names}
        values["length"] = metric(engine, "vllm:request_success_total", finished_reason="length")
        values["ttft"] = metric(engine, "vllm:time_to_first_token_seconds_count")
        values["e2e"] = metric(engine, "vllm:e2e_request_latency_seconds_count")
        return values

    # 50 words in blocks of 16: three whole blocks are there the second time.
    prompt = {"prompt": " ".join(f"unique{word}" for word in range(50)), "max_tokens": 4, "stream": True}
    before = counters()
    ask(engine, "/v1/completions", prompt)
    ask(engine, "/v1/completions", prompt)
    engine.exchanges(expect=2)
    moved = {name: value - before[name] for name, value in counters().items()}
    assert moved == {
        "prefix_cache_queries": 100,
        "prefix_cache_hits": 48,
        "prompt_tokens": 100,
        "generation_tokens": 8,
        "length": 2,
        "ttft": 2,
        "e2e": 2,
    }


def test_words_count_the_same_both_ways(engine: ScriptedEngine) -> None:
    ids = [3, 14, 159]
    text = json.loads(ask(engine, "/detokenize", {"tokens": ids})[1])["prompt"]
    assert json.loads(ask(engine, "/tokenize", {"prompt": text})[1])["tokens"] == ids
    assert json.loads(ask(engine, "/tokenize", {"messages": BODY["messages"]})[1])["count"] == 13


def test_health_and_cache_config_can_be_set(engine: ScriptedEngine) -> None:
    assert ask(engine, "/health")[0] == 200
    engine.set_health(503)
    assert ask(engine, "/health")[0] == 503
    engine.set_cache_config(kv_cache_size_tokens="7")
    assert metric(engine, "vllm:cache_config_info", kv_cache_size_tokens="7") == 1


def test_a_plain_text_error_can_be_scripted(engine: ScriptedEngine) -> None:
    assert play(engine, text_answer("t", "Internal Server Error", status=500)) == (
        500,
        b"Internal Server Error",
    )


@pytest.mark.slow
def test_vllms_flags_that_matter_are_obeyed() -> None:
    flags = ("--kv-cache-dtype", "fp8", "--no-enable-prefix-caching", "--served-model-name", "mine")
    with ScriptedEngine.start(*flags, "--api-key", "secret") as engine:
        assert ask(engine, "/v1/models") == (401, b'{"error": "Unauthorized"}')
        key = {"Authorization": "Bearer secret"}
        models = json.loads(ask(engine, "/v1/models", None, **key)[1])
        assert [model["id"] for model in models["data"]] == ["mine"]
        assert ask(engine, "/v1/completions", {"prompt": "a", "model": "other"}, **key)[0] == 404
        labels = {"cache_dtype": "fp8", "kv_cache_size_tokens": "186368", "enable_prefix_caching": "False"}
        assert metric(engine, "vllm:cache_config_info", **labels) == 1


def spawn(*arguments: str) -> subprocess.Popen[str]:
    program = Path(fakes.scripted_engine.__file__)
    command = [sys.executable, str(program), "--port", "0", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_it_dies_as_told_with_its_last_words() -> None:
    process = spawn("--say", "loading", "--die-after", "0", "--die-message", "OOM", "--die-exit-code", "3")
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (3, "loading\nOOM\n")


@pytest.mark.slow
def test_it_dies_at_the_request_it_was_told_to() -> None:
    with ScriptedEngine.start("--die-on-request", "1") as engine:
        # Cut or reset, whichever the kernel makes of it.
        with pytest.raises(OSError):
            ask(engine, "/v1/completions", {"prompt": "a"})
        assert engine.process.wait(timeout=10) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "ends"), [((), True), (("--ignore-sigterm",), False)])
def test_sigterm_ends_it_unless_ignored(flags: tuple[str, ...], *, ends: bool) -> None:
    with ScriptedEngine.start(*flags) as engine:
        engine.process.send_signal(signal.SIGTERM)
        if ends:
            assert engine.process.wait(timeout=10) == 0
        else:
            assert ask(engine, "/health")[0] == 200


@pytest.mark.slow
def test_sigterm_lets_requests_finish_within_the_shutdown_timeout() -> None:
    with ScriptedEngine.start("--shutdown-timeout", "10", "--ttft", "0.3") as engine:
        answers: list[int] = []
        body = {"prompt": "a", "max_tokens": 1}
        client = threading.Thread(target=lambda: answers.append(ask(engine, "/v1/completions", body)[0]))
        client.start()
        while metric(engine, "vllm:num_requests_running") == 0:
            time.sleep(0.005)
        engine.process.send_signal(signal.SIGTERM)
        client.join()
        assert answers == [200]
        assert engine.process.wait(timeout=10) == 0


@pytest.mark.slow
def test_a_child_outlives_an_engine_that_is_killed() -> None:
    process = spawn("--child")
    assert process.stderr is not None
    child = int(process.stderr.readline().split()[1])
    process.kill()
    process.wait()
    os.kill(child, signal.SIGKILL)
    # The child holds the pipes' other ends, as vLLM's EngineCore does: only now do they end.
    process.communicate()


@pytest.mark.slow
def test_the_moments_are_the_scripts_at_the_median_within_a_millisecond(engine: ScriptedEngine) -> None:
    for _ in range(3):
        engine.reset()
        engine.define(stream("timed", ttft_s=0.05, gap_s=0.02, chunks=25))
        asking = [
            threading.Thread(target=ask, args=(engine, "/v1/chat/completions", {**BODY, "model": "timed"}))
            for _ in range(4)
        ]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        lateness_s = [
            (sent.t_ns - exchange.t_received_ns) / 1e9 - sent.at_s
            for exchange in engine.exchanges(expect=4)
            for sent in exchange.sent
        ]
        assert len(lateness_s) == 4 * 28
        assert min(lateness_s) >= 0.0
        if statistics.median(lateness_s) < 0.001:
            return
    pytest.fail(f"median lateness {statistics.median(lateness_s) * 1e3:.2f} ms in the last of 3 tries")
