"""Who is let in: the key a request carries, and what its key may still use.

Owns: the refusals 401 and 429. Knows nothing about bodies, engines or how keys are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from serving.gateway.answers import Refused, retry_after
from serving.gateway.caller import ANONYMOUS, Caller
from serving.gateway.keys import KeyEntry, KeySet, offered_key
from serving.gateway.outcome import Outcome
from serving.gateway.rates import Limited, Rates
from serving.gateway.usage import estimate_output, estimate_prompt

_ASK_FOR_KEY = {"WWW-Authenticate": 'Bearer realm="teapot"'}


@dataclass(frozen=True, slots=True)
class Guest:
    """A caller who was let in, and the tokens that were taken for it in advance."""

    caller: Caller
    entry: KeyEntry | None = None
    estimate: int = 0


_ANYONE = Guest(ANONYMOUS)


class Reception:
    """Lets callers in by their keys. Without keys everyone is let in, without limits.

    `share` is the part of each rate that this process may give out.
    """

    def __init__(
        self, keys: Callable[[], KeySet] | None, clock: Callable[[], float], *, share: float = 1.0
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._share = share
        self._rates = Rates()
        self._known: KeySet | None = None

    def recognise(self, authorization: str | None) -> Guest:
        """Whose key an Authorization header carries. Raises: Refused (401)."""
        if self._keys is None:
            return _ANYONE
        keys = self._keys()
        if keys is not self._known:
            self._known = keys
            self._rates.keep(frozenset(entry.key_id for entry in keys.entries))
        offered = offered_key(authorization)
        if offered is None:
            message = "an API key is needed: send it as `Authorization: Bearer KEY`"
            raise Refused(401, message, code="missing_api_key", headers=_ASK_FOR_KEY)
        entry = keys.find(offered)
        if entry is None:
            # Not the key itself: answers are logged by clients.
            raise Refused(401, "the API key is not valid", code="invalid_api_key", headers=_ASK_FOR_KEY)
        return Guest(Caller(entry.name, entry.key_id), entry)

    def admit(self, guest: Guest, body_bytes: int) -> Guest:
        """Take one request and the body's estimated tokens from the caller's rates. Raises: Refused (429)."""
        entry = guest.entry
        if entry is None:
            return guest
        estimate = estimate_prompt(body_bytes)
        over = self._rates.admit(
            entry.key_id,
            requests=self._of(entry.requests_per_minute),
            tokens=self._of(entry.tokens_per_minute),
            estimate=estimate,
            now_s=self._clock(),
        )
        if over is not None:
            raise _too_much(over, entry)
        return Guest(guest.caller, entry, estimate)

    def settle(self, guest: Guest, outcome: Outcome) -> None:
        """Put the caller's tokens right once its request has ended."""
        if guest.entry is not None:
            used = tokens_used(outcome)
            self._rates.settle(guest.entry.key_id, estimate=guest.estimate, used=used)

    def _of(self, rate: int | None) -> int | None:
        return None if rate is None else max(1, int(rate * self._share))


def tokens_used(outcome: Outcome) -> int:
    """What a request counts for: nothing if it was refused or failed before its answer, else what the
    engine says it used, else an estimate by size.
    """
    if outcome.status is None or outcome.status >= 400:
        return 0
    prompt, output = outcome.tokens_in, outcome.tokens_out
    if prompt is None:
        prompt = estimate_prompt(outcome.bytes_in)
    if output is None:
        output = estimate_output(outcome.bytes_out, streamed=outcome.streamed)
    return prompt + output


def _too_much(over: Limited, entry: KeyEntry) -> Refused:
    asked = entry.requests_per_minute if over.unit == "requests" else entry.tokens_per_minute
    wait_s = max(1, math.ceil(over.wait_s))
    message = f"the key '{entry.name}' is over its {asked} {over.unit} a minute; try again in {wait_s} s"
    return Refused(429, message, code="rate_limit_exceeded", headers=retry_after(wait_s))
