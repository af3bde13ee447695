"""Which engines there are, and what each gets of the machine."""

from __future__ import annotations

import pytest

from serving.config.layout import default_kv_cache_bytes, engine_slots, layout_problems, ranks
from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.modes.mode import Accelerator, Device, EngineSlot, MachineFacts

GIB = 1024**3
PAIR = "modes: [{kind: disaggregated, prefill: 1, decode: 2, connector: {kind: nixl}}]"
TWO_RANKS = "modes: [{kind: parallel, tensor: 2}]"


def machine(cores: int = 8, gpus: int = 0, free_bytes: int = 64 * GIB) -> MachineFacts:
    gpu = Accelerator("NVIDIA L4", 24 * GIB, 23 * GIB)
    return MachineFacts(tuple(range(cores)), 1, free_bytes, GIB, (gpu,) * gpus)


def deployment(text: str) -> Deployment:
    return validate(parse(f"name: demo\n{text}\n", "demo.yaml"), Deployment)


def slots(text: str, facts: MachineFacts | None = None, device: Device = "cpu") -> tuple[EngineSlot, ...]:
    return engine_slots(deployment(text), facts, device=device)


def problems(text: str, facts: MachineFacts, device: Device = "cpu") -> list[str]:
    document = parse(f"name: demo\n{text}\n", "demo.yaml")
    found = layout_problems(validate(document, Deployment), document, facts, device=device)
    return [str(problem) for problem in found]


def test_one_engine_has_the_whole_machine() -> None:
    assert slots("replicas: 1", machine()) == (EngineSlot("demo-0"),)


def test_replicas_share_the_cores_and_the_first_get_what_is_left_over() -> None:
    found = slots("replicas: 3", machine(cores=8))
    assert [(slot.name, slot.cores) for slot in found] == [
        ("demo-0", (0, 1, 2)),
        ("demo-1", (3, 4, 5)),
        ("demo-2", (6, 7)),
    ]
    assert {slot.side_channel_port for slot in found} == {None}


def test_a_disaggregated_deployment_has_both_roles_with_ports_far_apart() -> None:
    found = slots(PAIR, machine(cores=3))
    assert [(s.name, s.role, s.index, s.cores, s.side_channel_port) for s in found] == [
        ("demo-prefill-0", "prefill", 0, (0,), 5600),
        ("demo-decode-0", "decode", 0, (1,), 5700),
        ("demo-decode-1", "decode", 1, (2,), 5800),
    ]


def test_a_caller_may_give_free_ports() -> None:
    found = engine_slots(deployment(PAIR), machine(), device="cpu", ports=[41, 42, 43])
    assert [slot.side_channel_port for slot in found] == [41, 42, 43]


def test_beside_other_engines_each_gets_its_own_of_the_devices_that_are_free() -> None:
    text = f"replicas: 2\n{TWO_RANKS}"
    found = engine_slots(deployment(text), machine(gpus=8), device="cuda", free=(1, 3, 4, 6))
    assert [slot.devices for slot in found] == [(1, 3), (4, 6)]
    [alone] = engine_slots(deployment(TWO_RANKS), machine(gpus=8), device="cuda", free=(5, 7))
    assert alone.devices == (5, 7)


def test_a_count_of_cores_is_for_each_engine() -> None:
    found = slots("replicas: 2\nengine: {cores: 3}", machine(cores=8))
    assert [slot.cores for slot in found] == [(0, 1, 2), (3, 4, 5)]


def test_a_list_of_cores_is_shared_whatever_the_machine() -> None:
    assert [slot.cores for slot in slots("replicas: 2\nengine: {cores: [4, 6, 7]}")] == [(4, 6), (7,)]


def test_ranks_need_cores_that_are_named() -> None:
    assert ranks(deployment(TWO_RANKS)) == 2
    assert slots(TWO_RANKS, machine(cores=4))[0].cores == (0, 1, 2, 3)


def test_without_the_machine_no_core_is_given_away() -> None:
    assert [slot.cores for slot in slots("replicas: 2")] == [(), ()]


def test_too_few_cores_are_a_problem_and_not_a_wrong_share() -> None:
    assert [slot.cores for slot in slots("replicas: 3", machine(cores=2))] == [(), (), ()]
    assert problems("replicas: 3", machine(cores=2)) == [
        "demo.yaml:1: engine.cores: 3 engines need 3 cores and there are 2; "
        "ask for fewer engines or ranks, or for fewer cores each"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "engine: {cores: [1, 9]}",
            "demo.yaml:2: engine.cores: this process may not use core 9; the cores here are 0, 1, 2, 3",
        ),
        (
            f"engine: {{cores: 1}}\n{TWO_RANKS}",
            "demo.yaml:2: engine.cores: 1 cores an engine are fewer than its 2 ranks; give each at least 2",
        ),
        (
            "replicas: 2\nengine: {cores: 3}",
            "demo.yaml:3: engine.cores: 2 engines need 6 cores and there are 4; "
            "ask for fewer engines or ranks, or for fewer cores each",
        ),
    ],
)
def test_cores_that_cannot_be_given_are_said(text: str, problem: str) -> None:
    assert problems(text, machine(cores=4)) == [problem]


def test_devices_are_shared_by_ranks() -> None:
    text = f"replicas: 2\n{TWO_RANKS}"
    assert [slot.devices for slot in slots(text, machine(gpus=4), "cuda")] == [(0, 1), (2, 3)]
    assert [slot.devices for slot in slots(text, None, "cuda")] == [(0, 1), (2, 3)]
    assert [slot.cores for slot in slots(text, machine(gpus=4), "cuda")] == [(), ()]


def test_too_few_devices_are_said_where_engines_are_asked_for() -> None:
    assert problems("replicas: 3", machine(gpus=2), "cuda") == [
        "demo.yaml:2: replicas: 3 engines of 1 ranks need 3 devices and there are 2; "
        "ask for fewer engines or ranks"
    ]
    assert problems(PAIR, machine(gpus=2), "cuda") == [
        "demo.yaml:2: modes[0]: 3 engines of 1 ranks need 3 devices and there are 2; "
        "ask for fewer engines or ranks"
    ]
    assert problems("replicas: 3", machine(gpus=0), "cuda") == []


def test_ray_may_find_devices_on_other_machines_and_is_bound_to_none_here() -> None:
    text = "replicas: 2\nmodes: [{kind: parallel, tensor: 4, executor: ray}]"
    assert problems(text, machine(gpus=2), "cuda") == []
    assert [slot.devices for slot in slots(text, machine(gpus=8), "cuda")] == [(), ()]


def test_enough_is_no_problem() -> None:
    assert problems(PAIR, machine(cores=3)) == []
    assert problems(TWO_RANKS, machine(gpus=2), "cuda") == []


@pytest.mark.parametrize(
    ("text", "free_gib", "gives"),
    [("replicas: 1", 64, 2 * GIB), ("replicas: 2", 6, 3 * GIB // 2), ("replicas: 2", 0, GIB // 4)],
)
def test_kv_caches_that_nobody_sized_leave_half_of_the_memory_free(
    text: str, free_gib: int, gives: int
) -> None:
    assert default_kv_cache_bytes(deployment(text), machine(free_bytes=free_gib * GIB)) == gives


def test_an_unseen_machine_gets_the_usual_size() -> None:
    assert default_kv_cache_bytes(deployment("replicas: 8"), None) == 2 * GIB
