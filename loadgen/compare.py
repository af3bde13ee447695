"""`load compare`: run folders read as two sides, and whether they may be compared at all.

Owns: what must be equal for a comparison, and the document that says what came of it. Knows nothing
about how a difference is tested (`stats/compare.py`) or shown (`report/comparison.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from loadgen.results import plan_of, summarize_folder
from loadgen.run_folder import Manifest, RunFolder
from loadgen.stats.compare import Change, Settings, compare, overall
from loadgen.stats.metrics import DEFAULT, chosen
from loadgen.stats.sides import Run
from serving.errors import EXIT_FAILED, EXIT_INVALID_MEASUREMENT, EXIT_OK

COMPARISON_SCHEMA = 1
_APART = ("name", "slo")
"""Keys of a workload that change nothing of what is sent."""
EXIT_CODES = {"no regression": EXIT_OK, "regression": EXIT_FAILED}
"""Every other verdict is EXIT_INVALID_MEASUREMENT."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may ask of a comparison. `metrics` empty: the default ones."""

    metrics: tuple[str, ...] = ()
    floors: dict[str, tuple[float, float]] = field(default_factory=dict)
    seed: int = 1
    other_seeds: bool = False
    """Compare also runs whose workloads differ in their seed only; not paired then."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of it. `reasons` say why it is not comparable or inconclusive, `notes` what to know."""

    verdict: str
    paired: bool
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    sides: Mapping[str, Sequence[str]]
    changes: tuple[Change, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 no regression, 1 regression, 3 inconclusive or not comparable."""
        return EXIT_CODES.get(self.verdict, EXIT_INVALID_MEASUREMENT)

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": COMPARISON_SCHEMA,
            "verdict": self.verdict,
            "paired": self.paired,
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "sides": {side: list(folders) for side, folders in self.sides.items()},
            "metrics": [_row(change) for change in self.changes],
        }


@dataclass(frozen=True, slots=True)
class _Read:
    """One run folder, read."""

    name: str
    manifest: Manifest
    run: Run
    summary: Mapping[str, Any]


def compare_folders(a: Sequence[Path], b: Sequence[Path], options: Options) -> Comparison:
    """Compare two sides of one run folder or more each. Raises: UsageError for what is no run folder."""
    first, second = [_read(path) for path in a], [_read(path) for path in b]
    everything = [*first, *second]
    sides = {"a": [read.name for read in first], "b": [read.name for read in second]}
    paired = len({read.manifest.fingerprint for read in everything}) == 1
    refused = list(_not_comparable(everything, options, paired=paired))
    if refused:
        return Comparison("not comparable", paired, tuple(refused), (), sides)
    closed = any(read.run.plan.closed for read in everything)
    names = options.metrics or (*DEFAULT, *(["output_tokens_per_s"] if closed else []))
    settings = Settings(metrics=chosen(names, options.floors), paired=paired, seed=options.seed)
    changes = compare([read.run for read in first], [read.run for read in second], settings)
    reasons = [
        f"{read.name} is not a valid measurement: {reason}"
        for read in everything
        for reason in read.summary["reasons"]
    ]
    verdict = overall(changes)
    if options.metrics and any(change.verdict == "not judged" for change in changes):
        reasons.append("a metric that was asked for could not be judged")
        verdict = "regression" if verdict == "regression" else "inconclusive"
    if any(not read.summary["valid"] for read in everything):
        verdict = "inconclusive"
    return Comparison(
        verdict, paired, tuple(reasons), tuple(_notes(first, second, paired=paired)), sides, tuple(changes)
    )


def _read(path: Path) -> _Read:
    folder = RunFolder(path)
    manifest = folder.manifest()
    measured = tuple(record for record in folder.records() if record.phase == "measure")
    plan = plan_of(manifest.workload, folder.timetable(), folder.account())
    return _Read(str(path), manifest, Run(measured, plan), summarize_folder(folder))


def _not_comparable(reads: Sequence[_Read], options: Options, *, paired: bool) -> Iterator[str]:
    """Why these runs are measurements of different things."""
    if paired:
        return
    first = reads[0]
    for other in reads[1:]:
        if other.manifest.fingerprint == first.manifest.fingerprint:
            continue
        differing = list(_differing(_sent(first.manifest), _sent(other.manifest)))
        if differing == ["seed"] and options.other_seeds:
            continue
        hint = "; --other-seeds compares them without pairing" if differing == ["seed"] else ""
        what = ", ".join(
            f"{key} ({_at(first.manifest.workload, key)} and {_at(other.manifest.workload, key)})"
            for key in differing
        )
        yield (
            f"{first.name} and {other.name} ran different workloads:"
            f" {what or 'their fingerprints differ (another version or another input file)'}{hint}"
        )


def _sent(manifest: Manifest) -> dict[str, Any]:
    return {key: value for key, value in manifest.workload.items() if key not in _APART}


def _differing(a: Any, b: Any, prefix: str = "") -> Iterator[str]:
    """The keys whose values differ, nested ones joined by dots."""
    if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
        if a != b:
            yield prefix
        return
    for key in sorted({*a, *b}):
        yield from _differing(a.get(key), b.get(key), f"{prefix}.{key}" if prefix else key)


def _at(workload: Any, key: str) -> Any:
    for part in key.split("."):
        workload = workload.get(part) if isinstance(workload, Mapping) else None
    return workload


def _notes(a: Sequence[_Read], b: Sequence[_Read], *, paired: bool) -> Iterator[str]:
    """What differs beside the workload, and what the verdict does not know."""
    if min(len(a), len(b)) == 1:
        yield (
            "one run on a side: nothing is known of what changes from run to run, and the floors alone stand"
            " against it; give several, as in A1,A2,A3 B1,B2,B3"
        )
    if not paired:
        yield "the seeds differ, so requests are not paired: intervals are wider"
    reads = [*a, *b]
    for name in ("model", "target"):
        values = sorted({str(getattr(read.manifest, name)) for read in reads})
        if len(values) > 1:
            yield f"{name} differs: {', '.join(values)}"
    if len({str(sorted(read.manifest.machine.items())) for read in reads}) > 1:
        yield "the load came from different machines"
    if len({str(read.run.plan.slo) for read in reads}) > 1:
        yield "the SLOs differ: each run's goodput is by its own"
    growing = [read.name for read in reads if (read.summary["saturation"] or {}).get("verdict") == "growing"]
    if growing:
        yield f"past capacity, so latencies grow with the length of the run: {', '.join(growing)}"


def _row(change: Change) -> dict[str, Any]:
    metric = change.metric
    difference = change.b - change.a if change.a is not None and change.b is not None else None
    ratio = difference / change.a if difference is not None and change.a else None
    return {
        "metric": metric.name,
        "a": change.a,
        "b": change.b,
        "change": difference,
        "change_ratio": ratio,
        "interval90": None if change.interval is None else list(change.interval),
        "interval_judged": None if change.wide is None else list(change.wide),
        "floor": None if change.a is None else metric.floor(change.a),
        "limit": None if change.a is None else metric.limit(change.a),
        "higher_is_better": metric.higher_is_better,
        "verdict": change.verdict,
        "why": change.why,
        "settings": {
            key: value for key, value in asdict(metric).items() if key.startswith(("floor", "limit"))
        },
    }
