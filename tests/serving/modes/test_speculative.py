"""Speculative decoding: which fields a method needs, the JSON it becomes, and its counters."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from serving.facts.load_flags import engine_flags
from serving.modes.mode import EngineContext, Observation
from serving.modes.speculative import Speculative

NGRAM = Speculative(method="ngram", tokens=4, prompt_lookup_max=4, prompt_lookup_min=2)
DRAFT = Speculative(method="draft_model", model="drafts/small", tokens=3)


def seen(drafts: float, drafted: float, accepted: float) -> Observation:
    counts = {"drafts": drafts, "draft_tokens": drafted, "accepted_tokens": accepted}
    after = {
        (f"vllm:spec_decode_num_{name}_total", (("engine", "0"),)): value for name, value in counts.items()
    }
    return Observation({}, after, {})


def config(mode: Speculative, context: EngineContext) -> Any:
    [(flag, value)] = mode.flags(context)
    assert flag == "--speculative-config"
    return json.loads(str(value))


def test_ngram_becomes_the_json_that_vllm_takes(on_cpu: EngineContext) -> None:
    # As run by hand with vLLM 0.32.0.
    assert config(NGRAM, on_cpu) == {
        "method": "ngram",
        "num_speculative_tokens": 4,
        "prompt_lookup_max": 4,
        "prompt_lookup_min": 2,
    }


def test_a_draft_is_given_by_the_folder_where_its_files_are(on_cpu: EngineContext) -> None:
    assert config(DRAFT, on_cpu)["model"] == "drafts/small"
    found = replace(on_cpu, paths={"drafts/small": "/srv/drafts/small"})
    assert config(DRAFT, found) == {
        "method": "draft_model",
        "model": "/srv/drafts/small",
        "num_speculative_tokens": 3,
    }


def test_a_drafts_own_limits_go_by_vllms_names(on_cpu: EngineContext) -> None:
    mode = Speculative(method="eagle3", model="heads", tokens=2, draft_tensor=1, draft_max_model_len=4096)
    given = config(mode, on_cpu)
    assert (given["draft_tensor_parallel_size"], given["max_model_len"]) == (1, 4096)


def test_mtp_may_draft_with_the_models_own_heads(on_cpu: EngineContext) -> None:
    assert config(Speculative(method="mtp", tokens=1), on_cpu) == {
        "method": "mtp",
        "num_speculative_tokens": 1,
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"method": "draft_model"}, "needs a `model`"),
        ({"method": "medusa"}, "needs a `model`"),
        ({"method": "ngram"}, "needs `prompt_lookup_max`"),
        ({"method": "ngram", "model": "x", "prompt_lookup_max": 4}, "leave `model` out"),
        ({"method": "suffix", "model": "x"}, "leave `model` out"),
        ({"method": "mtp", "prompt_lookup_max": 4}, "looks up no prompt"),
        ({"method": "ngram", "prompt_lookup_max": 2, "prompt_lookup_min": 4}, "exchange them"),
        ({"method": "ngram", "prompt_lookup_max": 2, "draft_tensor": 1}, "has no drafting model"),
    ],
)
def test_fields_that_do_not_fit_the_method_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Speculative(tokens=4, **fields)


def test_every_method_is_a_word_of_the_versions_that_have_it() -> None:
    methods = {"ngram", "ngram_gpu", "draft_model", "suffix", "eagle", "eagle3", "mtp", "medusa"}
    assert methods <= engine_flags()["0.32.0"].words["speculative_method"]
    assert methods - engine_flags()["0.33.0"].words["speculative_method"] == {"medusa"}


def test_drafted_tokens_show_it(on_cpu: EngineContext) -> None:
    # Seen of vLLM 0.32.0 with ngram: 8 drafted, 6 accepted in one answer.
    verdict = NGRAM.verdict(seen(2, 8, 6), on_cpu)
    assert (verdict.in_effect, verdict.warnings) == (True, ())
    assert verdict.evidence == "8 tokens drafted in 2 drafts, 6 accepted (75%)"


def test_drafts_of_which_none_is_accepted_are_in_effect_and_warned_of(on_cpu: EngineContext) -> None:
    verdict = DRAFT.verdict(seen(4, 12, 0), on_cpu)
    assert verdict.in_effect is True
    assert "only costs time" in verdict.warnings[0]


def test_a_look_up_that_found_nothing_shows_nothing_but_a_model_always_drafts(on_cpu: EngineContext) -> None:
    assert NGRAM.verdict(seen(0, 0, 0), on_cpu).in_effect is None
    assert DRAFT.verdict(seen(0, 0, 0), on_cpu).in_effect is False


def test_an_engine_without_the_counters_drafts_nothing(on_cpu: EngineContext) -> None:
    other = {("vllm:prompt_tokens_total", ()): 5.0}
    assert NGRAM.verdict(Observation({}, other, {}), on_cpu).in_effect is False
    assert NGRAM.verdict(Observation({}, {}, {}), on_cpu).in_effect is None


@pytest.mark.parametrize("version", ["0.32.0", "0.33.0"])
def test_every_way_of_a_version_to_speculate_is_decided_by_the_mode(version: str) -> None:
    ways = {flag.name for flag in engine_flags()[version].flags.values() if flag.name.startswith("--spec")}
    # It chooses a kernel of LoRA, and has nothing to do with speculation.
    assert ways - {"--specialize-active-lora"} == set(Speculative.owns)
