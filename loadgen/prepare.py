"""Makes a run folder: everything that is decided before the first request is sent.

Owns: the order of the steps and the manifest. Knows nothing about sending or about what is measured.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from loadgen import prompt_data, scrape
from loadgen.control import ControlClient
from loadgen.probe import Probed, probe
from loadgen.prompts.prompt import Prompt, PromptSource
from loadgen.prompts.prompt_set import PromptSetSource
from loadgen.prompts.random_tokens import RandomTokensSource, Vocabulary, learn
from loadgen.run_folder import Manifest, RunFolder
from loadgen.schedule import arrivals, stream
from loadgen.target import Target
from loadgen.timetable import timetable
from loadgen.workload import RandomTokens, Workload
from serving.config.load import load_model
from serving.errors import Failed, UsageError

COUNTING_THREADS = 8


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for: this workload on that target."""

    workload: Workload
    target: Target
    out: Path
    metrics_urls: tuple[str, ...] = ()
    salt: str | None = None
    """None: a new one, so that nothing that was sent before is in the server's prefix cache."""


def load_workload(path: Path) -> Workload:
    """Read a workload file. Raises: UsageError with `file:line: key` for everything that is wrong."""
    return load_model(path, Workload)


def default_folder(workload: Workload, *, now: time.struct_time | None = None) -> Path:
    """`runs/<time>-<name>` below the working directory."""
    return Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S', now or time.localtime())}-{workload.name}"


def prepare(request: Request, *, say: Callable[[str], None]) -> RunFolder:
    """Probe the target, make prompts and timetable, and write the folder. Raises: TeapotError."""
    workload = request.workload
    cache_config = _cache_config(request.metrics_urls)
    salt = request.salt or secrets.token_hex(8)
    times = arrivals(workload.arrival, stream(workload.seed, "arrivals"))
    if not times:
        raise UsageError(
            "no request falls into this time",
            where="arrival",
            fix="make duration or rate larger, or choose another seed",
        )
    with ControlClient(request.target) as client:
        probed = probe(client, workload)
        prompts = _prompts(workload, probed, number=workload.warmup.requests + len(times), salt=salt, say=say)
    planned = timetable(
        workload, prompts, times, model=probed.model, continuous_usage=probed.continuous_usage
    )
    folder = RunFolder(request.out)
    folder.create()
    folder.prepare(_manifest(request, probed, prompts, salt=salt, cache_config=cache_config), planned)
    return folder


def _manifest(
    request: Request, probed: Probed, prompts: Sequence[Prompt], *, salt: str, cache_config: Mapping[str, str]
) -> Manifest:
    workload = request.workload
    return Manifest(
        name=workload.name,
        started=time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        workload=workload.normalized(),
        fingerprint=workload.fingerprint(),
        seed=workload.seed,
        salt=salt,
        target=request.target.url,
        model=probed.model,
        metrics_urls=request.metrics_urls,
        exact_prompts=all(prompt.input_tokens is not None for prompt in prompts),
        continuous_usage=probed.continuous_usage,
        clock={"perf_counter_ns": time.perf_counter_ns(), "unix_ns": time.time_ns()},
        versions=_versions(),
        machine={"platform": platform.platform(), "cpus": os.cpu_count()},
        cache_config=cache_config,
    )


def _prompts(
    workload: Workload, probed: Probed, *, number: int, salt: str, say: Callable[[str], None]
) -> Sequence[Prompt]:
    """All prompts, in order; several at once, since each may ask the server for a count."""
    source = _source(workload, probed, salt=salt, say=say)
    with ThreadPoolExecutor(COUNTING_THREADS) as pool:
        return list(pool.map(source.make, range(number)))


def _source(workload: Workload, probed: Probed, *, salt: str, say: Callable[[str], None]) -> PromptSource:
    prompts = workload.prompts
    if not isinstance(prompts, RandomTokens):
        return PromptSetSource(prompt_data.prompt_set(), prompts.kinds, salt)
    words = prompt_data.words()
    if probed.count is None:
        say(
            "the target has no /tokenize: prompts are about, not exactly, "
            f"{prompts.input_tokens} tokens long; the records hold the server's own counts"
        )
        vocabulary = Vocabulary(tuple(words), probed.overhead_tokens)
    else:
        vocabulary = learn(words, probed.count)
    return RandomTokensSource(vocabulary, probed.count, prompts.input_tokens, workload.seed, salt)


def _cache_config(urls: Sequence[str]) -> dict[str, str]:
    """The cache configuration of the first server that tells one. Raises: Failed if a URL gives nothing."""
    found: dict[str, str] = {}
    for url in urls:
        sample = scrape.read_once(url, t_ns=0, edge=True)
        if sample.error is not None:
            raise Failed(f"no metrics: {sample.error}", where=url, fix="check --metrics, or leave it out")
        found = found or dict(sample.cache_config)
    return found


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name, distribution in (("teapot", "teapot-serving"), ("locust", "locust"), ("gevent", "gevent")):
        try:
            versions[name] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions
