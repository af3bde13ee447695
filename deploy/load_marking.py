"""What a load run has marked on the boards.

Owns: which Grafana that is, and how the run's moments become marks. Knows nothing about how a load is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dashboards.marks import Kind, Mark
from deploy.grafana_token import VARIABLE, token
from loadgen.moments import Moment

URL_VARIABLE = "GRAFANA_URL"
GIVEN_UP_AFTER_S = 3.0
"""After the end of a run, for marks that are still on their way."""
_KINDS: Mapping[str, Kind] = {"begin": Kind.LOAD, "stage": Kind.STAGE, "end": Kind.LOAD}


def mark_of(moment: Moment, deployment: str | None) -> Mark:
    """A run's moment as a mark."""
    return Mark(_KINDS[moment.kind], moment.text, moment.at_s, moment.until_s, deployment)


@contextmanager
def marked_load(
    url: str | None,
    token_file: Path | None,
    deployment: str | None,
    say: Callable[[str], None],
    environ: Mapping[str, str],
) -> Iterator[Callable[[Moment], None]]:
    """What a run tells its moments, for the length of a `with`; without a Grafana nobody hears of them.

    Raises: UsageError where a Grafana is given on the command line and its address or token is wrong.
    """
    with marked(url, token_file, say, environ) as note:
        yield lambda moment: note(mark_of(moment, deployment))


@contextmanager
def marked(
    url: str | None, token_file: Path | None, say: Callable[[str], None], environ: Mapping[str, str]
) -> Iterator[Callable[[Mark], None]]:
    """What takes marks for the length of a `with`; without a Grafana it drops them.

    Raises: UsageError where a Grafana is given on the command line and its address or token is wrong.
    """
    chosen = url or environ.get(URL_VARIABLE)
    if chosen is None or (url is None and token_file is None and VARIABLE not in environ):
        yield lambda mark: None
        return
    # Only here: requests takes long to import.
    from dashboards.annotations import Annotations, to_grafana

    annotations = Annotations(to_grafana(chosen, token(token_file, environ)), say)
    try:
        yield annotations.note
    finally:
        annotations.close(GIVEN_UP_AFTER_S)
