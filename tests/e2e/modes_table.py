"""The table of modes as they really behave, made by running each of them: `make bench-modes`.

    PYTHONPATH=.:tests .venv/bin/python -m e2e.modes_table [--only WORDS] [--out FILE]

Every row is started even where teapot refuses it, so that refusals are seen to be right. Some 20 starts,
half an hour on two cores. Results are Markdown on stdout, each row as soon as it is known.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from e2e.attested import references, sample, two_legs, verdicts
from e2e.engines import Plan, plan, running

from serving.config.startup import startup_problems
from serving.console import Console
from serving.engine.embedded import EMBEDDED, ensure_embedded
from serving.engine.environments import Environment
from serving.engine.folders import DataFolder, data_folder
from serving.engine.install import ensure_environment
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
        modes = [
            {**mode, "model": str(self.models[mode["model"]])} if "model" in mode else mode
            for mode in row.modes
        ]
        logs = self.scratch / str(number)
        return plan(self.folder, self.environment, self.models[row.model], modes, logs, **row.engine)

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
        async with asyncio.timeout(ROW_WITHIN_S), running(what) as engines:
            judged = [await verdicts(what, engine, bench.references(row)) for engine in engines]
            started = f"yes ({max(engine.started_s for engine in engines):.0f} s)"
            legs = ""
            if len(engines) == 2:
                prefiller, decoder = (engine.process.url for engine in engines)
                usage, metrics = await two_legs(bench.models[row.model].name, prefiller, decoder)
                moved = sample(metrics, ("vllm:prompt_tokens_by_source_total{", "external_kv_transfer"))
                legs = f"; by the two legs {moved:.0f} of {usage['prompt_tokens']} prompt tokens came over"
    except TimeoutError:
        return f"not within {ROW_WITHIN_S:.0f} s", "-", "-"
    except TeapotError as error:
        return "**no**", "-", error.problems[0].what
    found = judged[-1]
    if not found:
        return started, "-", "its answers are the reference"
    shows = "; ".join(
        part for verdict in found for part in (verdict.evidence, *(f"*{w}*" for w in verdict.warnings))
    )
    effect = WORDS[min((v.in_effect for v in found), key=lambda value: (value is True, value is None))]
    return started, "yes" if legs and " 0 of" not in legs else effect, shows + legs


def machine(environment: Environment) -> Iterator[str]:
    """What the table was made on."""
    cpu = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line)
    yield f"machine: {len(os.sched_getaffinity(0))} cores of {cpu.partition(': ')[2]}, {platform.system()}"
    yield f"versions: {', '.join(environment.record.get('packages', []))}, Python {platform.python_version()}"
    yield f"date: {datetime.now(UTC):%Y-%m-%d}; eager, KV cache 1 GiB, context 2,048"


async def main(only: str, out: Path | None) -> None:
    """Run the rows and print the table."""
    folder = data_folder(os.environ, Path.home()).make()
    environment = ensure_environment(choose_recipe("cpu", "auto"), folder, Console())
    embedded = ensure_embedded(EMBEDDED["smollm2-135m"], environment.python, folder, Console())
    with tempfile.TemporaryDirectory(prefix="teapot-modes-") as scratch:
        tiny = make_tiny_llama(environment, embedded, Path(scratch))
        bench = Bench(folder, environment, {"embedded": embedded, "tiny": tiny}, Path(scratch))
        heads = "| asked for | model | before the start | starts | in effect | how it shows |"
        lines = [*(f"- {line}" for line in machine(environment)), "", heads, "|---|---|---|---|---|---|"]
        say(lines, out)
        for number, row in enumerate(ROWS):
            if only in row.asked or row.asked.startswith("nothing"):
                lines.append(await run_row(bench, number, row))
                say(lines[-1:], out)


def make_tiny_llama(environment: Environment, tokenizer: Path, scratch: Path) -> Path:
    """The random Llama of the tests, whose 8 heads divide by two."""
    out = scratch / "tiny-llama"
    maker = Path(__file__).parent / "make_tiny_llama.py"
    subprocess.run([environment.python, maker, tokenizer, out], check=True, capture_output=True)
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
    parser.add_argument("--only", default="", help="rows whose name has these words (and the references)")
    parser.add_argument("--out", type=Path, help="a file to add the table to")
    args = parser.parse_args()
    asyncio.run(main(args.only, args.out))
