"""Parallelism: flags, environment and evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from serving.modes.mode import EngineContext, EngineSlot, MachineFacts, Observation
from serving.modes.parallel import Parallel

RANK = "(Worker pid=2) INFO [parallel_state.py:1906] world_size={} rank={} local_rank={} backend=gloo"
CONFIG = "INFO Initializing a V1 LLM engine (v0.32.0) with config: m=1, tensor_parallel_size={}, x=1"


def seen(size: int, *ranks: int, alive: int | None = None, answered: bool = True) -> Observation:
    log = [RANK.format(size, rank, rank) for rank in ranks]
    return Observation({}, {}, {}, log, answers=("Paris.",) if answered else (), ranks=alive)


def test_only_degrees_above_one_become_flags(on_cpu: EngineContext) -> None:
    assert Parallel().flags(on_cpu) == ()
    assert Parallel(tensor=2, expert=True).flags(on_cpu) == (
        ("--tensor-parallel-size", "2"),
        ("--enable-expert-parallel", None),
    )
    assert Parallel(pipeline=2, data=2, executor="ray").flags(on_cpu) == (
        ("--pipeline-parallel-size", "2"),
        ("--data-parallel-size", "2"),
        ("--distributed-executor-backend", "ray"),
    )


def test_nodes_become_the_flags_that_were_run(on_cpu: EngineContext) -> None:
    # vLLM 0.32.0: --nnodes 2 --node-rank R --master-addr A --master-port P, and --headless where R is not 0.
    nodes = {"tensor": 2, "nnodes": 2, "master_addr": "10.0.0.1", "master_port": 29555}
    first = Parallel(**nodes)
    assert first.flags(on_cpu)[1:] == (
        ("--nnodes", "2"),
        ("--node-rank", "0"),
        ("--master-addr", "10.0.0.1"),
        ("--master-port", "29555"),
    )
    assert first.environment(on_cpu) == {"VLLM_HOST_IP": "10.0.0.1"}
    second = Parallel(node_rank=1, host_ip="10.0.0.2", **nodes)
    assert ("--headless", None) in second.flags(on_cpu)
    assert second.environment(on_cpu) == {"VLLM_HOST_IP": "10.0.0.2"}


HOSTS = ("10.0.0.1", "10.0.0.2")


def test_hosts_become_the_same_flags_and_each_machine_its_own_rank(on_cpu: EngineContext) -> None:
    mode = Parallel(tensor=2, hosts=HOSTS, master_port=29555)
    shared = (
        ("--nnodes", "2"),
        ("--node-rank", "0"),
        ("--master-addr", "10.0.0.1"),
        ("--master-port", "29555"),
    )
    assert mode.flags(on_cpu)[1:] == shared
    assert mode.asked() == "tensor=2, nnodes=2"
    second = Parallel(tensor=2, hosts=HOSTS, master_port=29555, node_rank=1)
    assert second.flags(on_cpu)[1:] == (
        ("--nnodes", "2"),
        ("--node-rank", "1"),
        ("--master-addr", "10.0.0.1"),
        ("--master-port", "29555"),
        ("--headless", None),
    )
    assert [node.address for node in mode.nodes()] == list(HOSTS)
    assert [node.flags for node in mode.nodes()] == [mode.flags(on_cpu)[1:], second.flags(on_cpu)[1:]]


def test_gloo_is_told_the_interface_that_has_the_own_address(
    on_cpu: EngineContext, small_machine: MachineFacts
) -> None:
    machine = replace(small_machine, interfaces={"127.0.0.1": "lo", "10.0.0.2": "eth1"})
    second = Parallel(tensor=2, hosts=HOSTS, node_rank=1)
    assert second.environment(replace(on_cpu, machine=machine)) == {
        "VLLM_HOST_IP": "10.0.0.2",
        "GLOO_SOCKET_IFNAME": "eth1",
    }
    first = Parallel(tensor=2, hosts=HOSTS)
    assert first.environment(replace(on_cpu, machine=machine)) == {"VLLM_HOST_IP": "10.0.0.1"}


def test_ray_places_the_ranks_itself_so_hosts_become_no_node_flags(on_cpu: EngineContext) -> None:
    mode = Parallel(tensor=8, hosts=HOSTS, executor="ray")
    assert mode.flags(on_cpu) == (
        ("--tensor-parallel-size", "8"),
        ("--distributed-executor-backend", "ray"),
    )
    assert mode.nodes() == ()
    assert mode.environment(on_cpu) == {"VLLM_HOST_IP": "10.0.0.1"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tensor": 2, "hosts": HOSTS, "nnodes": 2}, "hosts say how many nodes there are"),
        ({"tensor": 2, "hosts": ("10.0.0.1", "10.0.0.1")}, "name one twice"),
        ({"tensor": 3, "hosts": HOSTS}, "3 ranks cannot be shared by 2 nodes"),
        ({"tensor": 2, "hosts": ("gpu-1", "gpu-2")}, "'gpu-1' is no IP address"),
        ({"tensor": 2, "hosts": HOSTS, "node_rank": 2}, "count from 0"),
        ({"nnodes": 2, "tensor": 2}, "need a `master_addr`"),
        ({"node_rank": 1}, "one node needs no node_rank"),
        ({"nnodes": 2, "tensor": 2, "master_addr": "a", "node_rank": 2}, "count from 0"),
        ({"nnodes": 2, "tensor": 3, "master_addr": "a"}, "3 ranks cannot be shared by 2 nodes"),
    ],
)
def test_nodes_that_do_not_fit_together_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Parallel(**fields)


def test_ranks_on_cpu_get_cores_of_their_own(on_cpu: EngineContext, small_machine: MachineFacts) -> None:
    binding = "VLLM_CPU_OMP_THREADS_BIND"
    machine = replace(on_cpu, machine=small_machine)
    assert Parallel(tensor=2).environment(machine) == {binding: "0|1"}
    assert Parallel(tensor=2).environment(replace(on_cpu, slot=EngineSlot(cores=(4, 5, 6, 7)))) == {
        binding: "4-5|6-7"
    }


def test_one_rank_a_gpu_or_unknown_cores_are_left_alone(
    on_cpu: EngineContext, small_machine: MachineFacts
) -> None:
    machine = replace(on_cpu, machine=small_machine)
    assert Parallel().environment(machine) == {}
    assert Parallel(tensor=2).environment(replace(machine, device="cuda")) == {}
    assert Parallel(tensor=2).environment(on_cpu) == {}


def test_all_ranks_that_answer_show_it(on_cpu: EngineContext) -> None:
    verdict = Parallel(tensor=2).verdict(seen(2, 0, 1, alive=2), on_cpu)
    assert (verdict.asked, verdict.in_effect) == ("tensor=2", True)
    assert verdict.evidence == "ranks 0, 1 of a world of 2, 2 of 2 workers alive; 1 requests answered"


def test_workers_that_ray_placed_are_not_looked_for_here(on_cpu: EngineContext) -> None:
    mode = Parallel(tensor=2, executor="ray", hosts=HOSTS)
    assert mode.verdict(seen(2, 0, 1, alive=0), on_cpu).in_effect is True


def test_a_missing_rank_or_worker_is_not_in_effect(on_cpu: EngineContext) -> None:
    assert Parallel(tensor=2).verdict(seen(1, 0), on_cpu).in_effect is False
    assert Parallel(tensor=2).verdict(seen(2, 0), on_cpu).in_effect is False
    assert Parallel(tensor=2).verdict(seen(2, 0, 1, alive=1), on_cpu).in_effect is False


def test_ranks_without_an_answer_show_nothing(on_cpu: EngineContext) -> None:
    assert Parallel(pipeline=2).verdict(seen(2, 0, 1, answered=False), on_cpu).in_effect is None
    assert Parallel(tensor=2).verdict(Observation({}, {}, {}), on_cpu).in_effect is None


def test_of_two_nodes_this_one_shows_its_half(on_cpu: EngineContext) -> None:
    mode = Parallel(tensor=2, nnodes=2, master_addr="10.0.0.1")
    assert mode.verdict(seen(2, 0, alive=1), on_cpu).in_effect is True


def test_one_rank_is_judged_by_what_the_engine_says(on_cpu: EngineContext) -> None:
    alone = Parallel()
    assert alone.asked() == "one rank"
    assert alone.verdict(Observation({}, {}, {}, [CONFIG.format(1)]), on_cpu).in_effect is True
    assert alone.verdict(Observation({}, {}, {}, [CONFIG.format(2)]), on_cpu).in_effect is False
    assert alone.verdict(Observation({}, {}, {}), on_cpu).in_effect is None
