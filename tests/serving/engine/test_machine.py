from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from serving.engine.commands import Ran
from serving.engine.machine import QUERY, cpp_compiler, ipv4_interfaces, read_machine
from serving.modes.mode import Accelerator

MIB = 1048576
NVIDIA = ("NVIDIA H100 80GB HBM3, 81559, 80995", "NVIDIA A100-SXM4-40GB, 40960, 512", "[N/A], [N/A], [N/A]")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("proc", "dev/shm", "sys/devices/system/node/node0", "sys/devices/system/node/node1"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "sys/devices/system/node/online").write_text("0-1")
    (tmp_path / "proc/meminfo").write_text("MemTotal:  100 kB\nMemFree: 10 kB\nMemAvailable:   64 kB\n")
    return tmp_path


def runner(ran: Ran) -> Callable[..., Ran]:
    asked: list[object] = []

    def run(argv, **_):
        asked.append(tuple(argv))
        assert asked == [QUERY]
        return ran

    return run


def test_cores_nodes_and_memory_are_the_kernels(root: Path) -> None:
    facts = read_machine(accelerators=False, root=root, cores=lambda: frozenset({3, 1}))
    assert facts.cores == (1, 3)
    assert facts.numa_nodes == 2
    assert facts.memory_available_bytes == 65536
    assert facts.shared_memory_free_bytes > 0
    assert facts.accelerators == ()


def test_gpus_are_what_nvidia_smi_lists(root: Path) -> None:
    facts = read_machine(accelerators=True, root=root, runner=runner(Ran(0, NVIDIA)))
    assert facts.accelerators == (
        Accelerator("NVIDIA H100 80GB HBM3", 81559 * MIB, 80995 * MIB),
        Accelerator("NVIDIA A100-SXM4-40GB", 40960 * MIB, 512 * MIB),
    )


def test_no_nvidia_smi_is_no_gpu(root: Path) -> None:
    ran = Ran(127, ("nvidia-smi: not found",))
    assert read_machine(accelerators=True, root=root, runner=runner(ran)).accelerators == ()


def test_a_machine_that_tells_nothing_has_one_node_and_no_memory(tmp_path: Path) -> None:
    facts = read_machine(accelerators=False, root=tmp_path)
    assert (facts.numa_nodes, facts.memory_available_bytes, facts.shared_memory_free_bytes) == (1, 0, 0)


def test_this_machine_has_cores_and_memory() -> None:
    facts = read_machine(accelerators=False)
    assert facts.cores == tuple(sorted(os.sched_getaffinity(0)))
    assert facts.memory_available_bytes > 10**8


@pytest.mark.parametrize(
    ("there", "environ", "found"),
    [
        (("g++", "clang++", "c++"), {}, "g++"),
        (("clang++", "c++"), {}, "clang++"),
        (("c++",), {}, "c++"),
        ((), {}, None),
        (("g++", "/opt/g++-13"), {"CXX": "/opt/g++-13"}, "/opt/g++-13"),
        (("g++",), {"CXX": "/opt/g++-13"}, None),
    ],
)
def test_the_compiler_is_cxx_or_the_first_that_is_there(
    there: tuple[str, ...], environ: dict[str, str], found: str | None
) -> None:
    assert cpp_compiler(environ, lambda name: name if name in there else None) == found


def test_loopback_has_its_address() -> None:
    assert ipv4_interfaces()["127.0.0.1"] == "lo"


def test_addresses_are_among_the_facts(root: Path) -> None:
    facts = read_machine(accelerators=False, root=root, interfaces=lambda: {"10.0.0.1": "eth0"})
    assert facts.interfaces == {"10.0.0.1": "eth0"}
