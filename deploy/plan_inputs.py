"""Reads the files that a plan is made from: a model's config and headers, a workload, a run folder.

Owns: opening them, and errors with file and key. Knows nothing about what is planned.
"""

from __future__ import annotations

import argparse
import json
import math
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from serving.errors import UsageError
from serving.planner.ask import Ask, Lengths
from serving.planner.figure import Figure
from serving.planner.headers import Checkpoint, checkpoint
from serving.planner.model import model_shape
from serving.planner.shape import ModelShape
from serving.planner.speculation import Drafting

MAX_HEADER_BYTES = 100_000_000
"""The format's own limit."""
DRAWN = 1000
"""Requests whose lengths are drawn to tell a workload's percentiles."""


def read_shape(model: str) -> tuple[ModelShape, Checkpoint | None]:
    """The shape of a folder, a config.json or a name that teapot knows, and its files' sums where they are.

    Raises: UsageError with file and key.
    """
    from serving.facts.load import model_configs

    path = Path(model).expanduser()
    if not path.exists() and model in model_configs():
        return model_shape(model_configs()[model], model, model), None
    file = path / "config.json" if path.is_dir() else path
    shape = model_shape(_config(file), str(file), path.name if path.is_dir() else str(file))
    return shape, read_checkpoint(path, shape) if path.is_dir() else None


def read_checkpoint(folder: Path, shape: ModelShape) -> Checkpoint | None:
    """The sums of a folder's safetensors headers as its model is loaded; None where there are none.

    Raises: UsageError with the file.
    """
    files = sorted(folder.glob("*.safetensors"))
    index = folder / "model.safetensors.index.json"
    if index.exists():
        named = _config(index).get("weight_map")
        if not isinstance(named, dict):
            raise UsageError("has no weight_map", where=f"{index}: weight_map", fix="copy it again")
        missing = sorted({str(name) for name in named.values()} - {file.name for file in files})
        if missing and files:
            raise UsageError(
                "is missing", where=str(folder / missing[0]), fix=f"{index.name} names it: copy it"
            )
    if not files:
        return None
    found = checkpoint(_headers(files), layers=len(shape.layers))
    return found.narrowed if shape.quantization is None else found


def _headers(files: list[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Format: 8 bytes little-endian length, then a JSON header, then the data."""
    for path in files:
        size = path.stat().st_size
        with path.open("rb") as file:
            prefix = file.read(8)
            length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else MAX_HEADER_BYTES + 1
            if length > MAX_HEADER_BYTES or 8 + length > size:
                raise UsageError(f"is cut: it has {size} bytes", where=str(path), fix="copy the file again")
            try:
                header = json.loads(file.read(length))
                ends = [int(row["data_offsets"][1]) for name, row in header.items() if name != "__metadata__"]
            except (ValueError, KeyError, TypeError, AttributeError, IndexError):
                raise UsageError(
                    "its header is not a safetensors header", where=str(path), fix="copy the file again"
                ) from None
        expected = 8 + length + max(ends, default=0)
        if size != expected:
            what = f"is cut: it has {size} bytes and its header says {expected}"
            raise UsageError(what, where=str(path), fix="copy the file again")
        yield str(path), header


def _config(file: Path) -> dict[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            "no such file", where=str(file), fix="give a folder with config.json, or a config.json"
        ) from None
    except json.JSONDecodeError as error:
        raise UsageError(
            f"is not JSON: {error.msg}", where=f"{file}:{error.lineno}", fix="is it cut? copy it again"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot be read: {error}", where=str(file), fix="check the file") from None
    if not isinstance(config, dict):
        raise UsageError("is not a JSON object", where=str(file), fix="give the model's config.json")
    return config


def lengths(args: argparse.Namespace) -> Lengths | None:
    """The lengths of requests: by a run, a workload, or options; None: not said. Raises: UsageError."""
    _one_source_of_lengths(args)
    if args.run:
        return _run_lengths(args.run)
    if args.workload:
        return _workload_lengths(args.workload)
    if args.input_tokens is None and args.output_tokens is None:
        return None
    prompt, answer = args.input_tokens or 0, args.output_tokens or 0
    if prompt < 1 or answer < 0:
        raise UsageError("is missing or below 1", where="--input-tokens", fix="give the tokens of a prompt")
    total = prompt + answer
    p50 = args.p50_tokens or total
    p95 = args.p95_tokens or p50
    if p95 < p50:
        raise UsageError(
            f"is {p95}, below the median's {p50}", where="--p95-tokens", fix=f"give {p50} or more"
        )
    return Lengths(prompt, answer, p50, p95)


def _one_source_of_lengths(args: argparse.Namespace) -> None:
    """Refuse options that would be dropped. Raises: UsageError."""
    said = [f"--{key}-tokens" for key in ("input", "output", "p50", "p95") if getattr(args, f"{key}_tokens")]
    source = "--run" if args.run else "--workload" if args.workload else None
    if source and said:
        raise UsageError(
            f"{source} tells the lengths itself", where=", ".join(said), fix="leave one of them out"
        )
    if said and args.input_tokens is None:
        raise UsageError(
            "the tokens of a prompt are missing", where=", ".join(said), fix="give --input-tokens too"
        )


def _workload_lengths(path: str) -> Lengths:
    """The lengths that the workload's own draws give, by its seed. Raises: UsageError."""
    from loadgen.lengths import drawer
    from loadgen.workload import Workload
    from loadgen.workload_lengths import FromFile
    from serving.config.load import load_model

    workload = load_model(path, Workload)
    asked = getattr(workload.prompts, "input_tokens", None)
    answered = getattr(workload.prompts, "output_tokens", None) or workload.sampling.max_tokens
    if asked is None or answered is None or isinstance(asked, FromFile) or isinstance(answered, FromFile):
        raise UsageError(
            f"prompts of kind {workload.prompts.kind} do not tell their lengths",
            where=f"{path}: prompts",
            fix="give --input-tokens and --output-tokens, or --run with a folder in which it ran",
        )
    prompt = drawer(asked, seed=workload.seed, name="input", files={})
    if isinstance(answered, int):
        fixed = answered
        pairs = [(prompt(index), fixed) for index in range(DRAWN)]
    else:
        answer = drawer(answered, seed=workload.seed, name="output", files={})
        pairs = [(prompt(index), answer(index)) for index in range(DRAWN)]
    return _lengths(pairs, path)


def _lengths(pairs: Sequence[tuple[int, int]], source: str) -> Lengths:
    """Quantiles of (prompt, answer) pairs."""
    totals = sorted(sum(pair) for pair in pairs)
    prompts, answers = sorted(pair[0] for pair in pairs), sorted(pair[1] for pair in pairs)
    return Lengths(_at(prompts, 0.5), _at(answers, 0.5), _at(totals, 0.5), _at(totals, 0.95), source=source)


def _run_lengths(path: str) -> Lengths:
    from loadgen.run_folder import RunFolder

    records = [r for r in RunFolder(Path(path)).records() if r.outcome == "ok" and r.prompt_tokens]
    if not records:
        raise UsageError("has no finished requests", where=path, fix="give the folder of a run that worked")
    return _lengths([(r.prompt_tokens or 0, r.output_tokens or 0) for r in records], path)


def _at(ordered: list[int], share: float) -> int:
    """The nearest-rank quantile: a length that really came."""
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def measured(path: str) -> dict[str, Figure]:
    """TPOT and TTFT of a run, to stand beside the floors. Raises: UsageError."""
    from loadgen.run_folder import RunFolder

    summary = RunFolder(Path(path)).summary()
    found = {}
    for name, key in (("tpot_measured_s", "tpot_s"), ("ttft_measured_s", "ttft_s")):
        value = (summary.get(key) or {}).get("p50")
        found[name] = Figure(value, "s", "measured", f"{path}: p50")
    return found


def drafting(args: argparse.Namespace, ask: Ask) -> Drafting | None:
    """What the options say of speculation. Raises: UsageError."""
    from serving.planner.plan import draft_speed

    if not args.speculate:
        told = args.acceptance is not None or args.acceptance_by_position
        if told:
            raise UsageError(
                "nothing is drafted that this could be said of",
                where="--acceptance, --acceptance-by-position",
                fix="give --speculate K too, the drafted tokens a step",
            )
        return None
    positions = _positions(args.acceptance_by_position)
    if args.acceptance is None and not positions:
        raise UsageError(
            "speculation needs an acceptance",
            where="--speculate",
            fix="give --acceptance 0.7, or --acceptance-by-position 0.8,0.6,0.4 as measured",
        )
    if args.acceptance is not None and not 0 <= args.acceptance <= 1:
        raise UsageError(f"is {args.acceptance}", where="--acceptance", fix="give a probability from 0 to 1")
    tokens, draft = args.speculate, draft_speed(ask)
    return Drafting(tokens=tokens, alpha=args.acceptance, positions=positions[:tokens], draft=draft)


def _positions(text: str | None) -> tuple[float, ...]:
    try:
        found = tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError:
        found = (-1.0,)
    if any(not 0 <= share <= 1 for share in found):
        raise UsageError(
            f"'{text}' is no list of shares", where="--acceptance-by-position", fix="write 0.8,0.6,0.4"
        )
    return found
