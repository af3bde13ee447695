"""From options to questions."""

from __future__ import annotations

import os

import pytest
from fakes.plan_options import options
from fakes.planning import shape

from deploy.planning import gpu_of, prices, spread_of, storage_of, variants
from serving.errors import UsageError
from serving.planner.weights import Ranks


def test_all_devices_share_every_layer_where_nothing_is_said_and_that_is_noted() -> None:
    found = spread_of(options("--count", "4"), shape())
    assert found.ranks == Ranks(4)
    assert "--tensor is not given" in (found.note or "")
    assert spread_of(options("--tensor", "2", "--data", "2"), shape()).ranks == Ranks(2, data=2)


@pytest.mark.parametrize("words", [("--count", "4", "--tensor", "3"), ("--count", "6", "--pipeline", "4")])
def test_degrees_that_do_not_make_the_count_are_an_error(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="--"):
        spread_of(options(*words), shape())


def test_an_unknown_device_is_an_error_with_close_names_and_the_way_around() -> None:
    with pytest.raises(
        UsageError, match=r"did you mean .*h100-sxm.*--gpu-memory 80GiB --bandwidth 3350 --flops 989"
    ):
        gpu_of(options("--gpu", "h10"))
    with pytest.raises(UsageError, match="no device is named"):
        gpu_of(options())


def test_a_device_can_be_given_by_its_figures() -> None:
    found = gpu_of(options("--gpu-memory", "40GiB", "--bandwidth", "1000", "--flops", "100"))
    assert (found.memory_bytes, found.bandwidth_bytes_per_s, found.bf16_flops) == (40 * 2**30, 1e12, 1e14)
    assert gpu_of(options("--gpu", "l4", "--gpu-memory", "20GiB")).memory_bytes == 20 * 2**30


def test_figures_that_are_given_of_a_known_device_take_the_place_of_the_tables() -> None:
    table = gpu_of(options("--gpu", "l4"))
    found = gpu_of(options("--gpu", "l4", "--bandwidth", "250", "--fp8-flops", "200"))
    assert (found.bandwidth_bytes_per_s, found.fp8_flops) == (250e9, 200e12)
    assert (found.bf16_flops, found.memory_bytes) == (table.bf16_flops, table.memory_bytes)
    assert found.source == f"--bandwidth, --fp8-flops; else {table.source}"


def test_a_device_by_some_of_its_figures_is_an_error_that_names_the_others() -> None:
    with pytest.raises(
        UsageError, match=r"^--gpu-memory: a device by its figures lacks --bandwidth and --flops; give --band"
    ):
        gpu_of(options("--gpu-memory", "24GiB"))


def test_a_storage_is_as_asked_else_as_the_checkpoint_has_it() -> None:
    from dataclasses import replace

    assert storage_of(None, shape()).name == "bf16"
    assert storage_of(None, replace(shape(), quantization="awq")).name == "awq"
    with pytest.raises(UsageError, match="--weight-format: 'fp7' is not known; did you mean 'fp8'"):
        storage_of("fp7", shape())


def test_variants_are_the_product_of_the_axes() -> None:
    asked = options("--gpu", "h100-sxm")
    found = variants(asked, gpu_of(asked), ["counts", "formats"])
    assert len(found) == 4 * 6
    assert found[0][0] == "x1 weights bf16, KV bf16"
    assert len(variants(asked, gpu_of(asked), ["gpus"])) > 10


def test_prices_are_by_device() -> None:
    assert prices(["H100=2.5"]) == {"h100-sxm": 2.5}
    for word in ("h100=much", "h100", "h100=-1", "h100=nan", "h100=inf"):
        with pytest.raises(UsageError, match=r"--price: .* is no price"):
            prices([word])
    with pytest.raises(UsageError, match="--price: 'h101' is not known"):
        prices(["h101=1"])


def test_more_ranks_of_one_cpu_share_its_memory_and_its_cores() -> None:
    args = options("--device", "cpu", "--bandwidth", "20", "--flops", "1")
    rows = variants(args, gpu_of(args), ["counts"])
    cores = len(os.sched_getaffinity(0))
    assert [label for label, _, _ in rows] == [f"x{count}" for count in (1, 2, 4, 8) if count <= cores]
    for count, (_, _, gpu) in zip((1, 2, 4, 8), rows, strict=False):
        # What is available changes meanwhile.
        assert gpu.memory_bytes == pytest.approx(rows[0][2].memory_bytes / count, rel=0.3)
    with pytest.raises(UsageError, match=f"{2 * cores} ranks and this machine has {cores} cores"):
        gpu_of(options("--device", "cpu", "--count", str(2 * cores)))
