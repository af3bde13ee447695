from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from serving.engine.commands import Ran
from serving.engine.devices import nvidia_driver_answers, resolve_device
from serving.errors import Failed

NOWHERE = Path("/no/such/file")


def smi(code: int, *lines: str) -> Any:
    def runner(argv: Sequence[str], **_: Any) -> Ran:
        assert argv == ["nvidia-smi", "-L"]
        return Ran(code, lines)

    return runner


def test_a_listed_gpu_is_a_driver_that_answers() -> None:
    assert nvidia_driver_answers(smi(0, "GPU 0: NVIDIA L4 (UUID: GPU-1)"), NOWHERE)


def test_a_driver_that_does_not_answer_or_is_not_there_is_none() -> None:
    assert not nvidia_driver_answers(smi(9, "NVIDIA-SMI has failed"), NOWHERE)
    assert not nvidia_driver_answers(smi(0, "No devices found."), NOWHERE)
    assert not nvidia_driver_answers(smi(127, "No such file"), NOWHERE)


def test_the_kernels_word_is_enough(tmp_path: Path) -> None:
    (tmp_path / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module")
    assert nvidia_driver_answers(smi(127), tmp_path / "version")


@pytest.mark.parametrize(("has_nvidia", "device"), [(True, "cuda"), (False, "cpu")])
def test_auto_takes_cuda_where_a_driver_answers(has_nvidia: bool, device: str) -> None:
    assert resolve_device("auto", has_nvidia=has_nvidia) == device


def test_cpu_is_had_on_a_gpu_machine_too() -> None:
    assert resolve_device("cpu", has_nvidia=True) == "cpu"


def test_cuda_without_a_driver_is_refused_unless_forced() -> None:
    with pytest.raises(Failed, match="no NVIDIA driver answers"):
        resolve_device("cuda", has_nvidia=False)
    assert resolve_device("cuda", has_nvidia=False, force=True) == "cuda"
