"""The load generators that the benchmark compares: how each is had, called, and what it says of TTFT and ITL.

Owns: one entry a tool. Knows nothing about what is done with the numbers. All send as many requests as there
are streams, ask for as many tokens, and take turns against one scripted server. Tools are installed by pip,
each into a folder of its own; one that does not install or run is named with the reason.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INSTALL_LIMIT_S = 900.0


class CannotRun(Exception):
    """Why a tool is not in the table."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a tool is asked for."""

    url: str
    streams: int
    tokens: int
    tokenizer: Path
    """A folder with a tokenizer, for tools that want one."""
    out: Path
    """An empty folder of this job."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool reports, in seconds. None: it does not."""

    completed: int | None
    ttft_p50_s: float | None = None
    ttft_p99_s: float | None = None
    itl_p99_s: float | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A generator. `requirement` None: it is there already."""

    name: str
    requirement: str | None
    command: Callable[[Path, Job], Sequence[str]]
    """From its environment's `bin`."""
    read: Callable[[Job], Said]
    python: str = sys.executable
    """Which one its environment is made with."""

    def bin(self, scratch: Path, engine_python: Path) -> tuple[Path, str]:
        """Its `bin` and version, installed if need be. Raises: CannotRun."""
        if self.requirement is None:
            python = engine_python if self.name.startswith("vllm") else Path(sys.executable)
        else:
            python = _install(scratch / self.requirement.partition("=")[0], self.requirement, self.python)
        distribution = {"teapot": "teapot-serving", "vllm bench serve": "vllm"}.get(self.name, self.name)
        code = f"from importlib.metadata import version; print(version({distribution!r}))"
        told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
        return python.parent, told.stdout.strip() or "?"


def _install(folder: Path, requirement: str, base: str) -> Path:
    python = folder / "bin" / "python"
    mark = folder / "installed"
    if mark.exists():
        return python
    try:
        subprocess.run([base, "-m", "venv", folder], check=True, timeout=120)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", requirement],
            check=True,
            timeout=INSTALL_LIMIT_S,
            capture_output=True,
            text=True,
        )
    except subprocess.CalledProcessError as error:
        raise CannotRun(f"does not install: {_last_line(error.stderr)}") from error
    except (subprocess.SubprocessError, OSError) as error:
        raise CannotRun(f"does not install: {error}") from error
    mark.touch()
    return python


def _last_line(text: str | None) -> str:
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"


def _teapot(place: Path, job: Job) -> list[str]:
    workload = job.out / "workload.yaml"
    workload.write_text(
        f"name: bench\narrival: {{process: constant, rate: {job.streams}/s, requests: {job.streams}}}\n"
        f"warmup: {{requests: 1}}\nprompts: {{kind: prompt_set, output_tokens: {job.tokens}}}\n"
    )
    main = "import sys; from deploy.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [str(place / "python"), "-c", main, "load", "run", str(workload), "--target", job.url]
    return [*command, "--out", str(job.out / "run")]


def _teapot_said(job: Job) -> Said:
    summary = json.loads((job.out / "run" / "summary.json").read_text())
    return Said(
        summary["requests"]["ok"],
        summary["ttft_s"]["p50"],
        summary["ttft_s"]["p99"] or summary["ttft_s"]["max"],
        summary["inter_chunk_s"]["p99"],
    )


def _vllm(place: Path, job: Job) -> list[str]:
    rows = [
        {"conversations": [{"value": f"Tell me the story number {number}."}, {"value": "an answer"}]}
        for number in range(job.streams)
    ]
    prompts = job.out / "prompts.json"
    prompts.write_text(json.dumps(rows))
    return [
        str(place / "python"), "-m", "vllm.entrypoints.cli.main", "bench", "serve",
        "--backend", "openai-chat", "--endpoint", "/v1/chat/completions", "--base-url", job.url,
        "--model", "scripted", "--tokenizer", str(job.tokenizer), "--dataset-name", "sharegpt",
        "--dataset-path", str(prompts), "--sharegpt-output-len", str(job.tokens), "--disable-shuffle",
        "--num-prompts", str(job.streams), "--request-rate", str(job.streams), "--burstiness", "1000000",
        "--ignore-eos", "--disable-tqdm", "--num-warmups", "1",
        "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99",
        "--save-result", "--result-dir", str(job.out), "--result-filename", "result.json",
    ]  # fmt: skip


def _vllm_said(job: Job) -> Said:
    found = json.loads((job.out / "result.json").read_text())
    return Said(
        found["completed"], found["p50_ttft_ms"] / 1e3, found["p99_ttft_ms"] / 1e3, found["p99_itl_ms"] / 1e3
    )


def _guidellm(place: Path, job: Job) -> list[str]:
    return [
        str(place / "guidellm"), "run", "--backend", f"kind=openai_http,target={job.url},model=scripted",
        "--profile", f"kind=concurrent,streams={job.streams}",
        "--constraint", f"kind=max_requests,count={job.streams}",
        "--tokenizer", f"kind=hf_auto,model={job.tokenizer}",
        "--data", f"kind=synthetic_text,prompt_tokens=16,output_tokens={job.tokens}",
        "--output", f"kind=json,path={job.out / 'result.json'}", "--disable-progress",
    ]  # fmt: skip


def _guidellm_said(job: Job) -> Said:
    (one,) = json.loads((job.out / "result.json").read_text())["benchmarks"]
    metrics = one["metrics"]
    ttft = metrics["time_to_first_token_ms"]["successful"]["percentiles"]
    # Its ITL is a mean of each request: it tells nothing of single gaps.
    return Said(metrics["request_totals"]["successful"], ttft["p50"] / 1e3, ttft["p99"] / 1e3)


def _aiperf(place: Path, job: Job) -> list[str]:
    return [
        str(place / "aiperf"), "profile", "--model", "scripted", "--url", job.url, "--endpoint-type", "chat",
        "--streaming", "--concurrency", str(job.streams), "--request-count", str(job.streams),
        "--isl", "16", "--osl", str(job.tokens), "--tokenizer", str(job.tokenizer),
        "--artifact-dir", str(job.out), "--ui", "none", "--use-server-token-count",
    ]  # fmt: skip


def _aiperf_said(job: Job) -> Said:
    (path,) = job.out.rglob("profile_export_aiperf.json")
    found = json.loads(path.read_text())
    ttft = found["time_to_first_token"]
    # Its inter-token latency is a mean of each request, too; this is its word for gaps.
    gap_s = found["inter_chunk_latency"]["p99"] / 1e3
    return Said(round(found["request_count"]["avg"]), ttft["p50"] / 1e3, ttft["p99"] / 1e3, gap_s)


def _inference_perf(place: Path, job: Job) -> list[str]:
    lengths = {"min": 16, "max": 16, "mean": 16, "std_dev": 0, "total_count": job.streams}
    answers = dict.fromkeys(("min", "max", "mean"), job.tokens) | {"std_dev": 0, "total_count": job.streams}
    config: Mapping[str, Any] = {
        "api": {"type": "completion", "streaming": True},  # its random prompts know no chat
        "data": {"type": "random", "input_distribution": lengths, "output_distribution": answers},
        "load": {
            "type": "constant",
            "num_workers": os.cpu_count(),
            "stages": [{"rate": job.streams, "duration": 1}],
        },
        "server": {"type": "vllm", "model_name": "scripted", "base_url": job.url, "ignore_eos": True},
        "tokenizer": {"pretrained_model_name_or_path": str(job.tokenizer)},
        "storage": {"local_storage": {"path": str(job.out / "reports")}},
        "report": {"request_lifecycle": {"summary": True, "per_stage": True, "per_request": False}},
    }
    path = job.out / "config.yml"
    path.write_text(json.dumps(config))
    return [str(place / "inference-perf"), "--config_file", str(path)]


def _inference_perf_said(job: Job) -> Said:
    (path,) = job.out.rglob("*summary_lifecycle_metrics.json")
    good = json.loads(path.read_text())["successes"]
    latency = good["latency"]
    return Said(
        good["count"],
        latency["time_to_first_token"]["median"],
        latency["time_to_first_token"]["p99"],
        latency["inter_token_latency"]["p99"],
    )


def _genai_bench(place: Path, job: Job) -> list[str]:
    return [
        str(place / "genai-bench"), "benchmark", "--api-backend", "openai", "--api-base", job.url,
        "--api-key", "none", "--api-model-name", "scripted", "--model-tokenizer", str(job.tokenizer),
        "--task", "text-to-text", "--traffic-scenario", f"D(16,{job.tokens})",
        "--num-concurrency", str(job.streams), "--max-requests-per-run", str(job.streams),
        "--max-time-per-run", "2", "--experiment-base-dir", str(job.out), "--experiment-folder-name", "run",
    ]  # fmt: skip


def _genai_bench_said(job: Job) -> Said:
    (path,) = (path for path in job.out.rglob("*concurrency_*.json"))
    stats = json.loads(path.read_text())["aggregated_metrics"]
    ttft = stats["stats"]["ttft"]
    return Said(stats["num_completed_requests"], ttft["p50"], ttft["p99"])


def newer() -> str:
    """A Python of 3.12 or more where there is one: inference-perf asks for it. PYTHON312 names it."""
    if sys.version_info >= (3, 12):
        return sys.executable
    found = [shutil.which(name) for name in ("python3.12", "python3.13", "python3.14")]
    return os.environ.get("PYTHON312") or next(filter(_runs, found), None) or sys.executable


def _runs(python: str | None) -> bool:
    """A version manager's stand-in for a Python that it has not switched on does not."""
    return (
        python is not None and not subprocess.run([python, "-V"], capture_output=True, check=False).returncode
    )


TOOLS = (
    Tool("teapot", None, _teapot, _teapot_said),
    Tool("vllm bench serve", None, _vllm, _vllm_said),
    Tool("guidellm", "guidellm==0.8.1", _guidellm, _guidellm_said),
    Tool("aiperf", "aiperf==0.13.0", _aiperf, _aiperf_said),
    Tool("inference-perf", "inference-perf==0.7.0", _inference_perf, _inference_perf_said, newer()),
    Tool("genai-bench", "genai-bench==0.0.5", _genai_bench, _genai_bench_said),
)
