"""Keys: made, kept as hashes, recognised."""

from __future__ import annotations

import pytest

from serving.gateway.keys import KeyEntry, KeySet, digest_of, hash_of, is_hash, new_key, offered_key

# The digest of "abc" from FIPS 180-2, appendix B.1.
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_what_is_kept_of_a_key_is_its_sha256() -> None:
    assert digest_of("abc") == ABC
    assert hash_of("abc") == f"sha256:{ABC}"


def test_a_key_is_found_by_itself_only() -> None:
    keys = KeySet([KeyEntry("alice", ABC), KeyEntry("bob", digest_of("bobs"))])
    found = keys.find("abc")
    assert found is not None
    assert (found.name, found.key_id) == ("alice", ABC[:12])
    for other in ("abd", "ab", "abcd", "", ABC, f"sha256:{ABC}", ABC[:12], "caf\udce9"):
        assert keys.find(other) is None


def test_a_digest_that_only_begins_alike_opens_nothing() -> None:
    keys = KeySet([KeyEntry("alice", ABC[:12] + "0" * 52)])
    assert keys.find("abc") is None


def test_a_new_key_has_all_its_random_bits_and_needs_no_quoting() -> None:
    assert new_key(bytes(32)) == "tp-" + "A" * 43
    assert new_key(b"\xff" * 32) == "tp-" + "_" * 42 + "8"
    assert len({new_key(bytes([n]) + bytes(31)) for n in range(256)}) == 256
    with pytest.raises(ValueError, match="32 random bytes, not 16"):
        new_key(bytes(16))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [(f"sha256:{ABC}", True), (ABC, False), (f"sha256:{ABC.upper()}", False), (f"sha256:{ABC}0", False),
     ("tp-secret", False), (f"md5:{ABC}", False)],
)  # fmt: skip
def test_only_a_digest_is_taken_for_one(text: str, is_one: bool) -> None:
    assert is_hash(text) is is_one


@pytest.mark.parametrize(
    ("header", "key"),
    [("Bearer abc", "abc"), ("bearer abc", "abc"), ("Bearer  abc ", "abc"), ("Bearer a b", "a b"),
     (None, None), ("", None), ("Bearer", None), ("Bearer ", None), ("Basic abc", None), ("abc", None)],
)  # fmt: skip
def test_a_key_is_offered_as_a_bearer_token(header: str | None, key: str | None) -> None:
    assert offered_key(header) == key
