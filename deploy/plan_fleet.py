"""`teapot plan --fleet RATE`: how many replicas, from what one was measured to do.

Owns: the options, and where the goodput of one replica is read. Knows nothing about the arithmetic
(`serving.planner.fleet`). What it needs is imported when it runs: `--help` does not need it.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.commands.argument_types import count, duration, positive
from serving.console import Console
from serving.errors import EXIT_FAILED, EXIT_OK, Problem, UsageError

if TYPE_CHECKING:
    from serving.planner.fleet import Fleet

OPTIONS = (
    "goodput", "target", "between_failures", "repair", "rollout_every", "restart", "at_once", "surge",
    "together", "slots", "mean_e2e", "seed",
)  # fmt: skip
"""What means nothing without --fleet."""
TARGET, BETWEEN_FAILURES_S, REPAIR_S = 0.999, 7 * 86400.0, 600.0
YEARS = 20.0
EVENTS = 200_000
"""About so many are lived through: a large fleet gets fewer years."""
BESIDE = 7


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what is asked of a fleet."""
    group = parser.add_argument_group("fleet (without FILE and --model)")
    group.add_argument("--fleet", type=positive, metavar="RATE", help="requests/s to serve at the peak")
    group.add_argument(
        "--goodput", type=positive, help="requests/s of one replica within the SLO; default: --run's"
    )
    group.add_argument("--target", type=positive, help=f"share of the time, below 1; default: {TARGET}")
    group.add_argument("--between-failures", type=duration, help="of a replica, on average; assumed: 7d")
    group.add_argument("--repair", type=duration, help="until it answers again, on average; assumed: 10min")
    group.add_argument("--rollout-every", type=duration, help="such as 7d; default: no rollouts")
    group.add_argument("--restart", type=duration, help="of one replica in a rollout; default: --repair")
    group.add_argument("--at-once", type=count, help="replicas that a rollout takes together; default: 1")
    group.add_argument(
        "--surge", action="store_true", default=None, help="rollouts start new replicas beside the old ones"
    )
    group.add_argument("--together", type=count, help="replicas that fail as one (a machine's); default: 1")
    group.add_argument("--slots", type=count, help="requests one replica computes at once, to tell who waits")
    group.add_argument("--mean-e2e", type=duration, help="mean time of a request in its slot, with --slots")
    group.add_argument("--seed", type=int, help="of the fleet that is lived through; default: 1")


def refuse_without_fleet(args: argparse.Namespace) -> None:
    """Refuse options that would be dropped. Raises: UsageError with all of them."""
    said = [name for name in OPTIONS if getattr(args, name) is not None]
    if said:
        what = ", ".join(f"--{name.replace('_', '-')}" for name in said)
        raise UsageError("is said of no fleet", where=what, fix="give --fleet RATE, the peak in requests/s")


def plan_fleet(args: argparse.Namespace, console: Console) -> int:
    """Answer on stdout; exit 0 where a size was found, 1 where none is large enough. Raises: UsageError."""
    from random import Random

    from serving.planner.fleet import candidates, smallest
    from serving.planner.fleet_simulation import live
    from serving.planner.fleet_text import fleet_text, percent, waiting_text

    target = args.target if args.target is not None else TARGET
    goodput, source = _goodput(args)
    _check(args, target)
    fleet = _fleet(args, goodput)
    found = smallest(fleet, target)
    if found is None:
        console.document({"fleet": asdict(fleet), "target": target, "size": None})
        console.result(f"no number of replicas covers {fleet.peak_per_s:g} requests/s in {percent(target)}")
        return EXIT_FAILED
    years = _years(fleet, found.replicas)
    lived = live(fleet, found.replicas, years, Random(1 if args.seed is None else args.seed))
    first = max(0, (found.replicas - found.needed) // fleet.together - BESIDE + 3)
    around = list(islice(candidates(fleet), first, first + BESIDE))
    assumed = args.between_failures is None or args.repair is None
    text = fleet_text(fleet, found, around, lived, target, (source, "assumed" if assumed else "given"))
    if args.slots:
        text += f"\n\n{waiting_text(fleet, found, args.slots, args.mean_e2e)}"
    document: dict[str, Any] = {"fleet": asdict(fleet), "target": target, "size": asdict(found)}
    document |= {"sizes": [asdict(one) for one in around], "lived": asdict(lived), "goodput_source": source}
    console.document(document)
    console.result(text)
    return EXIT_OK


def _fleet(args: argparse.Namespace, goodput: float) -> Fleet:
    from serving.planner.fleet import Fleet

    repair = args.repair or REPAIR_S
    return Fleet(
        peak_per_s=args.fleet,
        goodput_per_s=goodput,
        between_failures_s=args.between_failures or BETWEEN_FAILURES_S,
        repair_s=repair,
        rollout_every_s=args.rollout_every,
        restart_s=args.restart or repair,
        at_once=args.at_once or 1,
        surge=bool(args.surge),
        together=args.together or 1,
    )


def _years(fleet: Fleet, replicas: int) -> float:
    """As many as are asked for, or as make about `EVENTS` events."""
    from serving.planner.fleet_simulation import YEAR_S

    groups = replicas / fleet.together
    each_year = 2 * groups * YEAR_S / (fleet.between_failures_s + fleet.repair_s)
    if fleet.rollout_every_s:
        each_year += replicas / fleet.at_once * YEAR_S / fleet.rollout_every_s
    return float(f"{min(YEARS, EVENTS / each_year):.2g}")


def _check(args: argparse.Namespace, target: float) -> None:
    wrong = []
    if args.file or args.model:
        wrong.append(
            Problem("a fleet is counted in replicas, whatever they are", "FILE, --model", "leave it out")
        )
    if target >= 1:
        wrong.append(Problem(f"is {target:g}, and something always fails", "--target", "give 0.999 or so"))
    if (args.repair or REPAIR_S) >= (args.between_failures or BETWEEN_FAILURES_S):
        wrong.append(
            Problem("takes as long as a replica lives", "--repair", "give less than --between-failures")
        )
    if bool(args.slots) != bool(args.mean_e2e):
        wrong.append(Problem("one is said without the other", "--slots, --mean-e2e", "give both"))
    if args.rollout_every is None:
        said = [name for name in ("restart", "at_once", "surge") if getattr(args, name) is not None]
        where = ", ".join(f"--{name.replace('_', '-')}" for name in said)
        wrong += [Problem("is said of no rollouts", where, "give --rollout-every too")] if said else []
    if wrong:
        raise UsageError.of(wrong)


def _goodput(args: argparse.Namespace) -> tuple[float, str]:
    """Of one replica, and where it was read: a number, a run, a search's highest load. Raises: UsageError."""
    if (args.goodput is None) == (args.run is None):
        raise UsageError(
            "one replica's goodput is needed, once", where="--goodput, --run",
            fix="give requests/s, or the folder of `teapot load run` or `teapot load search` of one replica",
        )  # fmt: skip
    if args.goodput is not None:
        return float(args.goodput), "given"
    folder = Path(args.run)
    if (folder / "search.json").is_file():
        return _measured(folder / _best_trial(folder / "search.json"), "the highest load of a search")
    return _measured(folder, "at the load of that run: a lower bound, unless it was the highest")


def _best_trial(file: Path) -> str:
    try:
        row = json.loads(file.read_text(encoding="utf-8"))
        met = (row["result"] or {}).get("met")
        folders = [t["folder"] for t in row["trials"] if t["value"] == met and t["outcome"] == "met"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"is no search: {error}", where=str(file), fix="give the folder of one") from None
    if not folders:
        raise UsageError(
            "no load met the objectives", where=str(file), fix="end the search, or search from a lower load"
        )
    return str(folders[-1])


def _measured(folder: Path, what: str) -> tuple[float, str]:
    from loadgen.run_folder import RunFolder

    summary = RunFolder(folder).summary()
    rate = (summary.get("goodput") or {}).get("requests_per_s")
    if not rate:
        raise UsageError(
            "has no goodput", where=str(folder), fix="give a run of a workload with an slo that was met"
        )
    if not summary.get("valid"):
        raise UsageError(
            f"is not valid: {'; '.join(map(str, summary.get('reasons') or ()))}",
            where=str(folder), fix="measure again, or give --goodput",
        )  # fmt: skip
    return float(rate), f"measured in {folder.as_posix()}, {what}"
