"""How many requests and tokens a minute each caller may use: token buckets.

Owns: the buckets and when one is empty. Knows nothing about clocks (`now_s` comes in), keys or answers.

A bucket holds one minute's worth and fills evenly, so a caller may send a burst of a minute's worth after a
pause. Tokens are known only after the answer: a request is let in on an estimate, which is put right at its
end; the bucket may then be below zero, and the caller waits until it is not.
"""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_S = 60.0


@dataclass(slots=True)
class Bucket:
    """`per_minute` units a minute, at most so many at once."""

    per_minute: int
    level: float
    at_s: float

    @classmethod
    def full(cls, per_minute: int, now_s: float) -> Bucket:
        """A bucket from which nothing was taken."""
        return cls(per_minute, float(per_minute), now_s)

    def wait_s(self, amount: float, now_s: float) -> float:
        """Seconds until `amount` can be taken; what is more than the bucket holds needs a full one."""
        self._fill(now_s)
        missing = min(amount, self.per_minute) - self.level
        # Not to the last bit: a wait that was served must be enough.
        return missing / self.per_minute * MINUTE_S if missing > 1e-6 else 0.0

    def take(self, amount: float) -> None:
        """Take, below zero if need be; a negative amount is given back."""
        self.level = min(self.level - amount, float(self.per_minute))

    def resize(self, per_minute: int, now_s: float) -> None:
        """Another limit from now on; what was used stays used."""
        self._fill(now_s)
        used = self.per_minute - self.level
        self.per_minute, self.level = per_minute, per_minute - used

    def _fill(self, now_s: float) -> None:
        gained = max(0.0, now_s - self.at_s) * self.per_minute / MINUTE_S
        self.level = min(float(self.per_minute), self.level + gained)
        self.at_s = max(self.at_s, now_s)


@dataclass(frozen=True, slots=True)
class Limited:
    """A request over its rate: which rate, and how long until it would be let in."""

    unit: str
    per_minute: int
    wait_s: float


class Rates:
    """The buckets of all callers, by the id of their key."""

    def __init__(self) -> None:
        self._requests: dict[str, Bucket] = {}
        self._tokens: dict[str, Bucket] = {}

    def admit(
        self, key_id: str, *, requests: int | None, tokens: int | None, estimate: float, now_s: float
    ) -> Limited | None:
        """Take one request and `estimate` tokens, or nothing at all and say which rate is used up.

        `requests` and `tokens` are the caller's rates a minute, None where unlimited.
        """
        found: list[tuple[Bucket, float]] = []
        for unit, buckets, rate, amount in (
            ("requests", self._requests, requests, 1.0),
            ("tokens", self._tokens, tokens, estimate),
        ):
            if rate is None:
                buckets.pop(key_id, None)
                continue
            bucket = buckets.setdefault(key_id, Bucket.full(rate, now_s))
            if bucket.per_minute != rate:
                bucket.resize(rate, now_s)
            wait_s = bucket.wait_s(amount, now_s)
            if wait_s > 0:
                return Limited(unit, rate, wait_s)
            found.append((bucket, amount))
        for bucket, amount in found:
            bucket.take(amount)
        return None

    def settle(self, key_id: str, *, estimate: float, used: float) -> None:
        """Put right what a request was let in on, now that it is known."""
        bucket = self._tokens.get(key_id)
        if bucket is not None:
            bucket.take(used - estimate)

    def keep(self, key_ids: frozenset[str]) -> None:
        """Forget the buckets of all other keys."""
        for buckets in (self._requests, self._tokens):
            for key_id in buckets.keys() - key_ids:
                del buckets[key_id]
