"""What a study has marked on the boards.

Owns: how starts and cells become marks. Knows nothing about how a study is run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from dashboards.marks import Kind, Mark
from deploy.load_marking import marked
from deploy.study.run import Marker, What

_KINDS: Mapping[What, Kind] = {"study": Kind.STUDY, "start": Kind.STUDY, "cell": Kind.CELL}


def mark_of(what: What, text: str, at_s: float, deployment: str | None) -> Mark:
    """A moment of a study as a mark."""
    return Mark(_KINDS[what], text, at_s, deployment=deployment)


@contextmanager
def marked_study(
    url: str | None,
    name: str,
    say: Callable[[str], None],
    environ: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.time,
) -> Iterator[Marker]:
    """What a study tells its moments, for the length of a `with`; without a Grafana nobody hears of them.

    Raises: UsageError where a Grafana is given and its address or token is wrong.
    """
    with marked(url, None, say, environ) as note:
        yield lambda what, text: note(mark_of(what, f"{name}: {text}", clock(), None))
