"""What does not go together in one file."""

from __future__ import annotations

import pytest

from serving.config.load import parse, validate
from serving.config.rules import deployment_problems
from serving.config.schema import Deployment


def problems(text: str) -> list[str]:
    document = parse(f"name: x\n{text}", "f.yaml")
    return [str(problem) for problem in deployment_problems(validate(document, Deployment), document)]


def test_a_plain_deployment_has_no_contradiction() -> None:
    assert problems("modes: [{kind: prefix_cache}, {kind: quantized_kv, format: fp8}]\n") == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "modes:\n  - {kind: prefix_cache}\n  - {kind: prefix_cache}\n",
            "f.yaml:4: modes[1].kind: 'prefix_cache' is already modes[0]; keep one of them",
        ),
        (
            "engine:\n  kv_cache_memory: 2GiB\n  gpu_memory_utilization: 0.5\n",
            "f.yaml:4: engine.gpu_memory_utilization: kv_cache_memory already sizes the KV cache; "
            "give one of the two",
        ),
        (
            "gateway: {admin_port: 8000}\n",
            "f.yaml:2: gateway.admin_port: port 8000 is the gateway's own; "
            "give the admin address another port",
        ),
        (
            "gateway: {admin_host: 0.0.0.0}\n",
            "f.yaml:2: gateway.admin_host: '0.0.0.0' can be reached from other machines; "
            "the admin address has no keys: use 127.0.0.1",
        ),
        (
            "gateway: {host: 0.0.0.0}\n",
            "f.yaml:2: gateway.host: '0.0.0.0' can be reached from other machines, and no keys are asked "
            "for; set gateway.keys_file (see teapot keys add), or gateway.allow_anonymous: true for everyone",
        ),
        (
            "gateway:\n  keys_file: keys.yaml\n  allow_anonymous: true\n",
            "f.yaml:4: gateway.allow_anonymous: a key is asked for, as keys_file is given; "
            "leave one of the two out",
        ),
        (
            "gateway:\n  aliases:\n    a: b\n    b: small\n",
            "f.yaml:4: gateway.aliases.a: 'b' is itself an alias; name the model",
        ),
        (
            "engine:\n  args: {port: 1}\n",
            "f.yaml:3: engine.args.port: --port is decided by teapot; "
            "engines listen on loopback only; applications use gateway.host and gateway.port",
        ),
        (
            "replicas: 2\nmodes: [{kind: disaggregated, connector: {kind: nixl}}]\n",
            "f.yaml:2: replicas: the mode disaggregated already says how many engines there are; "
            "leave replicas out and raise prefill and decode",
        ),
        (
            "engine:\n  env: {VLLM_API_KEY: x}\n",
            "f.yaml:3: engine.env.VLLM_API_KEY: VLLM_API_KEY is decided by teapot; "
            "keys are the gateway's: use gateway.keys_file",
        ),
    ],
)  # fmt: skip
def test_a_contradiction_is_said_where_it_is(text: str, problem: str) -> None:
    assert problems(text) == [problem]


def test_two_ports_left_to_the_system_are_no_contradiction() -> None:
    assert problems("gateway: {port: 0, admin_port: 0}\n") == []


@pytest.mark.parametrize(
    "gateway",
    ["{host: 0.0.0.0, keys_file: keys.yaml}", "{host: 0.0.0.0, allow_anonymous: true}", "{host: 127.0.0.2}",
     "{host: localhost}", '{host: "::1"}'],
)  # fmt: skip
def test_an_address_is_fine_with_keys_by_choice_or_on_loopback(gateway: str) -> None:
    assert problems(f"gateway: {gateway}\n") == []
