"""Problems of KV transfer, in their words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.problem_cases import CPU, GPU, LLAMA_1B
from pydantic import ValidationError

from serving.modes.disaggregated import Disaggregated
from serving.modes.mode import EngineSlot
from serving.modes.problems import all_problems


def pair(**connector: object) -> Disaggregated:
    return Disaggregated.model_validate({"connector": {"kind": "nixl", **connector}})


def test_engines_that_differ_name_in_what() -> None:
    other = replace(GPU, version="0.32.0", draft=LLAMA_1B, slot=EngineSlot("decode-0", "decode"))
    here = replace(GPU, slot=EngineSlot("prefill-0", "prefill"), peers=(other,))
    [finding] = all_problems([pair()], here)
    assert finding.what == "engines prefill-0 and decode-0 differ in vLLM's version, the draft"


def test_a_pair_on_two_cores_has_no_problem() -> None:
    assert all_problems([pair()], CPU) == ()


@pytest.mark.parametrize(
    ("connector", "message"),
    [
        ({"kind": "P2pNcclConnector"}, "P2pNcclConnector is gone from vLLM; use NixlConnector"),
        ({"kind": "PyNcclConnector"}, "is gone from vLLM; use NixlConnector"),
        ({"kind": "SharedStorageConnector"}, "is gone from vLLM; use ExampleConnector"),
        ({"kind": "NixlConnector"}, "did you mean 'nixl'"),
        ({"kind": "nixel"}, "'nixel' is not known; did you mean 'nixl'"),
        ({"kv_rank": 0}, "'kv_rank' is not a key of a connector; leave it out"),
        ({"kv_parallel_size": 2}, "any number of engines may take part"),
        ({"kv_ip": "10.0.0.1"}, "'kv_ip' is not a key of a connector; leave it out"),
        ({"kv_role": "kv_both"}, "teapot knows which engine prefills"),
    ],
)
def test_words_that_vllm_gave_up_or_teapot_decides_say_what_to_use(connector: dict, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        pair(**connector)
