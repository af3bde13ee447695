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
from dataclasses import dataclass, replace
from pathlib import Path

from loadgen import input_files, prompt_data, scrape
from loadgen.control import ControlClient
from loadgen.expectations import expected, too_long
from loadgen.probe import Probed, probe
from loadgen.prompts.prompt import Prompt
from loadgen.prompts.sources import Given, Inputs, needs_words, source_of
from loadgen.prompts.vocabulary import Vocabulary, learn
from loadgen.run_folder import Manifest, RunFolder
from loadgen.schedule import arrivals, stream
from loadgen.target import Target
from loadgen.timetable import timetable
from loadgen.traces.reading import fitting
from loadgen.workload import Workload
from loadgen.workload_prompts import TracePrompts, parts
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
    return input_files.load(path)


def default_folder(workload: Workload, *, now: time.struct_time | None = None) -> Path:
    """`runs/<time>-<name>` below the working directory."""
    return Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S', now or time.localtime())}-{workload.name}"


def prepare(request: Request, *, say: Callable[[str], None]) -> RunFolder:
    """Probe the target, make prompts and timetable, and write the folder. Raises: TeapotError."""
    workload = request.workload
    cache_config = _cache_config(request.metrics_urls)
    salt = request.salt or secrets.token_hex(8)
    inputs = input_files.read_inputs(workload)
    with ControlClient(request.target) as client:
        probed = probe(client, workload)
        inputs = _fitting(workload, inputs, probed)
        times = _times(workload, inputs)
        for note in _notes(inputs):
            say(note)
        prompts = _prompts(workload, probed, inputs, number=len(times), salt=salt, say=say)
    problems = too_long(prompts, probed.max_model_len)
    if problems:
        raise UsageError.of(problems)
    planned = timetable(
        workload, prompts, times, model=probed.model, continuous_usage=probed.continuous_usage
    )
    folder = RunFolder(request.out)
    folder.create()
    folder.prepare(_manifest(request, probed, prompts, salt=salt, cache_config=cache_config), planned)
    return folder


def _fitting(workload: Workload, inputs: Inputs, probed: Probed) -> Inputs:
    """Without the rows of traces that this model cannot be asked, or with an error for them."""
    traces = dict(inputs.traces)
    for prompts in parts(workload.prompts):
        if isinstance(prompts, TracePrompts):
            traces[prompts.file] = fitting(
                traces[prompts.file],
                name=prompts.file,
                least_tokens=probed.overhead_tokens + 1,
                max_model_len=probed.max_model_len,
                skip_unfit=prompts.unfit_rows == "skip",
            )
    return replace(inputs, traces=traces)


def _times(workload: Workload, inputs: Inputs) -> tuple[int | None, ...]:
    """When each request is meant to be sent. Raises: UsageError if none is."""
    rows = inputs.times.rows if inputs.times else next((t.rows for t in inputs.traces.values()), ())
    times = arrivals(workload.arrival, stream(workload.seed, "arrivals"), trace_s=[row.at_s for row in rows])
    if not times:
        raise UsageError(
            "no request falls into this time",
            where="arrival",
            fix="make duration or rate larger, or choose another seed",
        )
    return times


def _notes(inputs: Inputs) -> Sequence[str]:
    traces = [*inputs.traces.values(), *([inputs.times] if inputs.times else [])]
    return list(dict.fromkeys(note for trace in traces for note in trace.notes))


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
        exact_prompts=probed.count is not None,
        continuous_usage=probed.continuous_usage,
        clock={"perf_counter_ns": time.perf_counter_ns(), "unix_ns": time.time_ns()},
        versions=_versions(),
        machine={"platform": platform.platform(), "cpus": os.cpu_count()},
        cache_config=cache_config,
        planned=expected(prompts[workload.warmup.requests :]),
    )


def _prompts(
    workload: Workload,
    probed: Probed,
    inputs: Inputs,
    *,
    number: int,
    salt: str,
    say: Callable[[str], None],
) -> Sequence[Prompt]:
    """Those of the warm-up, then `number` more; several at once, since each may ask the server to count.

    The warm-up has a salt of its own: it must not warm the prefixes that the measurement shares.
    """
    vocabulary = _vocabulary(workload, probed, say=say)
    given = Given(workload.seed, salt, number, vocabulary, probed.count, prompt_data.prompt_set(), inputs)
    apart = replace(given, salt=f"{salt}/warmup", number=workload.warmup.requests)
    with ThreadPoolExecutor(COUNTING_THREADS) as pool:
        made: list[Prompt] = []
        for each in (apart, given):
            made += pool.map(source_of(workload.prompts, each).make, range(each.number))
        return made


def _vocabulary(workload: Workload, probed: Probed, *, say: Callable[[str], None]) -> Vocabulary:
    words = prompt_data.words()
    if needs_words(workload.prompts) and probed.count is not None:
        return learn(words, probed.count)
    if needs_words(workload.prompts):
        say(
            "the target has no /tokenize: prompts are about, not exactly, as long as asked for;"
            " the records hold the server's own counts"
        )
    return Vocabulary(tuple(words), probed.overhead_tokens)


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
