"""A fleet's size in words, and drawn in a terminal: how many nines each number of replicas gives.

Owns: the wording. Knows nothing about consoles: text comes out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from serving.planner.fleet import Fleet, Size, availability, mean_wait_s, must_wait, rollout_s
from serving.planner.fleet_simulation import Lived

NINE = 8
"""Characters of the bar for each nine of what is covered."""
MOST_NINES = 1e-6
UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def fleet_text(
    fleet: Fleet, chosen: Size, around: Sequence[Size], lived: Lived, target: float, sources: Sequence[str]
) -> str:
    """The answer first, then what it rests on, then the sizes beside it."""
    lines = [
        f"{chosen.replicas} replicas cover {fleet.peak_per_s:g} requests/s in"
        f" {percent(chosen.covered)} of the time (asked: {percent(target)})",
        f"  one replica    {fleet.goodput_per_s:g} requests/s within the SLO ({sources[0]})",
        f"  needed         {chosen.needed} when all answer",
        f"  failures       one every {spell(fleet.between_failures_s)} a {_failing(fleet)}, back after"
        f" {spell(fleet.repair_s)} ({sources[1]}): up in {percent(availability(fleet))}",
    ]
    if fleet.rollout_every_s is not None:
        lines.append(f"  rollouts       {_rollouts(fleet, chosen)}")
    lines.append(
        f"  lived through  {lived.years:g} years: covered in {percent(lived.covered)}; {_shortfalls(lived)}"
    )
    return "\n".join([*lines, "", *chart(around, chosen)])


def waiting_text(fleet: Fleet, chosen: Size, slots: int, service_s: float) -> str:
    """Who waits for a slot at the peak, while all answer and while just those needed do."""
    parts = []
    for replicas in dict.fromkeys((chosen.replicas, chosen.needed)):
        servers, load = replicas * slots, fleet.peak_per_s * service_s
        if load >= servers:
            parts.append(
                f"with {replicas} up the {servers} slots are too few for {load:.0f} requests at once"
            )
        else:
            share, wait = must_wait(servers, load), mean_wait_s(servers, load, service_s)
            parts.append(f"with {replicas} up {percent(share)} wait, {wait:.3f} s on average")
    return f"  waiting        {'; '.join(parts)}"


def chart(sizes: Sequence[Size], chosen: Size) -> list[str]:
    """A line for each size; the bar has a fixed length for each nine."""
    rollouts = any(one.covered_in_rollouts is not None for one in sizes)
    lines = ["  replicas      covered" + ("  in rollouts" if rollouts else "") + "   shed  nines"]
    for one in sizes:
        within = "" if one.covered_in_rollouts is None else f"  {percent(one.covered_in_rollouts):>11}"
        bar = "█" * round(NINE * nines(one.covered))
        mark = ">" if one == chosen else " "
        line = f"{mark} {one.replicas:>8}  {percent(one.covered):>11}{within}  {_small(one.shed)}  {bar}"
        lines.append(line.rstrip())
    return lines


def nines(share: float) -> float:
    """0.999 has 3; never more than 6."""
    return -math.log10(max(1.0 - share, MOST_NINES))


def percent(share: float) -> str:
    """With as many digits as tell it from 100 %. Beyond six nines it is not told: too much is left out."""
    missing = 1.0 - share
    if missing < MOST_NINES:
        return "> 99.9999 %"
    digits = max(1, math.ceil(-math.log10(missing * 100)) + 1)
    # Rounded down, but first to the digits that a float has: 0.999 * 1000 is a hair below 999.
    return f"{math.floor(round(share * 100 * 10**digits, 6)) / 10**digits:.{digits}f} %"


def spell(seconds: float) -> str:
    """In the largest unit that it fills."""
    for unit_s, unit in UNITS:
        if seconds >= unit_s:
            return f"{seconds / unit_s:.3g} {unit}"
    return f"{seconds:.2g} s"


def _small(ratio: float) -> str:
    return f"{ratio:5.0e}" if ratio >= 1e-9 else "    0"


def _rollouts(fleet: Fleet, chosen: Size) -> str:
    way = "with a surge, none away" if fleet.surge else f"{fleet.at_once} away at once"
    said = f"every {spell(fleet.rollout_every_s or 0.0)}, {way}, {spell(fleet.restart_s)} each:"
    said += f" {spell(rollout_s(fleet, chosen.replicas))} long"
    if chosen.in_rollouts >= 1.0:
        said += ", so the next is due before one is over"
    return f"{said}; the peak is covered in {percent(chosen.covered_in_rollouts or 0.0)} of that"


def _failing(fleet: Fleet) -> str:
    return "replica" if fleet.together == 1 else f"machine of {fleet.together} replicas"


def _shortfalls(lived: Lived) -> str:
    if not lived.shortfalls:
        return "it was never short"
    return f"{lived.shortfalls / lived.years:.2g} shortfalls a year, the longest {spell(lived.longest_s)}"
