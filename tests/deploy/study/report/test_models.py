"""The charts of public models: nothing was run for them."""

from __future__ import annotations

import pytest

from deploy.study.report.catalogue import footprints
from deploy.study.report.models import MOST_LINES, at_long, by_context, distinct
from serving.facts.load import kv_formats, public_models, weight_storage


@pytest.fixture(scope="module")
def catalogue():
    return footprints(public_models(), kv_formats(), weight_storage())


def test_the_cache_of_a_known_model_at_32k_is_in_the_table(catalogue):
    """Llama 3.1 8B: 131,072 B a token (golden record) x 32,768 = 4 GiB, half of it in FP8; 16,060,522,496 "
    "/ 4 GiB = 3.74."""
    rows = {line[0]: line for line in at_long(catalogue).rows}
    assert rows["meta-llama/Meta-Llama-3.1-8B"][3:6] == ("4 GiB", "2 GiB", "3.7")


def test_all_of_it_is_said_to_be_projected(catalogue):
    assert at_long(catalogue).tag == by_context(catalogue).tag == "projected"
    assert "bar look1 hollow" in at_long(catalogue).body


def test_lines_end_at_the_models_own_limit(catalogue, said):
    tips = [tip for tip in said(by_context(catalogue).body) if tip.startswith("deepseek-ai/DeepSeek-V3")]
    assert tips[-1].endswith("at 131,072 tokens, projected")  # of 163,840


def test_no_more_lines_than_markers_and_every_kind_among_them(catalogue):
    chosen = distinct(catalogue)
    assert len(chosen) == MOST_LINES
    assert {model.kind for model in chosen} == {model.kind for model in catalogue}
