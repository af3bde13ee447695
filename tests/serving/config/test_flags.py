"""From a deployment to an engine's command, and where each value came from."""

from __future__ import annotations

import json
from dataclasses import replace

from serving.config.flags import (
    EngineCommand,
    Placement,
    engine_command,
    engine_context,
    engine_contexts,
)
from serving.config.layout import engine_slots
from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.modes.mode import Device, ModelFacts

PLACEMENT = Placement(
    python="/env/bin/python", port=8100, model_path="/models/smol", model_name="smollm2-135m"
)
SMOLLM2 = ModelFacts("smollm2-135m", "LlamaForCausalLM", 30, 9, 3, 64, 49152, 8192, 2.0)
DEMO = """\
name: demo
engine:
  max_model_len: 2048
  kv_cache_memory: 3GiB
  args: {enforce_eager: true, seed: -1}
modes:
  - {kind: prefix_cache, enabled: false}
  - {kind: quantized_kv, format: fp8}
gateway: {drain_timeout: 12.5s}
slo: {ttft: 2s, tpot: 50ms}
"""
REQUEST_LATENCY = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0,
    20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0,
]  # fmt: skip
PAIR = """\
name: demo
engine: {cores: [0, 1]}
modes:
  - {kind: disaggregated, connector: {kind: nixl}}
"""


def command(text: str, device: Device = "cpu", placement: Placement = PLACEMENT) -> EngineCommand:
    document = parse(text, "demo.yaml")
    deployment = validate(document, Deployment)
    context = engine_context(deployment, device=device, version="0.32.0", model=SMOLLM2)
    return engine_command(deployment, document, placement, context)


def test_the_command_is_what_vllm_takes() -> None:
    argv = list(command(DEMO).argv)
    buckets = argv[argv.index("--custom-histogram-buckets") + 1]
    argv.remove(buckets)
    assert argv == [
        "/env/bin/python", "-m", "vllm.entrypoints.openai.api_server",
        "--model", "/models/smol", "--served-model-name", "smollm2-135m",
        "--host", "127.0.0.1", "--port", "8100", "--shutdown-timeout", "23",
        "--max-model-len", "2048", "--kv-cache-memory-bytes", "3221225472",
        "--enable-prompt-tokens-details", "--custom-histogram-buckets",
        "--no-enable-prefix-caching", "--kv-cache-dtype", "fp8", "--enforce-eager", "--seed=-1",
    ]  # fmt: skip


def test_objectives_become_buckets_among_vllms_own() -> None:
    argv = command(DEMO).argv
    # 50 ms is a default bound of vLLM for tokens; 2 s is none for the first one.
    assert json.loads(argv[argv.index("--custom-histogram-buckets") + 1]) == {
        "time_to_first_token": [
            0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0, 2.5, 5.0, 7.5, 10.0,
            20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
        ],
        "request_latency": REQUEST_LATENCY,
    }  # fmt: skip


def test_queue_times_are_told_apart_below_what_vllm_does_also_without_objectives() -> None:
    found = command("name: x\n")
    buckets = json.loads(found.argv[found.argv.index("--custom-histogram-buckets") + 1])
    assert buckets == {"request_latency": REQUEST_LATENCY}
    sources = {setting.name: setting.source for setting in found.settings}
    assert sources["--custom-histogram-buckets"] == "teapot"


def test_an_objective_for_the_whole_answer_is_among_them() -> None:
    found = command("name: x\nslo: {e2e: 7s}\n")
    buckets = json.loads(found.argv[found.argv.index("--custom-histogram-buckets") + 1])
    assert buckets == {"request_latency": sorted([*REQUEST_LATENCY, 7.0])}


def test_every_value_says_where_it_came_from() -> None:
    sources = {setting.name: setting.source for setting in command(DEMO).settings}
    assert sources == {
        "--model": "default",
        "--served-model-name": "default",
        "--host": "teapot",
        "--port": "teapot",
        "--shutdown-timeout": "demo.yaml:9: gateway.drain_timeout",
        "--max-model-len": "demo.yaml:3: engine.max_model_len",
        "--kv-cache-memory-bytes": "demo.yaml:4: engine.kv_cache_memory",
        "--enable-prompt-tokens-details": "teapot",
        "--custom-histogram-buckets": "demo.yaml:10: slo",
        "--no-enable-prefix-caching": "demo.yaml:7: modes[0]",
        "--kv-cache-dtype": "demo.yaml:8: modes[1]",
        "--enforce-eager": "demo.yaml:5: engine.args.enforce_eager",
        "--seed": "demo.yaml:5: engine.args.seed",
        "VLLM_NO_USAGE_STATS": "teapot",
        "HF_HUB_OFFLINE": "teapot: all files are local",
        "VLLM_CPU_KVCACHE_SPACE": "demo.yaml:4: engine.kv_cache_memory",
    }


def test_a_cpu_gets_two_gib_of_kv_cache_where_nobody_said() -> None:
    found = command("name: x\n")
    assert found.argv[found.argv.index("--kv-cache-memory-bytes") + 1] == "2147483648"
    assert found.environment["VLLM_CPU_KVCACHE_SPACE"] == "2"


def test_a_cache_that_is_no_whole_gib_is_said_by_the_flag_alone() -> None:
    found = command("name: x\nengine: {kv_cache_memory: 512MiB}\n")
    assert found.argv[found.argv.index("--kv-cache-memory-bytes") + 1] == "536870912"
    assert "VLLM_CPU_KVCACHE_SPACE" not in found.environment


def test_a_gpu_sizes_its_own_cache_where_nobody_said() -> None:
    found = command("name: x\nengine: {gpu_memory_utilization: 0.8}\n", device="cuda")
    assert "--kv-cache-memory-bytes" not in found.argv
    assert found.argv[found.argv.index("--gpu-memory-utilization") + 1] == "0.8"


def test_a_hub_model_may_ask_the_hub() -> None:
    online = replace(PLACEMENT, model_path="org/model", offline=False, environment={"HF_HOME": "/cache"})
    assert command("name: x\n", "cuda", online).environment == {
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HOME": "/cache",
    }


def test_the_context_knows_the_modes_and_the_cache() -> None:
    deployment = validate(parse(DEMO, "demo.yaml"), Deployment)
    context = engine_context(deployment, device="cpu", version="0.32.0", model=SMOLLM2)
    assert (context.kv_cache_bytes, context.max_model_len) == (3221225472, 2048)
    assert context.kinds == {"prefix_cache", "quantized_kv"}


def test_without_a_limit_the_models_own_is_the_longest() -> None:
    deployment = validate(parse("name: x\n", "demo.yaml"), Deployment)
    assert engine_context(deployment, device="cpu", version="0.32.0", model=SMOLLM2).max_model_len == 8192
    assert engine_context(deployment, device="cuda", version="0.33.0", model=None).max_model_len is None


def test_modes_hear_of_the_other_flags_of_the_deployment() -> None:
    deployment = validate(
        parse("name: x\nengine: {args: {seed: 1, enable_sleep_mode: true}}\n", "d"), Deployment
    )
    context = engine_context(deployment, device="cpu", version="0.32.0", model=SMOLLM2)
    assert context.args == {"--seed": "1", "--enable-sleep-mode": None}


def test_every_engine_has_its_own_cores_and_side_channel_and_knows_its_peer() -> None:
    document = parse(PAIR, "demo.yaml")
    deployment = validate(document, Deployment)
    shared = engine_context(deployment, device="cpu", version="0.32.0", model=SMOLLM2)
    slots = engine_slots(deployment, None, device="cpu")
    prefill, decode = engine_contexts(shared, slots)
    assert [peer.slot.name for peer in prefill.peers] == ["demo-decode-0"]
    assert [peer.slot.name for peer in decode.peers] == ["demo-prefill-0"]
    both = [engine_command(deployment, document, PLACEMENT, context) for context in (prefill, decode)]
    assert [command.environment["VLLM_CPU_OMP_THREADS_BIND"] for command in both] == ["0", "1"]
    assert [command.environment["VLLM_NIXL_SIDE_CHANNEL_PORT"] for command in both] == ["5600", "5700"]
    sources = {setting.name: setting.source for setting in both[0].settings}
    assert sources["VLLM_CPU_OMP_THREADS_BIND"] == "demo.yaml:2: engine.cores"


def test_what_would_silently_change_an_engine_is_kept_away_from_it() -> None:
    assert command("name: x\nengine: {kv_cache_memory: 512MiB}\n").unset == (
        "VLLM_CPU_KVCACHE_SPACE",
        "VLLM_CPU_OMP_THREADS_BIND",
        "VLLM_API_KEY",
    )
    assert command("name: x\n").unset == ("VLLM_CPU_OMP_THREADS_BIND", "VLLM_API_KEY")
