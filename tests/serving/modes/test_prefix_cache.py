"""Prefix caching: flags and evidence."""

from __future__ import annotations

from serving.modes.mode import EngineContext, Observation
from serving.modes.prefix_cache import PrefixCache

HITS = ("vllm:prefix_cache_hits_total", (("engine", "0"), ("model_name", "smollm2-135m")))


def seen(hits: float | None, label: str = "True") -> Observation:
    after = {} if hits is None else {HITS: 1000.0 + hits}
    before = {} if hits is None else {HITS: 1000.0}
    return Observation(before, after, {"enable_prefix_caching": label, "block_size": "128"})


def test_both_directions_are_said_to_the_engine(on_cpu: EngineContext) -> None:
    assert PrefixCache().flags(on_cpu) == (("--enable-prefix-caching", None),)
    assert PrefixCache(enabled=False).flags(on_cpu) == (("--no-enable-prefix-caching", None),)


def test_a_hash_becomes_its_flag(on_cpu: EngineContext) -> None:
    assert PrefixCache(hash="sha256_cbor").flags(on_cpu)[1] == ("--prefix-caching-hash-algo", "sha256_cbor")


def test_hits_on_the_repeated_prompt_show_that_it_is_on(on_cpu: EngineContext) -> None:
    verdict = PrefixCache().verdict(seen(384), on_cpu)
    assert verdict.in_effect is True
    assert verdict.evidence == "384 prompt tokens of the repeated prompt came from the cache (blocks of 128)"


def test_no_hit_shows_that_it_is_not_on_whatever_the_label_says(on_cpu: EngineContext) -> None:
    verdict = PrefixCache().verdict(seen(0), on_cpu)
    assert verdict.in_effect is False
    assert "enable_prefix_caching=True" in verdict.evidence


def test_a_missing_counter_shows_nothing(on_cpu: EngineContext) -> None:
    assert PrefixCache().verdict(seen(None), on_cpu).in_effect is None
    assert PrefixCache(enabled=False).verdict(seen(None, "False"), on_cpu).in_effect is None


def test_off_needs_no_hits_and_the_engine_saying_so(on_cpu: EngineContext) -> None:
    off = PrefixCache(enabled=False)
    assert off.asked() == "off"
    assert off.verdict(seen(0, "False"), on_cpu).in_effect is True
    assert off.verdict(seen(0, "True"), on_cpu).in_effect is False
    assert off.verdict(seen(128, "False"), on_cpu).in_effect is False
