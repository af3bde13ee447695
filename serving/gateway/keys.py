"""API keys: how one is made, what is kept of it, and how an offered one is recognised.

Owns: keys, their hashes and the comparison. Knows nothing about files, headers or time.

A key is 256 random bits, so its plain SHA-256 is kept: there is no dictionary to try against it, and a slow
password hash would cost milliseconds a request and protect nothing. The digest's first 12 hex digits find
the entry (timing tells a guesser about the digest of his own guess); the whole is compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass

PREFIX = "tp-"
SECRET_BYTES = 32
ID_DIGITS = 12
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_NOBODY = "0" * 64


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """One key as the file has it. `requests_per_minute` and `tokens_per_minute` are None where unlimited."""

    name: str
    digest: str
    """SHA-256 of the key, 64 hex digits."""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    @property
    def key_id(self) -> str:
        """What tells this key apart in logs and lists; it opens nothing."""
        return self.digest[:ID_DIGITS]


class KeySet:
    """The keys that are accepted."""

    def __init__(self, entries: Iterable[KeyEntry]) -> None:
        self.entries = tuple(entries)
        self._by_id = {entry.key_id: entry for entry in self.entries}

    def find(self, offered: str) -> KeyEntry | None:
        """The entry of a key, None if there is none."""
        digest = digest_of(offered)
        entry = self._by_id.get(digest[:ID_DIGITS])
        matches = hmac.compare_digest(digest, entry.digest if entry else _NOBODY)
        return entry if matches else None


def new_key(secret: bytes) -> str:
    """A key of `SECRET_BYTES` random bytes, in characters that need no quoting anywhere."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a key needs {SECRET_BYTES} random bytes, not {len(secret)}")
    return PREFIX + urlsafe_b64encode(secret).rstrip(b"=").decode()


def digest_of(key: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def hash_of(key: str) -> str:
    """A key's digest as the file writes it, `sha256:` and 64 hex digits."""
    return f"sha256:{digest_of(key)}"


def is_hash(text: str) -> bool:
    """Whether a text is a digest as the file writes it."""
    return _HASH.fullmatch(text) is not None


def offered_key(authorization: str | None) -> str | None:
    """The key in an Authorization header's value (`Bearer KEY`), None if there is none."""
    scheme, _, key = (authorization or "").strip().partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None
