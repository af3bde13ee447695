"""What each failure means to a client: which status, which words, and whether another engine may be tried.

Owns: that judgement. Knows nothing about sockets or how answers are sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from serving.gateway.answers import Refused, retry_after
from serving.gateway.limits import GatewayLimits
from serving.gateway.patience import Patience
from serving.gateway.upstream.answer import CannotConnect, KeyRefused, NotHttp, UpstreamFailed

_DRAINING = b"cannot schedule new futures after shutdown"
"""What vLLM answers, with a 500, to new requests while it shuts down."""
_MOST_REST_S = 60.0


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An engine's own error, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def elsewhere(self) -> bool:
        """Whether another engine may do better: this one had no place for the request."""
        return self.status == 503 or (self.status == 500 and _DRAINING in self.body)

    def rest_s(self, otherwise_s: float) -> float:
        """How long the engine wants to be left alone."""
        said = self.headers.get("retry-after", "")
        return min(float(said), _MOST_REST_S) if said.isascii() and said.isdigit() else otherwise_s


class Missed(Exception):
    """A try that failed before the client got anything."""

    def __init__(self, failure: UpstreamFailed | None = None, answer: ErrorAnswer | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.answer = answer


def nobody_ready(limits: GatewayLimits, again_in_s: int | None = None) -> Refused:
    """There is no engine to ask; `again_in_s`, where it is known when there will be one."""
    again = retry_after(again_in_s or limits.retry_after_s)
    return Refused(503, "no engine is ready", code="no_engine_ready", headers=again)


def timed_out(patience: Patience | None, limits: GatewayLimits) -> Refused:
    """A wait was too long."""
    if patience is None or patience.wait == "shutdown":
        again = retry_after(limits.retry_after_s)
        return Refused(503, "the server is shutting down", code="shutting_down", headers=again)
    if patience.wait == "total":
        message = f"the request was not finished after {patience.limit_s:g} s"
    else:
        message = f"the engine sent nothing for {patience.limit_s:g} s"
    return Refused(504, message, code="timeout", kind="timeout")


def upstream_failed(error: UpstreamFailed, limits: GatewayLimits, *, begun: bool) -> Refused:
    """An engine did not give a whole answer."""
    if isinstance(error, CannotConnect):
        if error.timed_out:
            message = f"the engine did not accept a connection within {limits.connect_s:g} s"
        else:
            message = "the engine cannot be reached"
        return Refused(
            503, message, code="engine_unreachable", kind="timeout" if error.timed_out else "upstream_error",
            headers=retry_after(limits.retry_after_s),
        )  # fmt: skip
    if isinstance(error, KeyRefused):
        # Not a 401: the client's own key is not what is wrong.
        message = "the engine does not take the gateway's own key"
        return Refused(502, message, code="upstream_key_refused", kind="upstream_error")
    if begun:
        message = "the engine broke off its answer"
    elif isinstance(error, NotHttp):
        message = "the engine's answer is not valid HTTP"
    else:
        message = "the engine closed the connection without an answer"
    return Refused(502, message, code="bad_upstream_answer", kind="upstream_error")


def prefill_failed(limits: GatewayLimits) -> Refused:
    """The first leg failed, and the deployment wants that to be an error."""
    return Refused(
        503, "the prefilling engine failed", code="prefill_failed", kind="upstream_error",
        headers=retry_after(limits.retry_after_s),
    )  # fmt: skip
