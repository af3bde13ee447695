"""What is said before anything is paid for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from serving.config.flags import engine_context, engine_contexts
from serving.config.layout import engine_slots
from serving.config.load import load_deployment, parse, validate
from serving.config.schema import Deployment
from serving.config.startup import StartupProblem, check_startable, rejected_settings, startup_problems
from serving.errors import EXIT_FAILED, Failed
from serving.modes.mode import Device, MachineFacts, ModelFacts, Setting

SMOLLM2 = ModelFacts("smollm2-135m", "LlamaForCausalLM", 30, 9, 3, 64, 49152, 8192, 2.0)
TWO_CORES = MachineFacts((0, 1), 1, 20 * 1024**3, 1024**3)
SHIPPED = sorted((Path(__file__).parents[3] / "deploy" / "configs").glob("*.yaml"))
VERSIONS: dict[Device, str] = {"cpu": "0.32.0", "cuda": "0.33.0"}


def found(text: str, device: Device = "cpu", **inherited: str) -> list[StartupProblem]:
    document = parse(f"name: x\n{text}\n", "x.yaml")
    deployment = validate(document, Deployment)
    machine = TWO_CORES if device == "cpu" else None
    shared = engine_context(
        deployment, device=device, version=VERSIONS[device], model=SMOLLM2, machine=machine
    )
    shared = replace(shared, inherited=inherited)
    contexts = engine_contexts(shared, engine_slots(deployment, machine, device=device))
    return startup_problems(deployment, document, *contexts)


def errors(text: str, device: Device = "cpu") -> list[str]:
    return [str(entry.problem) for entry in found(text, device) if entry.severity == "error"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "engine: {gpu_memory_utilization: 0.9}",
            "x.yaml:2: engine.gpu_memory_utilization: there is no GPU memory on device cpu; "
            "use kv_cache_memory",
        ),
        (
            "replicas: 3",
            "x.yaml:1: engine.cores: 3 engines need 3 cores and there are 2; "
            "ask for fewer engines or ranks, or for fewer cores each",
        ),
        (
            "engine: {args: {monokernel: true}}",
            "x.yaml:2: engine.args.monokernel: --monokernel is no flag of vLLM 0.32.0; "
            "it is in 0.33.0 only: leave it out",
        ),
        (
            "engine: {args: {dtype: bf16}}",
            "x.yaml:2: engine.args.dtype: 'bf16' is no --dtype of vLLM 0.32.0; "
            "use one of auto, bfloat16, float, float16, float32, half",
        ),
        (
            "engine: {env: {VLLM_REQUEST_BODY_LOG_LEVEL: DEBUG}}",
            "x.yaml:2: engine.env.VLLM_REQUEST_BODY_LOG_LEVEL: VLLM_REQUEST_BODY_LOG_LEVEL is no variable "
            "of vLLM 0.32.0; it is in 0.33.0 only: leave it out",
        ),
    ],
)
def test_what_cannot_start_is_said_with_its_place(text: str, problem: str) -> None:
    assert errors(text) == [problem]


def test_cores_mean_nothing_to_a_gpu() -> None:
    assert errors("engine: {cores: 2}", "cuda") == [
        "x.yaml:2: engine.cores: cores are shared out on device cpu only and this is cuda; leave it out"
    ]


def test_a_finding_of_the_modes_table_is_said_where_its_key_is() -> None:
    [heads] = [p for p in errors("modes:\n  - {kind: parallel, tensor: 2}") if "heads" in p]
    assert heads.startswith("x.yaml:3: modes[0].tensor: 9 attention heads cannot be shared")
    [long] = errors("engine: {max_model_len: 9000}")
    assert long.startswith("x.yaml:2: engine.max_model_len: 9000 is longer than the 8192 positions")


def test_a_problem_of_every_engine_is_said_once() -> None:
    assert len(errors("replicas: 2\nengine: {args: {dtype: bf16}}")) == 1


def test_a_removed_variable_of_the_shell_is_a_warning() -> None:
    [entry] = found("replicas: 1", VLLM_ATTENTION_BACKEND="FLASH_ATTN", PATH="/bin")
    assert entry.severity == "warning"
    assert "use --attention-backend" in str(entry.problem)


def test_errors_come_first_and_name_their_source() -> None:
    entries = found(
        "modes:\n  - {kind: quantized_kv, format: int4_per_token_head}\nengine: {args: {dtype: bf16}}"
    )
    severities = [entry.severity for entry in entries]
    assert severities == sorted(severities, key=["error", "ineffective", "warning"].index)
    assert [entry.source for entry in entries if entry.severity == "ineffective"] != [None]


def check(text: str, *, allow_ineffective: bool = False) -> list[str]:
    document = parse(f"name: x\n{text}\n", "x.yaml")
    deployment = validate(document, Deployment)
    context = engine_context(deployment, device="cpu", version="0.32.0", model=SMOLLM2)
    said = check_startable(deployment, document, context, allow_ineffective=allow_ineffective)
    return [str(problem) for problem in said]


def test_not_startable_is_a_failure_and_not_a_wrong_file() -> None:
    with pytest.raises(Failed) as caught:
        check("engine: {args: {dtype: bf16}}")
    assert caught.value.exit_code == EXIT_FAILED


def test_what_would_do_nothing_is_refused_unless_it_is_allowed() -> None:
    text = "modes: [{kind: quantized_kv, format: int4_per_token_head}]"
    with pytest.raises(Failed, match="int4_per_token_head"):
        check(text)
    assert any("int4_per_token_head" in said for said in check(text, allow_ineffective=True))


def test_a_warning_starts() -> None:
    assert any("scale" in said for said in check("modes: [{kind: quantized_kv, format: fp8}]"))


def test_flags_of_an_unread_version_are_not_judged() -> None:
    assert rejected_settings([Setting("--frobnicate", None, "x")], "0.9.1") == []


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_the_version_takes_every_flag_of_every_shipped_deployment(file: Path, device: Device) -> None:
    deployment, document = load_deployment(file)
    shared = engine_context(deployment, device=device, version=VERSIONS[device], model=None)
    contexts = engine_contexts(shared, engine_slots(deployment, None, device=device))
    for entry in startup_problems(deployment, document, *contexts):
        assert " of vLLM " not in entry.problem.what
