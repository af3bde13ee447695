"""Problems of parallelism, in their words."""

from __future__ import annotations

from dataclasses import replace

from fakes.problem_cases import CPU, GPU

from serving.modes.parallel import Parallel
from serving.modes.problems import all_problems


def test_nine_heads_name_the_degrees_that_would_do() -> None:
    [finding] = all_problems([Parallel(tensor=2)], CPU)
    assert finding.what == "9 attention heads cannot be shared by 2 tensor-parallel ranks"
    assert finding.fix == "set tensor to one of 1, 3, 9"


def test_kv_heads_must_divide_the_ranks_or_be_divided_by_them() -> None:
    assert GPU.model is not None
    # As Qwen2.5-7B has them: vLLM ends at its start with 7 ranks, and takes 28.
    model = replace(GPU.model, attention_heads=28, kv_heads=4)
    [finding] = all_problems([Parallel(tensor=7)], replace(GPU, model=model))
    assert finding.what == "4 KV heads cannot be shared by 7 tensor-parallel ranks"
    assert finding.fix == "set tensor to one of 1, 2, 4, 28"
    assert finding.severity == "error"


def test_nodes_share_the_ranks() -> None:
    assert all_problems([Parallel(tensor=8, nnodes=2, master_addr="10.0.0.1")], GPU) == ()
