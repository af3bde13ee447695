"""Records as a test tells them, in milliseconds."""

from collections.abc import Callable
from typing import Any

import pytest

from loadgen.records import RequestRecord

MakeRecord = Callable[..., RequestRecord]


def _ns(ms: float) -> int:
    return round(ms * 1_000_000)


@pytest.fixture
def record() -> MakeRecord:
    """A request sent at `sent` whose output events arrive at `output`, all in ms of the run's clock."""

    def make(
        *output: float,
        sent: float = 0.0,
        intended: float | None = None,
        end: float | None = None,
        **other: Any,
    ) -> RequestRecord:
        last = output[-1] if output else sent
        return RequestRecord(
            index=other.pop("index", 0),
            phase=other.pop("phase", "measure"),
            kind=other.pop("kind", "random"),
            outcome=other.pop("outcome", "ok"),
            t_intended_ns=None if intended is None else _ns(intended),
            t_sent_ns=_ns(sent),
            t_end_ns=_ns(last if end is None else end),
            output_ns=tuple(map(_ns, output)),
            **other,
        )

    return make
