"""A study made by hand: every figure on its page is one that was written here.

Owns: the design, rows and summary of one study with all levers, and its folder. The figures are round, not
results of a run; nothing of the code under test works them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deploy.study.folder import StudyFolder
from deploy.study.results import ArmResult, Figure, Missing, Prediction, Ratio, Row, Summary, Tag
from deploy.study.rows import Arm, Design, Estimate, Planned, PlannedCell, PlannedStart, StartRow

MIB = 1024**2
SMALL, OTHER = "smollm2-135m", "toy-llama"
FP8_KV = {"kind": "quantized_kv", "format": "fp8"}
FP8_WEIGHTS = {"kind": "quantized_weights", "format": "fp8_per_block"}


def closed(users: int, input_tokens: int = 128) -> dict[str, Any]:
    """A normalized workload of so many users."""
    return {
        "arrival": {"process": "closed", "concurrency": users, "duration": 20.0},
        "prompts": {"kind": "random_tokens", "input_tokens": input_tokens, "output_tokens": 64},
        "sampling": {"temperature": 0.0, "ignore_eos": True},
    }


WORKLOADS = {"chat-1": closed(1), "chat-4": closed(4), "chat-16": closed(16), "code": closed(1, 300)}


def ngram(tokens: int) -> dict[str, Any]:
    """The mode that looks tokens up."""
    return {"kind": "speculative", "method": "ngram", "tokens": tokens}


def an_arm(name: str, *modes: Mapping[str, Any], per_token: float = 46_080, **more: Any) -> Arm:
    """An arm with these modes, the last of them its own."""
    settings: dict[str, Any] = {
        "deployment": {"name": name, "engine": {"max_model_len": 2048}, "modes": list(modes)},
        "fragment": {"modes": list(modes[-1:])} if modes else {},
        "model": SMALL,
        "planned": Planned(weight_bytes=256 * MIB, kv_cache_tokens=20_000, kv_bytes_per_token=per_token),
    }
    return Arm(name=name, **{**settings, **more})


ARMS = (
    an_arm("plain"),
    an_arm("fp8-kv", FP8_KV, per_token=23_040),
    an_arm("stacked", FP8_KV, FP8_WEIGHTS, per_token=23_040, on="fp8-kv"),
    an_arm("ngram-2", ngram(2), drafted_tokens=2),
    an_arm("ngram-4", ngram(4), drafted_tokens=4),
    an_arm("other", model=OTHER),
    an_arm("huge", ruled_out="200 GiB of KV cache do not fit <into> 24 GiB"),
    an_arm("broken", {"kind": "parallel", "tensor": 2}),
)


def planned_start(number: int, arm: str) -> PlannedStart:
    """One life of an arm with every workload in it."""
    cells = (
        PlannedCell(id=f"{number:03d}-{arm}-{name}", start=number, arm=arm, block=1, workload=name)
        for name in WORKLOADS
    )
    return PlannedStart(number=number, arm=arm, cells=tuple(cells))


STARTS = tuple(
    planned_start(number, arm.name) for number, arm in enumerate((a for a in ARMS if a.runs), start=1)
)


def design(**changes: Any) -> Design:
    """study.json."""
    settings: dict[str, Any] = {
        "name": "levers", "title": "Levers of a small model", "file": "levers.yaml", "fingerprint": "f" * 64,
        "seed": 7, "repeats": 3, "hold": True, "control": "plain", "quality": True, "budget_s": 900.0,
        "arms": ARMS, "workloads": WORKLOADS, "starts": STARTS,
        "estimate": Estimate(total_s=800.0, start_s=40.0), "versions": {"vllm": "0.32.0"},
        "machine": {"cpu": "two <cores>"}, "created": "2026-11-29T12:00:00",
    }  # fmt: skip
    return Design(**{**settings, **changes})


def figure(
    value: float, unit: str, spread: float | None = 0.02, *, n: int = 3, tag: Tag = "measured"
) -> Figure:
    """A figure with an interval of so large a part on both sides."""
    low, high = (None, None) if spread is None else (value * (1 - spread), value * (1 + spread))
    return Figure(value=value, low=low, high=high, n=n, unit=unit, tag=tag, cells=("001-plain-chat-1",))


def row(arm: str, workload: str | None, measure: str, told: Figure) -> Row:
    """One figure of an arm."""
    return Row(arm=arm, workload=workload, measure=measure, figure=told)


def _speeds() -> list[Row]:
    told = {
        "plain": (20, 60, 120, 18), "fp8-kv": (19, 58, 125, 17), "stacked": (25, 70, 130, 22),
        "ngram-2": (24, 62, 110, 27), "ngram-4": (26, 60, 100, 36), "other": (90, 200, 400, 80),
    }  # fmt: skip
    found = []
    for arm, values in told.items():
        for workload, value in zip(WORKLOADS, values, strict=True):
            users = WORKLOADS[workload]["arrival"]["concurrency"]
            found.append(row(arm, workload, "output_tokens_per_s", figure(value, "tokens/s")))
            each = figure(value / users * 1.1, "tokens/s")
            found.append(row(arm, workload, "tokens_per_s_per_user", each))
    return found


def _memory() -> list[Row]:
    told = {"plain": (10, 40, 160, 20), "fp8-kv": (5, 20, 80, 10), "stacked": (5, 20, 80, 10)}
    found = []
    for arm, values in told.items():
        weights = 150 if arm == "stacked" else 256
        for workload, value in zip(WORKLOADS, values, strict=True):
            found.append(row(arm, workload, "kv_in_use_bytes", figure(value * MIB, "bytes")))
            found.append(row(arm, workload, "memory_bytes", figure((weights + value) * MIB, "bytes")))
        found.append(row(arm, None, "weights_bytes", figure(weights * MIB, "bytes", 0.0)))
        found.append(row(arm, None, "kv_cache_bytes", figure(1024 * MIB, "bytes", 0.0)))
    held = {"plain": 93_184, "fp8-kv": 186_368, "stacked": 186_368, "ngram-2": 93_184, "ngram-4": 93_184}
    found += [row(arm, None, "kv_cache_tokens", figure(value, "tokens", 0.0)) for arm, value in held.items()]
    return found


def _accepted() -> list[Row]:
    """Of ngram: (acceptance, length, tokens a pass, share of the output), by k and workload."""
    told = {
        ("ngram-2", "chat-1"): (0.50, 2.0, 1.6, 0.375), ("ngram-4", "chat-1"): (0.35, 2.4, 1.7, 0.41),
        ("ngram-2", "code"): (0.80, 2.6, 2.2, 0.545), ("ngram-4", "code"): (0.70, 3.8, 2.8, 0.643),
    }  # fmt: skip
    names = ("acceptance_ratio", "acceptance_length", "tokens_per_pass", "drafted_share")
    units = ("ratio", "tokens", "tokens", "ratio")
    return [
        row(arm, workload, name, figure(value, unit))
        for (arm, workload), values in told.items()
        for name, unit, value in zip(names, units, values, strict=True)
    ]


def ratio(arm: str, measure: str, workload: str | None, value: float, **more: Any) -> Ratio:
    """A measure over the control's."""
    settings: dict[str, Any] = {"over": "plain", "paired": True, "better": None, **more}
    told = figure(value, "x", settings.pop("spread", 0.03))
    return Ratio(arm=arm, workload=workload, measure=measure, figure=told, **settings)


def prediction(arm: str, measure: str, workload: str | None, predicted: float, told: Figure) -> Prediction:
    """What the planner said beside what was measured."""
    return Prediction(
        arm=arm, over="plain", workload=workload, measure=measure, predicted=predicted, measured=told,
        tag="calibrated" if workload else "projected", formula="E t / (k t_d + t_v)",
        error_ratio=(told.value - predicted) / predicted, held=predicted == told.value,
    )  # fmt: skip


def estimate(
    value: float, low: float | None, high: float | None, n: int = 12, of: str = "documents"
) -> dict[str, Any]:
    """A figure of a quality verdict."""
    return {"value": value, "low": low, "high": high, "n": n, "of": of}


def _against(ratio: float, match: float, prefix: float, distance: float) -> dict[str, Any]:
    return {
        "perplexity": estimate(9.8 * ratio, 5.9 * ratio, 19.5 * ratio),
        "perplexity_ratio": estimate(ratio, ratio - 0.004, ratio + 0.004),
        "nll_difference": estimate(ratio - 1, ratio - 1.004, ratio - 0.996),
        "nll_distance": estimate(distance, distance * 0.9, distance * 1.1),
        "exact_match": estimate(match, max(0, match - 0.1), min(1, match + 0.05), 36, "prompts"),
        "matched_prefix": estimate(prefix, prefix - 0.05, min(1, prefix + 0.05), 36, "prompts"),
    }


def verdict(arm: str, *, ratio: float, match: float, prefix: float, distance: float) -> dict[str, Any]:
    """What quality said of an arm; the control is itself again but for one answer of 36."""
    return {
        "arm": arm, "block": 1, "against": _against(ratio, match, prefix, distance),
        "itself": _against(1.0, 0.97, 0.99, 0.0), "control_perplexity": estimate(9.8, 5.9, 19.5),
        "fewer_matches_p": 0.01, "tokens": 4041, "window_chars": 2000, "answer_tokens": 24,
    }  # fmt: skip


def _result(arm: Arm) -> ArmResult:
    shown = {"kind": "quantized_kv", "asked": "kv fp8", "in_effect": True, "evidence": "186,368 tokens"}
    return ArmResult(
        name=arm.name,
        state="ruled out" if not arm.runs else "failed" if arm.name == "broken" else "done",
        reason=arm.ruled_out,
        model=arm.model,
        modes=(shown,) if arm.name == "fp8-kv" else (),
        cells_done=4,
        cells_planned=4,
    )


def summary(**changes: Any) -> Summary:
    """summary.json."""
    lost = "not started: 200 GiB of KV cache do not fit <into> 24 GiB"
    settings: dict[str, Any] = {
        "name": "levers", "title": "Levers of a small model", "control": "plain", "repeats": 3, "hold": True,
        "complete": False, "arms": tuple(map(_result, ARMS)), "workloads": WORKLOADS,
        "rows": (*_speeds(), *_memory(), *_accepted()),
        "ratios": (
            ratio("fp8-kv", "kv_cache_tokens", None, 2.0, spread=0.0, better=True),
            ratio("fp8-kv", "output_tokens_per_s", "chat-16", 1.04),
            ratio("ngram-4", "output_tokens_per_s", "code", 2.0, better=True),
            ratio("ngram-4", "output_tokens_per_s", "chat-16", 0.83, better=False),
            ratio("stacked", "weights_bytes", None, 0.586, spread=0.0, better=True),
        ),
        "predictions": (
            prediction("fp8-kv", "kv_cache_tokens", None, 2.0, figure(2.0, "x", 0.0)),
            prediction("ngram-4", "output_tokens_per_s", "code", 2.5, figure(2.0, "x", 0.03)),
        ),
        "missing": (
            Missing(what="arm", id="huge", arm="huge", reason=lost),
            Missing(what="start", id="007-broken", arm="broken", reason="died", log_tail=("9 heads & 2",)),
        ),
        "words": ("FP8 KV doubled capacity: 93,184 -> 186,368 tokens.", "ngram lost <17 %> at 16 users."),
        "quality": (
            verdict("plain", ratio=1.0, match=0.97, prefix=0.99, distance=0.0),
            verdict("fp8-kv", ratio=1.01, match=0.61, prefix=0.8, distance=0.03),
            verdict("stacked", ratio=1.05, match=0.42, prefix=0.6, distance=0.09),
        ),
        "notes": ("Starts were held: an arm and its start cannot be told apart.",),
        "cost": {"starts": 7, "wall_s": 780.0}, "seed": 7,
    }  # fmt: skip
    return Summary(**{**settings, **changes})


def starts() -> tuple[StartRow, ...]:
    """start.json of each start."""
    return tuple(
        StartRow(
            start=start.number,
            arm=start.arm,
            state="failed" if start.arm == "broken" else "ended",
            began="2026-11-29T12:00:01",
            took_s=41.0,
            cache_config={"kv_cache_size_tokens": "93184"},
        )
        for start in STARTS
    )


def study_folder(place: Path) -> StudyFolder:
    """The study as files."""
    made = StudyFolder(place)
    made.create(design())
    for planned, life in zip(STARTS, starts(), strict=True):
        made.write_start(planned, life)
    made.write_summary(summary())
    return made
