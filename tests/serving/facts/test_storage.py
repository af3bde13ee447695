"""Bytes of stored weights against the known bytes a parameter."""

from __future__ import annotations

import pytest

from serving.facts.load import latent_storage, weight_storage
from serving.facts.storage import find_storage


@pytest.mark.parametrize(
    ("name", "each"),
    [
        ("bf16", 2.0), ("fp8_per_block", 1.00024), ("gptq", 0.5156), ("awq", 0.5195), ("mxfp4", 0.53125),
        ("nvfp4", 0.5625), ("fp8", 1.0),
    ],
)  # fmt: skip
def test_bytes_a_parameter_are_the_known_ones(name: str, each: float) -> None:
    size = weight_storage()[name].matrix_bytes(4096, 4096) / 4096**2
    assert size == pytest.approx(each, abs=5e-5)


def test_ragged_groups_have_a_scale_of_their_own() -> None:
    assert weight_storage()["fp8_per_block"].matrix_bytes(129, 129) == 129 * 129 + 4 * 4


def test_a_latent_of_deepseek_takes_656_bytes() -> None:
    assert latent_storage()["fp8_ds_mla"].token_bytes(512, 64) == 656


def test_aliases_are_found_and_belong_to_one() -> None:
    known = weight_storage()
    assert find_storage("bfloat16", known) is known["bf16"]
    assert find_storage("int3", known) is None
    names = [name for row in known.values() for name in (row.name, *row.aliases)]
    assert len(names) == len(set(names))
