"""The table of modes as they really behave, made by running each of them: `make bench-modes`.

    PYTHONPATH=.:tests .venv/bin/python -m e2e.modes_table [--rows WORDS,WORDS ...] [--out FILE]

Every row is started even where teapot refuses it, so that refusals are seen to be right. Some 20 starts,
half an hour on two cores. Results are Markdown on stdout, each row as soon as it is known. A run that was
ended goes on with the same --out: rows that the file has are not run again.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from e2e.attested import references, together, verdicts
from e2e.engines import Plan, Running, plan, running

from serving.config.startup import startup_problems
from serving.console import Console
from serving.engine.embedded import EMBEDDED, ensure_embedded
from serving.engine.environments import Environment
from serving.engine.folders import DataFolder, data_folder
from serving.engine.install import ensure_environment
from serving.engine.ports import free_port
from serving.engine.process import EngineProcess
from serving.engine.recipes import choose_recipe
from serving.engine.reference import References
from serving.errors import TeapotError

WORDS = {True: "yes", False: "**no**", None: "cannot tell"}
NGRAM = {"tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
KV = ("fp8", "fp8_e4m3", "fp8_e5m2", "int8_per_token_head", "int4_per_token_head", "turboquant_4bit_nc")
WEIGHTS = ("fp8", "fp8_per_block", "fp8_per_channel", "int8_per_channel_weight_only")
ROW_WITHIN_S = 1200.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what is asked, of which model."""

    asked: str
    modes: tuple[Mapping[str, Any], ...]
    model: str = "embedded"
    engine: Mapping[str, Any] = field(default_factory=dict)


def _kv(name: str) -> Row:
    return Row(f"KV cache {name}", ({"kind": "quantized_kv", "format": name},))


def _weights(name: str) -> Row:
    return Row(f"weights {name}", ({"kind": "quantized_weights", "format": name},))


def _speculative(method: str, on: str, **fields: Any) -> Row:
    return Row(f"speculative {method}", ({"kind": "speculative", "method": method, **fields},), on)


def _parallel(title: str, model: str, **fields: Any) -> Row:
    return Row(title, ({"kind": "parallel", **fields},), model)


ROWS = (
    Row("nothing (the reference)", ()),
    Row("nothing, tiny (the reference)", (), "tiny"),
    Row("prefix caching on", ({"kind": "prefix_cache"},)),
    Row("prefix caching off", ({"kind": "prefix_cache", "enabled": False},)),
    *map(_kv, KV),
    *map(_weights, WEIGHTS),
    _speculative("ngram", "embedded", **NGRAM),
    _speculative("draft_model", "tiny", model="tiny", tokens=3),
    _speculative("draft_model", "embedded", model="embedded", tokens=3),
    _speculative("suffix", "embedded", tokens=4),
    _parallel("tensor 2, 8 heads", "tiny", tensor=2),
    _parallel("tensor 2, 9 heads", "embedded", tensor=2),
    _parallel("pipeline 2", "tiny", pipeline=2),
    _parallel("tensor 2 by Ray", "tiny", tensor=2, executor="ray"),
    _parallel("tensor 2 on two nodes", "tiny", tensor=2, nnodes=2, master_addr="127.0.0.1"),
    Row("lora", ({"kind": "lora", "adapters": {"random": "lora"}},), "tiny"),
    Row(
        "disaggregated by NIXL",
        ({"kind": "disaggregated", "connector": {"kind": "nixl"}},),
        "tiny",
        {"kv_cache_memory": "512MiB"},
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bench:
    """Where rows are run."""

    folder: DataFolder
    environment: Environment
    models: Mapping[str, Path]
    scratch: Path

    def plan(self, number: int, row: Row) -> Plan:
        """The engines of a row; a draft is named like a model here."""
        modes = [self._placed(mode) for mode in row.modes]
        logs = self.scratch / str(number)
        return plan(self.folder, self.environment, self.models[row.model], modes, logs, **row.engine)

    def _placed(self, mode: Mapping[str, Any]) -> Mapping[str, Any]:
        """The mode with the folders of the models that it names."""
        if "model" in mode:
            return {**mode, "model": str(self.models[mode["model"]])}
        if "adapters" in mode:
            adapters = {name: str(self.models[model]) for name, model in mode["adapters"].items()}
            return {**mode, "adapters": adapters}
        return mode

    def references(self, row: Row) -> References:
        """The reference answers of the row's model, of this run alone."""
        return references(self.scratch / "answers", self.models[row.model])


async def run_row(bench: Bench, number: int, row: Row) -> str:
    """One line of the table."""
    what = bench.plan(number, row)
    refused = "; ".join(
        f"{entry.severity}: {entry.problem.what.partition(' (')[0]}"
        for entry in startup_problems(what.deployment, what.document, *what.contexts)
    )
    starts, effect, shows = await _run(bench, what, row)
    cells = (row.asked, row.model, refused or "-", starts, effect, shows)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", "; ") for cell in cells) + " |"


async def _run(bench: Bench, what: Plan, row: Row) -> tuple[str, str, str]:
    try:
        async with asyncio.timeout(ROW_WITHIN_S), _engines(bench, what, row) as engines:
            judged = [await verdicts(what, engine, bench.references(row)) for engine in engines]
            started = f"yes ({max(engine.started_s for engine in engines):.0f} s)"
            found = judged[-1]
            if len(engines) == 2:
                found = [await together(what, engines, verdict) for verdict in found]
    except TimeoutError:
        return f"not within {ROW_WITHIN_S:.0f} s", "-", "-"
    except TeapotError as error:
        return "**no**", "-", error.problems[0].what
    if not found:
        return started, "-", "its answers are the reference"
    shows = "; ".join(
        part for verdict in found for part in (verdict.evidence, *(f"*{w}*" for w in verdict.warnings))
    )
    effect = WORDS[min((v.in_effect for v in found), key=lambda value: (value is True, value is None))]
    return started, effect, shows


@asynccontextmanager
async def _engines(bench: Bench, what: Plan, row: Row) -> AsyncIterator[list[Running]]:
    """The engines of a row; of two nodes the first, while the second runs on the other core without API."""
    mode = next((mode for mode in row.modes if "nnodes" in mode), None)
    if mode is None:
        async with running(what) as engines:
            yield engines
        return
    port = free_port()
    nodes = [
        plan(
            bench.folder, bench.environment, bench.models[row.model],
            [{**mode, "node_rank": rank, "master_port": port}], what.logs / str(rank), cores=[rank],
        )
        for rank in (0, 1)
    ]  # fmt: skip
    spec = nodes[1].spec(0)
    # Only the command knows --headless; it lies beside the Python of the environment.
    command = (str(Path(spec.argv[0]).parent / "vllm"), "serve", *spec.argv[3:])
    second = EngineProcess(replace(spec, argv=command))
    second.start()
    try:
        async with running(nodes[0]) as engines:
            yield engines
    finally:
        second.kill()
        await second.stop(within_s=0.0)


def machine(environment: Environment) -> Iterator[str]:
    """What the table was made on."""
    cpu = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line)
    yield f"machine: {len(os.sched_getaffinity(0))} cores of {cpu.partition(': ')[2]}, {platform.system()}"
    yield f"versions: {', '.join(environment.record.get('packages', []))}, Python {platform.python_version()}"
    yield f"date: {datetime.now(UTC):%Y-%m-%d}; eager, KV cache 1 GiB, context 2,048"


def chosen(words: Sequence[str], done: str) -> list[tuple[int, Row]]:
    """Rows with any of the words (all without words) that `done` lacks, and their models' references."""
    rows = [
        row
        for row in ROWS
        if row.modes
        and (not words or any(word in row.asked for word in words))
        and f"| {row.asked} | {row.model} |" not in done
    ]
    models = {row.model for row in rows}
    return [(n, row) for n, row in enumerate(ROWS) if row in rows or (not row.modes and row.model in models)]


async def main(words: Sequence[str], out: Path | None) -> None:
    """Run the rows and print the table."""
    folder = data_folder(os.environ, Path.home()).make()
    environment = ensure_environment(choose_recipe("cpu", "auto"), folder, Console())
    embedded = ensure_embedded(EMBEDDED["smollm2-135m"], environment.python, folder, Console())
    with tempfile.TemporaryDirectory(prefix="teapot-modes-") as scratch:
        tiny = made("make_tiny_llama.py", environment, embedded, Path(scratch) / "tiny-llama")
        lora = made("make_lora.py", environment, tiny, Path(scratch) / "lora")
        bench = Bench(folder, environment, {"embedded": embedded, "tiny": tiny, "lora": lora}, Path(scratch))
        done = out.read_text() if out and out.exists() else ""
        heads = "| asked for | model | before the start | starts | in effect | how it shows |"
        if not done:
            say(
                [*(f"- {line}" for line in machine(environment)), "", heads, "|---|---|---|---|---|---|"], out
            )
        for number, row in chosen(words, done):
            say([await run_row(bench, number, row)], out)


def made(maker: str, environment: Environment, source: Path, out: Path) -> Path:
    """A small random model or adapter of the tests, made by the environment's Python."""
    script = Path(__file__).parent / maker
    subprocess.run([environment.python, script, source, out], check=True, capture_output=True)
    return out


def say(lines: list[str], out: Path | None) -> None:
    """Print lines, and add them to a file."""
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    sys.stdout.flush()
    if out:
        with out.open("a") as file:
            file.write(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", default="", help="rows with any of these words, between commas: tensor,lora"
    )
    parser.add_argument("--out", type=Path, help="a file to add the table to; its rows are not run again")
    args = parser.parse_args()
    asyncio.run(main([word for word in args.rows.split(",") if word], args.out))
