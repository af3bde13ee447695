"""What people read when a file is wrong: one line a mistake, in the order of the file."""

from __future__ import annotations

import pytest

from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.errors import UsageError


def complaints(text: str) -> list[str]:
    with pytest.raises(UsageError) as caught:
        validate(parse(text, "f.yaml"), Deployment)
    return [str(problem) for problem in caught.value.problems]


def test_many_mistakes_are_said_at_once_by_line() -> None:
    text = """\
replicas: 0
modes:
  - {kind: speculativ}
  - method: ngram
enginee: {}
slo: {ttft: 500}
"""
    assert complaints(text) == [
        "f.yaml:1: name: missing; add it: lower-case letters, digits and hyphens, as in a host name",
        "f.yaml:1: replicas: 0 is not allowed; it should be greater than or equal to 1",
        "f.yaml:3: modes[0].kind: 'speculativ' is not known; did you mean 'speculative'?",
        "f.yaml:4: modes[1].kind: missing; add kind, one of prefix_cache, chunked_prefill, "
        "quantized_weights, quantized_kv, speculative, parallel, disaggregated, lora",
        "f.yaml:5: enginee: unknown key; did you mean 'engine'?",
        "f.yaml:6: slo.ttft: 500 has no unit; write it with its unit, probably 500ms (or 500s)",
    ]


MISTAKES = {
    'engine: {max_model_len: "2048"}': "engine.max_model_len: '2048' is text; write 2048 without quotes",
    "engine: {max_num_seqs: x}": "engine.max_num_seqs: 'x' is not a whole number; write digits, such as 8",
    "engine: {max_num_seqs: 2.5}": "engine.max_num_seqs: 2.5 is not a whole number; write digits, such as 8",
    "engine: {max_num_seqs: -1}": "engine.max_num_seqs: -1 is not allowed; it should be greater than 0",
    "engine: {device: gpu}": "engine.device: 'gpu' is not known; did you mean 'cpu'?",
    "engine: {device: tpu9}": "engine.device: 'tpu9' is not known; use one of: auto, cpu, cuda, rocm",
    "engine: fast": "engine: 'fast' is not a section with keys; write `key: value` lines below it",
    "engine:": "engine: is empty; give it a value or leave the key out",
    "engine: {args: {seed: null}}": "engine.args.seed: is empty; give it a value or leave the key out",
    "modes: {kind: lora}": "modes: a section with keys is not a list; begin each entry with a dash",
    "modes: [lora]": "modes[0]: 'lora' is not a section with keys; write `key: value` lines below it",
    "modes: [{kind: prefix_cache, enabled: no}]": "modes[0].enabled: 'no' is not true or false; write false",
    "modes: [{kind: prefix_cache, enabled: 1}]": (
        "modes[0].enabled: 1 is not true or false; write true or false"
    ),
    "modes: [{kind: quantized_kv, format: fp9}]": (
        "modes[0].format: unknown KV cache format 'fp9'; did you mean 'fp8'?"
    ),
    "modes: [{kind: speculative, method: ngram, tokens: 4}]": (
        "modes[0]: method ngram needs `prompt_lookup_max`; 4 is a good start"
    ),
    "modes: [{kind: disaggregated, connector: {kind: nixel}}]": (
        "modes[0].connector.kind: 'nixel' is not known; did you mean 'nixl'?"
    ),
    "model: 7": 'model: 7 is not text; put it in quotes: "7"',
    "gateway: {port: 70000}": "gateway.port: 70000 is not allowed; it should be less than or equal to 65535",
    "gateway: {max_body: 10mib}": "gateway.max_body: '10mib' has the unknown unit 'mib'; did you mean 10MiB?",
    "zzz: 1": (
        "zzz: unknown key; known keys: name, model, engine, modes, replicas, revisions, gateway, slo, "
        "prometheus, grafana, rollout"
    ),
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_said_in_plain_words(line: str) -> None:
    assert complaints(f"name: x\n{line}\n") == [f"f.yaml:2: {MISTAKES[line]}"]


def test_a_misspelt_key_is_not_also_missing() -> None:
    assert complaints("nam: x\n") == ["f.yaml:1: nam: unknown key; did you mean 'name'?"]
