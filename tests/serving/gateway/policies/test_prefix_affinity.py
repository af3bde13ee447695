"""Prefix affinity."""

from __future__ import annotations

from collections import Counter

from serving.gateway.policies.policy import Ask, Candidate
from serving.gateway.policies.prefix_affinity import BLOCK_BYTES, PrefixAffinity, block_hashes


def ask(prompt: str) -> Ask:
    return Ask(b'{"model":"m","messages":[{"role":"system","content":"' + prompt.encode() + b'"}]}')


def idle(*names: str) -> list[Candidate]:
    return [Candidate(name, 0) for name in names]


def test_requests_that_begin_alike_go_where_the_first_went() -> None:
    policy = PrefixAffinity()
    long = "x" * 5 * BLOCK_BYTES
    assert policy.choose(ask(long + "1"), [Candidate("a", 1), Candidate("b", 0)]).name == "b"
    assert policy.choose(ask(long + "2"), idle("a", "b")).name == "b"
    assert policy.choose(ask("y" * 5 * BLOCK_BYTES), idle("a", "b")).name == "a"


def test_the_longest_common_beginning_decides() -> None:
    policy = PrefixAffinity()
    shared = "s" * 3 * BLOCK_BYTES
    policy.choose(ask(shared + "p" * 3 * BLOCK_BYTES), idle("a"))
    policy.choose(ask(shared + "q" * 3 * BLOCK_BYTES), idle("b"))
    assert policy.choose(ask(shared + "p" * 3 * BLOCK_BYTES + "?"), idle("a", "b")).name == "a"
    assert policy.choose(ask(shared + "q" * 3 * BLOCK_BYTES + "?"), idle("a", "b")).name == "b"


def test_what_stands_before_the_messages_does_not_matter() -> None:
    messages = b'"messages":"' + b"m" * 4 * BLOCK_BYTES
    assert list(block_hashes(b'{"seed":1,' + messages)) == list(
        block_hashes(b'{"temperature":0.5,' + messages)
    )


def test_one_hot_prefix_spreads_and_starves_nobody() -> None:
    policy = PrefixAffinity()
    load: Counter[str] = Counter(a=0, b=0, c=0, d=0)
    for _ in range(400):
        candidates = [Candidate(name, load[name]) for name in "abcd"]
        load[policy.choose(ask("hot" * BLOCK_BYTES), candidates).name] += 1
    # 1.5 times the mean of 100, and one for rounding up.
    assert max(load.values()) <= 151
    assert min(load.values()) > 0


def test_memory_is_bounded_and_the_oldest_are_forgotten() -> None:
    policy = PrefixAffinity(max_entries=50)
    for number in range(500):
        policy.choose(ask(f"{number:05}" * 2 * BLOCK_BYTES), idle("a", "b"))
    assert len(policy) == 50


def test_a_backend_that_went_is_not_chosen_for_its_cache() -> None:
    policy = PrefixAffinity()
    policy.choose(ask("z" * 4 * BLOCK_BYTES), idle("gone"))
    assert policy.choose(ask("z" * 4 * BLOCK_BYTES), idle("a")).name == "a"


def test_a_short_body_goes_where_the_load_is_the_smallest() -> None:
    assert PrefixAffinity().choose(ask("hi"), [Candidate("a", 1), Candidate("b", 0)]).name == "b"
