"""How much of a floor is reached, from a run: the floor at the run's own batch and lengths over its TPOT.

Owns: reading the run, and its batch. Knows nothing about floors (`serving.planner.roofline`), nor whether the
run was of the model that is planned: who names it says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serving.errors import UsageError
from serving.planner.ask import Ask
from serving.planner.plan import speed
from serving.planner.refusals import refuse
from serving.planner.roofline import decode_floor

if TYPE_CHECKING:
    from loadgen.run_folder import RunFolder

KINDS = {"16": "a GPU", "128": "a CPU"}
"""What an engine's own block size tells of its device, as `Ask.block_tokens` has it."""


def calibrate(ask: Ask, run: str) -> Ask:
    """The question with the share of the floor that a run reached; as it is where that cannot be told.

    An efficiency that is given stays. Speculation makes the share larger, up to more than 1: a step then
    gives several tokens.
    """
    refuse(ask)
    served = speed(ask)
    if served is None or ask.efficiency is not None or ask.lengths is None:
        return ask
    from loadgen.run_folder import RunFolder

    folder = RunFolder(Path(run))
    summary = folder.summary()
    tpot, decoding = figure(summary, "tpot_s", "p50", run=run), decoding_at_once(summary, run=run)
    if not tpot or decoding is None:
        return ask
    batch = max(1, round(decoding / ask.ranks.data))
    context = ask.lengths.input_tokens + ask.lengths.output_tokens // 2
    share = decode_floor(served, batch=batch, context=context).seconds / tpot
    source = f"{run}: TPOT p50 {tpot * 1e3:.1f} ms at batch {batch} is {1 / share:.1f} times its floor"
    notes = tuple(_elsewhere(folder, ask, run))
    shape = replace(ask.shape, notes=(*ask.shape.notes, *notes))
    return replace(ask, shape=shape, efficiency=share, efficiency_source=source)


def _elsewhere(folder: RunFolder, ask: Ask, run: str) -> Iterator[str]:
    """What a run says of itself that is not as it is planned: its times are then of something else."""
    try:
        manifest = folder.manifest()
    except UsageError:
        return  # a summary alone is enough to calibrate by
    if manifest.model and Path(manifest.model).name != Path(ask.shape.name).name:
        yield f"{run} was of '{manifest.model}': what is calibrated by it holds for that"
    block = manifest.cache_config.get("block_size")
    if block in KINDS and block != str(ask.block_tokens):
        yield f"{run} was on {KINDS[block]}, by its blocks of {block} tokens: so is its share of the floor"


def decoding_at_once(summary: Mapping[str, Any], *, run: str = "run") -> float | None:
    """The mean number of requests past their first token: requests a second times their seconds (Little's
    law); None where the summary lacks one of these."""
    rate = figure({"rate": {"mean": summary.get("requests_per_s")}}, "rate", "mean", run=run)
    whole, first = (figure(summary, key, "mean", run=run) for key in ("e2e_s", "ttft_s"))
    if rate is None or whole is None or first is None:
        return None
    return rate * (whole - first)


def figure(summary: Mapping[str, Any], key: str, part: str, *, run: str) -> float | None:
    """One figure of a run's summary; None where it has none. Raises: UsageError where it is no time."""
    section = summary.get(key)
    value = section.get(part) if isinstance(section, Mapping) else section
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        where = f"{run}/summary.json: {key}.{part}"
        raise UsageError(f"is {value!r:.40}, not a number from 0", where=where, fix="summarize the run again")
    return float(value)
