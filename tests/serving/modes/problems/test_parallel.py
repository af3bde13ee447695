"""Problems of parallelism, in their words."""

from __future__ import annotations

from dataclasses import replace

from fakes.problem_cases import CPU, GPU, LLAMA_8B

from serving.modes.mode import EngineSlot
from serving.modes.parallel import Parallel
from serving.modes.problems import all_problems


def test_nine_heads_name_the_degrees_that_would_do() -> None:
    [finding] = all_problems([Parallel(tensor=2)], CPU)
    assert finding.what == "9 attention heads cannot be shared by 2 tensor-parallel ranks"
    assert finding.fix == "set tensor to one of 1, 3, 9"


def test_an_engine_with_one_core_has_room_for_one_rank() -> None:
    alone = replace(CPU, model=LLAMA_8B, slot=EngineSlot(cores=(1,)))
    [finding] = all_problems([Parallel(tensor=2)], alone)
    assert finding.what == "2 ranks need a core each, and there are 1"


def test_copies_need_devices_of_their_own() -> None:
    [finding] = all_problems([Parallel(tensor=2, data=4)], GPU)
    assert finding.what == "8 ranks need a GPU each, and this engine has 4"


def test_nodes_share_the_ranks() -> None:
    assert all_problems([Parallel(tensor=8, nnodes=2, master_addr="10.0.0.1")], GPU) == ()
