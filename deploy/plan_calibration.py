"""How much of a floor is reached, from a run: the floor at the run's own batch and lengths over its TPOT.

Owns: reading the run, and its batch. Knows nothing about floors (`serving.planner.roofline`), nor whether the
run was of the model that is planned: who names it says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from serving.planner.ask import Ask
from serving.planner.plan import speed
from serving.planner.refusals import refuse
from serving.planner.roofline import decode_floor


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

    summary = RunFolder(Path(run)).summary()
    tpot, decoding = _at(summary, "tpot_s", "p50"), decoding_at_once(summary)
    if not tpot or decoding is None:
        return ask
    batch = max(1, round(decoding / ask.ranks.data))
    context = ask.lengths.input_tokens + ask.lengths.output_tokens // 2
    share = decode_floor(served, batch=batch, context=context).seconds / tpot
    source = f"{run}: TPOT p50 {tpot * 1e3:.1f} ms at batch {batch} is {1 / share:.1f} times its floor"
    return replace(ask, efficiency=share, efficiency_source=source)


def decoding_at_once(summary: Mapping[str, Any]) -> float | None:
    """The mean number of requests past their first token: requests a second times their seconds (Little's
    law); None where the summary lacks one of these."""
    rate, whole, first = (
        summary.get("requests_per_s"),
        _at(summary, "e2e_s", "mean"),
        _at(summary, "ttft_s", "mean"),
    )
    if rate is None or whole is None or first is None:
        return None
    return float(rate) * (whole - first)


def _at(summary: Mapping[str, Any], key: str, part: str) -> float | None:
    value = (summary.get(key) or {}).get(part)
    return None if value is None else float(value)
