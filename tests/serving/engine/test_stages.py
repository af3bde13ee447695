"""The stages are held against logs of a real vLLM 0.32.0 on CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.engine.stages import StartStage, stage_begun

LOGS = Path(__file__).parents[2] / "golden" / "engine_logs"


def stages_of(name: str) -> list[str]:
    found = [stage_begun(line) for line in (LOGS / name).read_text().splitlines()]
    return list(dict.fromkeys(stage.value for stage in found if stage))


def test_an_eager_start_has_no_compilation() -> None:
    assert stages_of("vllm-0.32.0-cpu-eager.log") == [
        "starting the engine core",
        "loading weights",
        "KV cache",
        "opening the API",
    ]


def test_a_compiled_start_compiles_and_warms_up_before_its_kv_cache() -> None:
    assert stages_of("vllm-0.32.0-cpu-compiled.log") == [
        "starting the engine core",
        "loading weights",
        "compiling",
        "warming up",
        "KV cache",
        "opening the API",
    ]


@pytest.mark.parametrize("line", ["", "INFO:     Waiting for application startup.", "KV cache layout."])
def test_other_lines_begin_nothing(line: str) -> None:
    assert stage_begun(line) is None


def test_capturing_graphs_on_a_gpu_is_warming_up() -> None:
    assert (
        stage_begun("Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):   0%|") is StartStage.WARMING_UP
    )
