"""This machine's CPU as a device, from files like the kernel's."""

from __future__ import annotations

from pathlib import Path

from fakes.plan_options import options

from deploy.plan_cpu import cpu_device, read_processor, this_cpu

# The first lines of /proc/cpuinfo of a virtual machine, flags left out but for some.
CPUINFO = """processor\t: 0
model name\t: Intel(R) Xeon(R) Processor
cpu MHz\t\t: 2100.000
flags\t\t: fpu avx2 avx512f amx_bf16

processor\t: 1
model name\t: another
cpu MHz\t\t: 1000.000
"""
ARM = "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd bf16\n"


def machine(folder: Path, cpuinfo: str, khz: str | None = None) -> Path:
    (folder / "proc").mkdir()
    (folder / "proc/cpuinfo").write_text(cpuinfo)
    if khz:
        clock = folder / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"
        clock.parent.mkdir(parents=True)
        clock.write_text(khz)
    return folder


def test_the_first_core_speaks_for_all(tmp_path: Path) -> None:
    found = read_processor(machine(tmp_path, CPUINFO))
    assert found is not None
    assert (found.title, found.hz) == ("Intel(R) Xeon(R) Processor", 2.1e9)
    assert "amx_bf16" in found.flags


def test_the_highest_clock_is_taken_where_the_kernel_tells_it(tmp_path: Path) -> None:
    found = read_processor(machine(tmp_path, ARM, "3400000\n"))
    assert found is not None
    assert found.hz == 3.4e9
    assert {"asimd", "bf16"} <= found.flags


def test_without_a_clock_or_any_file_nothing_is_assumed(tmp_path: Path) -> None:
    assert read_processor(tmp_path) is None
    assert read_processor(machine(tmp_path, ARM)) is None
    assert cpu_device(options("d.yaml"), cores=2, memory_bytes=1, root=tmp_path) is None


def test_rates_that_are_given_take_the_place_of_the_assumed(tmp_path: Path) -> None:
    root = machine(tmp_path, CPUINFO)
    one = cpu_device(options("d.yaml", "--bandwidth", "12"), cores=2, memory_bytes=1, root=root)
    assert one is not None
    assert (one.bandwidth_bytes_per_s, one.rates_kind) == (12e9, "default")
    assert one.source.startswith("--bandwidth 12; else ")
    words = ("d.yaml", "--bandwidth", "12", "--flops", "0.5")
    both = cpu_device(options(*words), cores=2, memory_bytes=1, root=tmp_path / "nowhere")
    assert both is not None
    assert (both.bf16_flops, both.rates_kind, both.source) == (5e11, "given", "--bandwidth 12, --flops 0.5")
    one = cpu_device(options("d.yaml", "--flops", "1"), cores=2, memory_bytes=1, root=tmp_path / "nowhere")
    assert one is None


def test_ranks_share_this_machine() -> None:
    words = ("--model", "m", "--device", "cpu", "--bandwidth", "12", "--flops", "0.5")
    whole, half = this_cpu(options(*words)), this_cpu(options(*words, "--tensor", "2"))
    assert half.memory_bytes < 0.6 * whole.memory_bytes
