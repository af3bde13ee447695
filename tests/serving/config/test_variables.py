"""The environment of an engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from serving.config.flags import engine_context
from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.config.variables import dropped, engine_variables, env_problems, spelt
from serving.modes.mode import Device, EngineSlot, MachineFacts, Setting

ALONE = EngineSlot()


def variables(
    text: str,
    slot: EngineSlot = ALONE,
    device: Device = "cpu",
    machine: MachineFacts | None = None,
    **inherited: str,
) -> dict[str, Setting]:
    document = parse(f"name: x\n{text}\n", "x.yaml")
    deployment = validate(document, Deployment)
    context = engine_context(deployment, device=device, version="0.32.0", model=None)
    context = replace(context, slot=slot, inherited=inherited, machine=machine)
    found = engine_variables(deployment, document, context, {"HF_HOME": "/hf"}, offline=False)
    return {setting.name: setting for setting in found}


def test_a_file_may_set_variables_and_change_those_of_folders() -> None:
    found = variables("engine: {env: {NCCL_DEBUG: INFO, HF_HOME: /other, VLLM_LOGGING_COLOR: false}}")
    assert found["NCCL_DEBUG"] == Setting("NCCL_DEBUG", "INFO", "x.yaml:2: engine.env.NCCL_DEBUG")
    assert found["HF_HOME"].value == "/other"
    assert found["VLLM_LOGGING_COLOR"].value == "0"


def test_numbers_and_truth_are_spelt_as_programs_read_them() -> None:
    assert [spelt(value) for value in (True, False, 3, 0.5, "x")] == ["1", "0", "3", "0.5", "x"]


def test_the_slots_cores_are_bound_whoever_chose_them() -> None:
    shared = variables("replicas: 2", EngineSlot("x-1", index=1, cores=(2, 3)))["VLLM_CPU_OMP_THREADS_BIND"]
    assert (shared.value, shared.source) == ("2-3", "teapot: the share of x-1")
    ranked = variables("modes: [{kind: parallel, tensor: 2}]", EngineSlot("x-0", cores=(0, 1)))
    assert ranked["VLLM_CPU_OMP_THREADS_BIND"].value == "0|1"
    assert "VLLM_CPU_OMP_THREADS_BIND" not in variables("replicas: 1")


def test_a_gpu_engine_sees_its_own_devices_only() -> None:
    slot = EngineSlot("x-1", devices=(2, 3))
    found = variables("replicas: 2", slot, "cuda")
    assert found["CUDA_VISIBLE_DEVICES"].value == "2,3"
    assert "VLLM_CPU_KVCACHE_SPACE" not in found


def test_devices_are_counted_among_those_that_teapot_may_see() -> None:
    found = variables("replicas: 2", EngineSlot("x-1", devices=(1,)), "cuda", CUDA_VISIBLE_DEVICES="4,6")
    assert found["CUDA_VISIBLE_DEVICES"].value == "6"


def test_a_mode_may_not_be_overruled_by_the_file() -> None:
    pair = "modes: [{kind: disaggregated, connector: {kind: nixl}}]\nengine: {env: {UCX_TLS: rc}}"
    slot = EngineSlot("x-prefill-0", role="prefill", side_channel_port=5600)
    assert variables(pair, slot)["UCX_TLS"].source == "x.yaml:2: modes[0]"


def test_inherited_values_are_kept_away_unless_they_are_set_anyway() -> None:
    bound = (Setting("VLLM_CPU_OMP_THREADS_BIND", "0", "x"),)
    assert dropped(bound) == ("VLLM_CPU_KVCACHE_SPACE", "VLLM_API_KEY")


@pytest.mark.parametrize(
    ("name", "what", "fix"),
    [
        ("A B", "is not a variable's name", "write it like VLLM_LOGGING_LEVEL: DEBUG"),
        ("TMPDIR", "TMPDIR is decided by teapot", "each engine is given its own"),
        (
            "VLLM_USE_V1",
            "VLLM_USE_V1 is no variable of vLLM 0.32.0 or 0.33.0",
            "leave it out: there is one engine",
        ),
    ],
)
def test_what_a_file_may_not_set_is_refused_with_a_way_out(name: str, what: str, fix: str) -> None:
    assert list(env_problems({name: "1"})) == [(name, what, fix)]


def test_a_value_that_no_process_can_be_given_is_refused() -> None:
    [(name, what, _)] = env_problems({"A": "x\0y"})
    assert (name, what) == ("A", "holds a NUL, which no variable of a process can")


def test_other_programs_variables_are_the_users_own() -> None:
    assert list(env_problems({"NCCL_DEBUG": "INFO", "VLLM_LOGGING_LEVEL": "DEBUG"})) == []


def test_the_interface_between_machines_is_the_files_before_it_is_the_addresses() -> None:
    mode = "modes: [{kind: parallel, tensor: 2, hosts: [10.0.0.1, 10.0.0.2]}]"
    machine = MachineFacts((0,), 1, 2**34, 2**34, interfaces={"10.0.0.1": "eth0"})
    assert variables(mode, machine=machine)["GLOO_SOCKET_IFNAME"].value == "eth0"
    said = variables(f"engine: {{env: {{GLOO_SOCKET_IFNAME: ib0}}}}\n{mode}", machine=machine)
    assert said["GLOO_SOCKET_IFNAME"].value == "ib0"
