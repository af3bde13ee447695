"""The parts of the page around its charts."""

from __future__ import annotations

from dataclasses import replace

from fakes.study_page import ratio, summary

from deploy.study.report import sections
from deploy.study.words import words


def test_the_words_come_with_what_limits_them():
    body = sections.words(summary())
    assert "FP8 KV doubled capacity: 93,184 -&gt; 186,368 tokens." in body
    assert "Starts were held" in body


def test_sentences_that_tell_nothing_from_chance_stand_behind_the_others():
    ratios = (ratio("fp8-kv", "output_tokens_per_s", "chat-16", 1.01),)
    said = words(summary(ratios=ratios, predictions=(), quality=()))
    undecided = [line for line in said if "not told from chance" in line]
    assert undecided  # the words of a study say it so
    body = sections.words(summary(words=said))
    assert "1 more that cannot be told from chance" in body
    assert body.index("cannot be told from chance") < body.index("1.01x")


def test_a_study_without_words_says_that_nothing_was_measured():
    assert "Nothing was measured" in sections.words(summary(words=(), notes=()))


def test_loads_that_are_not_valid_are_told_beside_what_they_gave():
    shown = sections.words(summary(doubts=("001-a-x: too few samples: 4 < 6",)))
    assert "<li>not valid: 001-a-x: too few samples: 4 &lt; 6</li>" in shown


def test_every_arm_is_told_with_its_state_its_change_and_its_proof(view):
    body = sections.arms(view)
    for name in ("plain (control)", "fp8-kv", "huge", "broken"):
        assert f'<th scope="row">{name}</th>' in body
    assert "kv fp8: in effect<small>186,368 tokens</small>" in body
    assert "on fp8-kv: <code>{&quot;modes&quot;" in body
    assert "ruled out</span><small>200 GiB of KV cache do not fit &lt;into&gt; 24 GiB</small>" in body


def test_an_arm_that_the_summary_does_not_tell_of_is_still_a_row(view):
    body = sections.arms(replace(view, summary=summary(arms=())))
    assert body.count("not told") == 8


def test_what_failed_is_a_row_with_the_end_of_its_log():
    body = sections.missing(summary())
    assert "007-broken" in body
    assert "<pre>9 heads &amp; 2</pre>" in body
    assert "not started: 200 GiB of KV cache do not fit &lt;into&gt; 24 GiB" in body


def test_that_nothing_failed_is_said_too():
    assert "Every arm that was asked for ran" in sections.missing(summary(missing=()))


def test_every_figure_is_in_the_table_with_the_cells_it_is_from():
    body = sections.figures(summary())
    assert f"All {len(summary().rows)} figures" in body
    assert "001-plain-chat-1" in body
    assert 'title="D accepted / D drafted tokens"' in body


def test_measures_are_defined_with_their_better_side():
    body = sections.definitions(summary())
    assert (
        "<dt>acceptance_ratio</dt><dd>acceptance: D accepted / D drafted tokens; higher is better</dd>"
        in body
    )


def test_the_manifest_has_seed_order_versions_and_what_engines_said(view):
    body = sections.manifest(view)
    assert '<th scope="row">seed</th><td class="text">7</td>' in body
    assert "one an arm, with all its repeats in it" in body
    assert "1: plain \u00b7 2: fp8-kv" in body
    assert "version: vllm" in body
    assert "two &lt;cores&gt;" in body
    assert "&quot;kv_cache_size_tokens&quot;: &quot;93184&quot;" in body
