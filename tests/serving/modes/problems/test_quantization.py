"""Problems of quantization, in their words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.problem_cases import CPU, GPU, LLAMA_FP8, MIXTRAL

from serving.modes.problems import all_problems
from serving.modes.quantized_kv import QuantizedKv
from serving.modes.quantized_weights import QuantizedWeights


@pytest.mark.parametrize("name", ["int4_per_token_head", "turboquant_4bit_nc", "int8_per_token_head"])
def test_a_kv_format_that_is_only_faked_says_how_it_is_stored(name: str) -> None:
    [finding] = all_problems([QuantizedKv(format=name)], CPU)
    assert finding.severity == "ineffective"
    assert finding.what.endswith("is not really supported on cpu: stored at 1 byte an element")
    assert finding.fix == "use one of fp8, fp8_e4m3, fp8_e5m2"


def test_fp8_weights_on_cpu_name_what_works_there() -> None:
    [finding] = all_problems([QuantizedWeights(format="fp8")], CPU)
    assert (finding.severity, finding.what) == ("error", "weight format fp8 has no kernel on cpu")
    assert finding.fix == "use one of fp8_per_block, fp8_per_channel"


def test_int8_weights_of_a_dense_model_are_ineffective_wherever_it_runs() -> None:
    mode = QuantizedWeights(format="int8_per_channel_weight_only")
    for context in (CPU, GPU):
        [finding] = all_problems([mode], context)
        assert finding.severity == "ineffective"
        assert "quantizes 0 layers" in finding.what
    assert all_problems([mode], replace(GPU, model=MIXTRAL)) == ()


def test_a_quantized_checkpoint_served_as_it_is_has_no_problem() -> None:
    fp8 = replace(GPU, model=LLAMA_FP8)
    assert all_problems([QuantizedWeights(format="checkpoint")], fp8) == ()
    assert all_problems([QuantizedWeights(format="fp8")], fp8) == ()
    [finding] = all_problems([QuantizedWeights(format="mxfp8")], fp8)
    assert finding.what == "llama-8b-fp8 is already quantized (fp8), and mxfp8 contradicts it"
