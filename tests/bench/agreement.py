"""This load generator beside `vllm bench serve`: one real engine, the same workload. `make bench-agreement`.

    PYTHONPATH=.:tests .venv/bin/python -m bench.agreement [--requests N] [--times N] [--rate R] [--tokens N]

Owns: the order of the runs and the two tables. Knows nothing about how either tool measures. The two take
turns, with prompts of equal length that no run shares with another. What the engine itself counted during
each run is subtracted, for on a busy machine the engine differs from run to run by more than the tools do.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import yaml
from e2e.deployments import free_port, serve

from loadgen.prepare import Request, prepare
from loadgen.run import run_load
from loadgen.run_folder import RunFolder
from loadgen.scrape import read_once
from loadgen.server_metrics import ServerSample, server_view
from loadgen.stats.plan import ServerView
from loadgen.target import parse_target
from loadgen.workload import Workload
from serving.console import Console

NUMBERS = ("ttft_s", "tpot_s", "inter_chunk_s", "e2e_s")
NAMES = {"ttft_s": "TTFT", "tpot_s": "TPOT", "inter_chunk_s": "inter-chunk (ITL there)", "e2e_s": "E2E"}
THEIRS = {"ttft_s": "ttft", "tpot_s": "tpot", "inter_chunk_s": "itl", "e2e_s": "e2el"}


@dataclass(frozen=True, slots=True)
class Seen:
    """One run of one tool: its means and percentiles in seconds, and the engine's own means meanwhile."""

    tool: str
    requests: int
    mean: dict[str, float]
    p50: dict[str, float]
    p95: dict[str, float | None]
    engine: ServerView

    def residue_s(self, name: str) -> float | None:
        """The tool's mean less the engine's."""
        own = {
            "ttft_s": self.engine.ttft_mean_s,
            "tpot_s": self.engine.tpot_mean_s,
            "inter_chunk_s": self.engine.itl_mean_s,
            "e2e_s": self.engine.e2e_mean_s,
        }[name]
        return None if own is None else self.mean[name] - own


@dataclass(frozen=True, slots=True)
class Bench:
    """Where everything is."""

    engine_url: str
    python: Path
    model: Path
    scratch: Path
    requests: int
    rate: float
    tokens: int

    def workload(self, seed: int) -> Workload:
        """Constant arrivals, which both tools can make alike."""
        return Workload.model_validate(
            {
                "name": "agreement",
                "arrival": {"process": "constant", "rate": f"{self.rate}/s", "requests": self.requests},
                "warmup": {"requests": 4},
                "prompts": {"kind": "random_tokens", "input_tokens": 128, "output_tokens": self.tokens},
                "sampling": {"temperature": 0.0, "ignore_eos": True},
                "seed": seed,
            }
        )

    def sample(self) -> ServerSample:
        """What the engine has counted so far."""
        return read_once(f"{self.engine_url}/metrics", t_ns=time.perf_counter_ns(), edge=True)

    def ours(self, number: int) -> Seen:
        """One run of this generator."""
        metrics = f"{self.engine_url}/metrics"
        result = run_load(
            workload=self.workload(number),
            target=self.engine_url,
            console=Console(out=sys.stderr),
            out=self.scratch / f"ours-{number}",
            metrics_urls=[metrics],
        )
        summary = result.summary
        if not summary["valid"]:
            sys.stderr.write(f"not valid: {'; '.join(summary['reasons'])}\n")
        view = server_view(RunFolder(result.folder).server_samples())
        assert view is not None  # its metrics were read
        return Seen(
            "teapot",
            summary["requests"]["ok"],
            {name: summary[name]["mean"] for name in NUMBERS},
            {name: summary[name]["p50"] for name in NUMBERS},
            {name: summary[name]["p95"] for name in NUMBERS},
            view,
        )

    def theirs(self, number: int) -> Seen:
        """One run of `vllm bench serve` with as many prompts of the same lengths."""
        prepared = prepare(
            Request(self.workload(number), parse_target(self.engine_url), self.scratch / f"prompts-{number}"),
            say=lambda _: None,
        )
        prompts = self.scratch / f"prompts-{number}.json"
        bodies = [planned.body for planned in prepared.timetable() if planned.phase == "measure"]
        # ShareGPT's form, for which the engine's environment needs nothing that it does not have.
        rows = [
            {"conversations": [{"value": body["messages"][0]["content"]}, {"value": "an answer"}]}
            for body in bodies
        ]
        prompts.write_text(json.dumps(rows))
        out = self.scratch / f"theirs-{number}.json"
        before = self.sample()
        subprocess.run(self._command(prompts, out, bodies[0]["model"]), check=True, stdout=sys.stderr)
        view = server_view([before, self.sample()])
        found: dict[str, Any] = json.loads(out.read_text())
        assert view is not None  # read before and after
        return Seen(
            "vllm bench serve",
            found["completed"],
            {name: found[f"mean_{key}_ms"] / 1e3 for name, key in THEIRS.items()},
            {name: found[f"p50_{key}_ms"] / 1e3 for name, key in THEIRS.items()},
            {name: found[f"p95_{key}_ms"] / 1e3 for name, key in THEIRS.items()},
            view,
        )

    def _command(self, prompts: Path, out: Path, model: str) -> list[str]:
        return [
            str(self.python), "-m", "vllm.entrypoints.cli.main", "bench", "serve",
            "--backend", "openai-chat", "--endpoint", "/v1/chat/completions", "--base-url", self.engine_url,
            "--model", model, "--tokenizer", str(self.model), "--dataset-name", "sharegpt",
            "--dataset-path", str(prompts), "--sharegpt-output-len", str(self.tokens),
            "--disable-shuffle", "--num-prompts", str(self.requests), "--request-rate", str(self.rate),
            "--burstiness", "1000000", "--ignore-eos", "--temperature", "0", "--disable-tqdm",
            "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,95",
            "--save-result", "--result-dir", str(out.parent), "--result-filename", out.name,
        ]  # fmt: skip


def tables(seen: list[Seen]) -> str:
    """The numbers of each tool, then what is left of its means without the engine's."""
    lines = ["| | run | n | " + " | ".join(f"{NAMES[n]} mean / p50 / p95, ms" for n in NUMBERS) + " |"]
    lines.append("|---" * (3 + len(NUMBERS)) + "|")
    for place, run in enumerate(seen, start=1):
        cells = [f"{_ms(run.mean[n])} / {_ms(run.p50[n])} / {_ms(run.p95[n])}" for n in NUMBERS]
        lines.append(f"| {run.tool} | {place} | {run.requests} | {' | '.join(cells)} |")
    lines += ["", "| tool's mean less the engine's own, ms | " + " | ".join(NAMES[n] for n in NUMBERS) + " |"]
    lines.append("|---" * (1 + len(NUMBERS)) + "|")
    for tool in ("teapot", "vllm bench serve"):
        runs = [run for run in seen if run.tool == tool]
        lines.append(f"| {tool}, median of {len(runs)} (each) | {' | '.join(_residues(runs))} |")
    return "\n".join(lines)


def _residues(runs: list[Seen]) -> list[str]:
    cells = []
    for name in NUMBERS:
        values = [value for run in runs if (value := run.residue_s(name)) is not None]
        each = ", ".join(f"{value * 1e3:+.2f}" for value in values)
        cells.append(f"{median(values) * 1e3:+.2f} ({each})" if values else "-")
    return cells


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.1f}"


def main(args: argparse.Namespace) -> None:
    """Start the engine, take turns, and print the tables."""
    with tempfile.TemporaryDirectory(prefix="teapot-agreement-") as place:
        scratch = Path(place)
        path = scratch / "deployment.yaml"
        document = yaml.safe_load(args.file.read_text())
        document["gateway"] = {"port": free_port(), "admin_port": free_port()}
        path.write_text(yaml.safe_dump(document))
        with serve(path, *(word for value in args.overrides for word in ("--set", value))) as serving:
            serving.wait_until_ready()
            [backend] = serving.get("/status", admin=True)[1]["revisions"][0]["backends"]
            python, model = engine_of(str(path), args.overrides)
            bench = Bench(str(backend["url"]), python, model, scratch, args.requests, args.rate, args.tokens)
            seen = []
            for number in range(args.times):
                seen += [bench.ours(2 * number), bench.theirs(2 * number + 1)]
    sys.stdout.write(tables(seen) + "\n")


def engine_of(file: str, overrides: list[str]) -> tuple[Path, Path]:
    """The Python of the engine's environment and the model's folder."""
    from deploy.prepared import prepare as prepare_deployment

    prepared = prepare_deployment(file, overrides, Console(out=sys.stderr))
    return prepared.environment.python, Path(prepared.model.path_or_id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=Path("deploy/configs/plain.yaml"))
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1.0, help="requests/s (default: 1)")
    parser.add_argument("--tokens", type=int, default=32, help="output tokens (default: 32)")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    main(parser.parse_args())
