"""A prefill/decode pair behind one address: real KV transfers, and answers when the prefiller is gone."""

from __future__ import annotations

import os
import re
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from e2e.deployments import Serving, serve, write_deployment
from prometheus_client.parser import text_string_to_metric_families

from serving.engine.environments import Environment
from serving.engine.ports import port_holder

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

MODEL = "tiny-llama"
SHOWN = re.compile(
    r"(?P<moved>\d+) of (?P<prompt>\d+) prompt tokens came from e2e-prefill-0 to e2e-decode-0 in 1 transfer "
)
PAIR = {"kind": "disaggregated", "prefill": 1, "decode": 1, "connector": {"kind": "nixl"}}


@pytest.fixture(scope="module")
def pair(
    tiny_llama: Path, environment: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Serving]:
    """`teapot serve` of one prefilling and one decoding engine, each on a core of its own."""
    path = write_deployment(tmp_path_factory.mktemp("pair"), model=tiny_llama, modes=[PAIR])
    with serve(path) as running:
        running.wait_until_ready()
        yield running


def ask(pair: Serving, head: str) -> str:
    """A prompt of some hundred tokens, streamed through the official client; the answer's text."""
    prompt = f"{head} " + "the quick brown fox jumps over the lazy dog " * 25
    with openai.OpenAI(base_url=f"{pair.url}/v1", api_key="none", max_retries=0, timeout=120) as api:
        stream = api.completions.create(model=MODEL, prompt=prompt, max_tokens=6, temperature=0, stream=True)
        return "".join(chunk.choices[0].text for chunk in stream if chunk.choices)


def backend(pair: Serving, role: str) -> str:
    """The address of the engine of a role, as the admin interface has it."""
    status = pair.get("/status", admin=True)[1]
    return next(b["url"] for b in status["revisions"][0]["backends"] if b["role"] == role)


def transferred(pair: Serving) -> float:
    """Prompt tokens that the decoding engine got from the other."""
    with urllib.request.urlopen(backend(pair, "decode") + "/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "vllm:prompt_tokens_by_source_total"
        and sample.labels["source"] == "external_kv_transfer"
    )


def test_the_mode_is_proven_by_a_request_over_both_engines_before_it_is_ready(pair: Serving) -> None:
    [mode] = pair.get("/status", admin=True)[1]["modes"]
    assert mode["in_effect"] is True, mode
    shown = SHOWN.search(mode["evidence"])
    assert shown is not None, mode
    assert int(shown["moved"]) >= int(shown["prompt"]) - 1 > 4 * 128
    assert "the answer is the one of the prefilling engine alone" in mode["evidence"]


def test_the_decoder_gets_the_prompts_kv_cache(pair: Serving) -> None:
    before = transferred(pair)
    assert ask(pair, "first")
    assert transferred(pair) - before > 200


def test_with_the_prefiller_killed_every_request_is_answered_and_counted(pair: Serving) -> None:
    alike = ask(pair, "second")
    holder = port_holder(int(backend(pair, "prefill").rpartition(":")[2]))
    assert holder is not None
    os.kill(holder.pid, signal.SIGKILL)
    assert ask(pair, "second") == alike
    assert all(ask(pair, f"third {number}") for number in range(3))
    metrics = pair.get("/metrics", admin=True)[1]
    assert 'teapot_gateway_fallbacks_total{reason="prefill_failed",revision="main"}' in metrics
