"""What is said of the load and of drafts: by options, by a workload's own draws, or by a run that happened.

Owns: reading them, and errors with option or file. Knows nothing about models, nor about what is planned.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from deploy.plan_calibration import figure
from serving.errors import UsageError
from serving.planner.ask import Ask, Lengths
from serving.planner.figure import Figure
from serving.planner.speculation import Drafting


def lengths(args: argparse.Namespace) -> Lengths | None:
    """The lengths of requests: by a run, a workload, or options; None: not said. Raises: UsageError."""
    _one_source_of_lengths(args)
    if args.run:
        return _run_lengths(args.run)
    if args.workload:
        from deploy.plan_workload import workload_pairs

        return _lengths(workload_pairs(args.workload), args.workload)
    if args.input_tokens is None and args.output_tokens is None:
        return None
    prompt, answer = args.input_tokens, args.output_tokens or 0
    total = prompt + answer
    p50 = args.p50_tokens or total
    p95 = args.p95_tokens or p50
    if p50 < prompt:
        raise UsageError(
            f"is {p50}, less than the prompt's {prompt} alone",
            where="--p50-tokens",
            fix="give prompt and answer together",
        )
    if p95 < p50:
        raise UsageError(
            f"is {p95}, below the median's {p50}", where="--p95-tokens", fix=f"give {p50} or more"
        )
    return Lengths(prompt, answer, p50, p95)


def _one_source_of_lengths(args: argparse.Namespace) -> None:
    """Refuse options that would be dropped. Raises: UsageError."""
    names = ("input", "output", "p50", "p95")
    said = [f"--{key}-tokens" for key in names if getattr(args, f"{key}_tokens") is not None]
    if args.run and args.workload:
        said.append("--workload")
    source = "--run" if args.run else "--workload" if args.workload else None
    if source and said:
        raise UsageError(
            f"{source} tells the lengths itself", where=", ".join(said), fix="leave one of them out"
        )
    if said and args.input_tokens is None:
        raise UsageError(
            "the tokens of a prompt are missing", where=", ".join(said), fix="give --input-tokens too"
        )


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
        value = figure(summary, key, "p50", run=path)
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
    if args.acceptance is not None and positions:
        raise UsageError(
            "both tell the acceptance", where="--acceptance, --acceptance-by-position", fix="give one of them"
        )
    tokens, draft = args.speculate, draft_speed(ask)
    if positions and len(positions) < tokens:
        raise UsageError(
            f"tells {len(positions)} positions and {tokens} tokens are drafted",
            where="--acceptance-by-position",
            fix=f"give a share for each of the {tokens}",
        )
    return Drafting(tokens=tokens, alpha=args.acceptance, positions=positions[:tokens], draft=draft)


def _positions(text: str | None) -> tuple[float, ...]:
    try:
        found = tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError:
        found = (-1.0,)
    if text == "" or any(not 0 <= share <= 1 for share in found):
        raise UsageError(
            f"'{text}' is no list of shares", where="--acceptance-by-position", fix="write 0.8,0.6,0.4"
        )
    if list(found) != sorted(found, reverse=True):
        raise UsageError(
            f"'{text}' rises: a draft that reaches a position has reached those before it",
            where="--acceptance-by-position",
            fix="give the share of drafts that reached each position, such as 0.8,0.6,0.4",
        )
    return found
