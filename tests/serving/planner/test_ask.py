"""vLLM's defaults of batches, by device."""

from __future__ import annotations

import pytest
from fakes.planning import ask

from serving.facts.load import gpus
from serving.planner.ask import Batch, default_batch
from serving.planner.weights import Ranks


@pytest.mark.parametrize(
    ("gpu", "wanted"),
    [("h100-sxm", (8192, 1024)), ("a100-sxm", (2048, 256)), ("b200", (16384, 1024)), ("l4", (2048, 256))],
)
def test_large_devices_that_are_no_a100_have_large_batches(gpu: str, wanted: tuple[int, int]) -> None:
    row = gpus()[gpu]
    assert default_batch(row, row.memory_bytes, "cuda", 1) == wanted


def test_a_cpu_has_batches_by_its_ranks() -> None:
    assert default_batch(None, 0, "cpu", 2) == (4096, 256)


def test_batches_are_no_larger_than_all_requests_together() -> None:
    assert ask(max_model_len=100, max_num_seqs=4).batch == Batch(400, 4)
    assert ask(max_num_batched_tokens=512).batch == Batch(512, 512)


def test_a_batch_is_in_flight_for_each_stage_and_one_ahead_but_on_a_cpu() -> None:
    assert ask(max_num_batched_tokens=1000).in_flight_tokens == 2000
    assert ask(max_num_batched_tokens=1000, ranks=Ranks(pipeline=4)).in_flight_tokens == 5000
    assert ask(max_num_batched_tokens=1000, device="cpu").in_flight_tokens == 1000


def test_a_block_has_sixteen_tokens_and_on_cpu_128() -> None:
    assert (ask().block_tokens, ask(device="cpu").block_tokens) == (16, 128)
