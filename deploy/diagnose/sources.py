"""Where evidence comes from: a Prometheus, one engine watched for a while, or a run folder.

Owns: reading them, and what is said where one cannot be read. Knows nothing about what the readings mean.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from dashboards.query import Prometheus
from deploy.diagnose.readings import NAMES, of_run, of_series
from deploy.scrape_config import SCRAPE_INTERVAL_S
from loadgen.run_folder import RunFolder
from loadgen.scrape import metrics_address, read_once
from loadgen.server_metrics import ServerSample
from serving.errors import Failed, UsageError

EVERY_S = 1.0
Readings = Mapping[str, list[ServerSample]]
"""Of each engine by its address, in the order of time."""


def from_prometheus(url: str, deployment: str | None, within_s: float, now_s: float) -> Readings:
    """The last `within_s` seconds of every engine it scrapes. Raises: Failed, UsageError."""
    prometheus = Prometheus(url)
    matchers = [f'__name__=~"{"|".join(sorted(NAMES))}"', 'job="engine"']
    if deployment is not None:
        matchers.append(f'deployment="{deployment}"')
    # Between two scrapes nothing moves, and that would look as if the engine did nothing.
    step_s = max(float(SCRAPE_INTERVAL_S), within_s / 300)
    selector = f"{{{', '.join(matchers)}}}"
    found = of_series(prometheus.query_range(selector, start_s=now_s - within_s, end_s=now_s, step_s=step_s))
    if not found:
        whose = f"of the deployment '{deployment}' " if deployment else ""
        raise Failed(
            f"it has no engine metrics {whose}in the last {within_s:.0f} s",
            where=prometheus.url,
            fix="is the deployment up, and is this its Prometheus (`teapot serve` prints where it is)?",
        )
    return found


def from_engine(
    url: str,
    within_s: float,
    pause: Callable[[float], None] = time.sleep,
    say: Callable[[str], None] = lambda text: None,
) -> Readings:
    """Watch one engine's `/metrics` for `within_s` seconds. Raises: Failed, UsageError."""
    base, path = metrics_address(url, where="--engine")
    readings: list[ServerSample] = []
    began_ns = time.monotonic_ns()
    while True:
        at_ns = time.monotonic_ns() - began_ns
        readings.append(read_once(url, t_ns=at_ns, edge=True))
        if not readings[0].series:
            raise Failed(
                f"its metrics cannot be read: {readings[0].error or 'the page has none of vLLM'}",
                where=f"{base}{path}",
                fix="give the engine's own address, not the gateway's; `teapot status` lists the engines",
            )
        if len(readings) == 1:
            say(f"watching {url} for {within_s:.0f} s")
        if at_ns >= within_s * 1e9:
            return {url: readings}
        pause(EVERY_S)


def from_run(folder: Path) -> Readings:
    """The measured phase of a run folder. Raises: Failed, UsageError."""
    if not folder.is_dir():
        raise UsageError(
            "no such folder", where=str(folder), fix="give the folder of a run (`teapot load run`)"
        )
    samples = RunFolder(folder).server_samples()
    found = of_run(samples)
    if not found:
        raise UsageError(
            "this run holds no readings of a server's /metrics at the edges of its measured phase",
            where=str(folder),
            fix="run the load with --metrics URL of the engine, or against a deployment of `teapot serve`",
        )
    return found
