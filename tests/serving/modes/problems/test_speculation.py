"""Problems of speculative decoding, in their words."""

from __future__ import annotations

from dataclasses import replace

from fakes.problem_cases import CPU, GPU, LLAMA_1B, QWEN_SMALL, SMOLLM2

from serving.modes.problems import all_problems
from serving.modes.speculative import Speculative

DRAFT = Speculative(method="draft_model", model="draft", tokens=3)


def test_a_draft_with_another_vocabulary_is_told_by_both_sizes() -> None:
    [finding] = all_problems([DRAFT], replace(GPU, draft=QWEN_SMALL))
    assert finding.what == "qwen3-0.6b has 151,936 tokens, llama-8b has 128,256"


def test_a_draft_of_the_same_family_has_no_problem() -> None:
    assert all_problems([DRAFT], replace(GPU, draft=LLAMA_1B)) == ()


def test_a_model_that_drafts_for_itself_is_only_warned_of() -> None:
    [finding] = all_problems([DRAFT], replace(CPU, draft=SMOLLM2))
    assert finding.severity == "warning"
    assert "as large as smollm2-135m" in finding.what
