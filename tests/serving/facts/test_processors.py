"""Peak rates of CPUs, by hand from cores, clock and the operations of an instruction."""

from __future__ import annotations

import pytest

from serving.facts.load import processors
from serving.facts.processors import Processor

XEON = Processor("Xeon", 2.1e9, frozenset({"avx2", "avx512f", "avx512_bf16", "amx_bf16"}))


def test_the_widest_instructions_of_a_core_make_its_peak() -> None:
    found = processors().rates(XEON, cores=2, memory_bytes=2**34)
    assert found is not None
    # TDPBF16PS: 16 x 16 x 32 products and sums in 16 cycles; 2 cores at 2.1 GHz.
    assert found.bf16_flops == pytest.approx(2 * 2.1e9 * 2 * 16 * 16 * 32 / 16)
    assert found.bandwidth_bytes_per_s == 40e9
    assert (found.title, found.rates_kind) == ("Xeon, 2 cores with amx_bf16", "default")
    assert "2.1 GHz" in found.source


def test_many_cores_share_the_memory_of_one_machine() -> None:
    found = processors().rates(XEON, cores=64, memory_bytes=2**34)
    assert found is not None
    assert found.bandwidth_bytes_per_s == 300e9


def test_a_processor_without_known_instructions_has_no_rates() -> None:
    assert processors().rates(Processor("old", 1e9, frozenset({"sse2"})), cores=1, memory_bytes=1) is None


def test_every_row_has_a_source_and_the_rows_fall() -> None:
    rows = processors().instructions
    assert all(row.source and row.date for row in rows)
    x86 = [row.flops_per_cycle for row in rows if row.flag.startswith(("amx", "avx"))]
    assert x86 == sorted(x86, reverse=True)
