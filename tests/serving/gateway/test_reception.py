"""Who is let in, and what counts against a key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from serving.gateway.answers import Refused
from serving.gateway.caller import Caller
from serving.gateway.keys import KeyEntry, KeySet, digest_of
from serving.gateway.outcome import Exchange, Outcome
from serving.gateway.reception import Reception, tokens_used

ALICE = KeyEntry("alice", digest_of("a" * 20), requests_per_minute=2, tokens_per_minute=100)


def outcome(**changes: object) -> Outcome:
    ended = Exchange("r", "/p", accepted_ns=0, kind="ok", status=200).outcome(1)
    return ended._replace(**changes)  # type: ignore[arg-type]


def reception(*entries: KeyEntry, share: float = 1.0) -> Reception:
    keys = KeySet(entries)
    return Reception(lambda: keys, lambda: 0.0, share=share)


def test_without_keys_everyone_is_let_in() -> None:
    open_house = Reception(None, lambda: 0.0)
    for _ in range(100):
        guest = open_house.admit(open_house.recognise(None), 10**6)
        assert guest.caller == Caller(None, None)
        open_house.settle(guest, outcome())


@pytest.mark.parametrize(
    ("header", "code"),
    [(None, "missing_api_key"), ("Basic x", "missing_api_key"), ("Bearer wrong", "invalid_api_key")],
)
def test_a_missing_or_wrong_key_is_a_401_that_does_not_repeat_it(header: str | None, code: str) -> None:
    with pytest.raises(Refused) as caught:
        reception(ALICE).recognise(header)
    refused = caught.value
    assert (refused.status, refused.code, refused.kind) == (401, code, "rejected")
    assert refused.headers == {"WWW-Authenticate": 'Bearer realm="teapot"'}
    assert "wrong" not in refused.message


def test_a_request_over_the_rate_is_a_429_that_says_when_to_come_back() -> None:
    desk = reception(ALICE)
    guest = desk.recognise("Bearer " + "a" * 20)
    assert guest.caller == Caller("alice", ALICE.key_id)
    desk.admit(guest, 4)
    desk.admit(guest, 4)
    with pytest.raises(Refused) as caught:
        desk.admit(guest, 4)
    # 2 a minute: the next in 30 s.
    assert (caught.value.status, caught.value.code) == (429, "rate_limit_exceeded")
    assert caught.value.headers == {"Retry-After": "30"}
    assert "'alice' is over its 2 requests a minute" in caught.value.message


def test_tokens_are_put_right_by_what_the_engine_says() -> None:
    entry = replace(ALICE, requests_per_minute=None)
    desk = reception(entry)
    guest = desk.admit(desk.recognise("Bearer " + "a" * 20), 40)
    assert guest.estimate == 10
    desk.settle(guest, outcome(tokens_in=50, tokens_out=49))
    again = desk.recognise("Bearer " + "a" * 20)
    desk.admit(again, 4)
    with pytest.raises(Refused, match="over its 100 tokens a minute"):
        desk.admit(again, 4)


def test_each_of_several_processes_gives_out_its_share() -> None:
    entry = replace(ALICE, requests_per_minute=8, tokens_per_minute=None)
    desk = reception(entry, share=1 / 4)
    guest = desk.recognise("Bearer " + "a" * 20)
    desk.admit(guest, 0)
    desk.admit(guest, 0)
    with pytest.raises(Refused, match="over its 8 requests a minute"):
        desk.admit(guest, 0)


@pytest.mark.parametrize(
    ("changes", "tokens"),
    [
        ({"tokens_in": 7, "tokens_out": 5, "bytes_in": 4000}, 12),
        ({"bytes_in": 400, "bytes_out": 80}, 120),
        ({"bytes_in": 400, "bytes_out": 2560, "streamed": True}, 110),
        ({"bytes_in": 400, "bytes_out": 2560, "streamed": True, "kind": "client_gone"}, 110),
        ({"status": 400, "bytes_in": 400}, 0),
        ({"status": None, "bytes_in": 400, "kind": "client_gone"}, 0),
    ],
)
def test_what_a_request_counts_for(changes: dict[str, object], tokens: int) -> None:
    assert tokens_used(outcome(**changes)) == tokens
