"""Problems with the limits of model and machine, in their words."""

from __future__ import annotations

from dataclasses import replace

from fakes.problem_cases import BUSY_GPU, CPU, FREE_GPU, GPU, GPUS

from serving.modes.mode import EngineSlot
from serving.modes.problems import all_problems

BUSY = replace(GPU, machine=replace(GPUS, accelerators=(BUSY_GPU,)))


def test_a_busy_gpu_names_the_share_that_is_free() -> None:
    # 7 of 80 GiB are free: 0.0875, of which 0.08 surely fits. vLLM asks for 0.92 of the total.
    [finding] = all_problems([], BUSY)
    assert finding.what == "GPU 0 (H100) has 7.0 of 80.0 GiB free, and 0.92 of all is asked for"
    assert finding.fix.endswith("set gpu_memory_utilization to 0.08 or less")


def test_only_the_gpus_of_the_engine_must_be_free() -> None:
    machine = replace(GPUS, accelerators=(BUSY_GPU, FREE_GPU))
    assert all_problems([], replace(GPU, machine=machine, slot=EngineSlot(devices=(1,)))) == ()


def test_engines_on_one_machine_share_its_memory() -> None:
    large = replace(CPU, kv_cache_bytes=12 * 1024**3)
    assert all_problems([], large) == ()
    [finding] = all_problems([], replace(large, peers=(large,)))
    assert finding.what == "KV caches of 24.0 GiB do not fit the 20.0 GiB of memory that are free"
