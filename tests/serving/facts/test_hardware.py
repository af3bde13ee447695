"""The table of GPUs, and finding one by the names people and drivers use."""

from __future__ import annotations

import pytest

from serving.facts.hardware import close_gpus, find_gpu
from serving.facts.load import gpus


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("H100", "h100-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("a100_80gb", "a100-sxm"),
        ("mi300x", "mi300x"),
    ],
)
def test_a_device_is_found_by_its_names(name: str, wanted: str) -> None:
    found = find_gpu(name, gpus())
    assert found is not None
    assert found.name == wanted


def test_an_unknown_device_has_close_names() -> None:
    assert find_gpu("h10", gpus()) is None
    assert "h100-sxm" in close_gpus("h10", gpus())


def test_every_row_has_sane_rates_and_a_source() -> None:
    for gpu in gpus().values():
        assert 20e9 < gpu.memory_bytes < 400e9
        assert 1e11 < gpu.bandwidth_bytes_per_s < 1e13
        assert gpu.bf16_flops < (gpu.fp8_flops or 1e17)
        assert gpu.source
        assert gpu.date


def test_no_two_devices_answer_to_one_name() -> None:
    names = [name for gpu in gpus().values() for name in (gpu.name, *gpu.aliases)]
    assert len(names) == len(set(names))


def test_a_device_without_eight_bit_units_says_so() -> None:
    assert gpus()["a10"].fp8_flops is None
