"""A summary written by hand: two arms and one that could not run, one workload, known numbers."""

from __future__ import annotations

from deploy.study.results import ArmResult, Figure, Missing, Prediction, Ratio, Row, Summary


def figure(value: float, low: float | None = None, high: float | None = None, unit: str = "x") -> Figure:
    """A figure of three repeats."""
    return Figure(value=value, low=low, high=high, n=3, unit=unit, cells=("001", "002", "003"))


def summary() -> Summary:
    """FP8 doubles the capacity, and gives 1.10x [1.02, 1.19] of the output; tensor-2 is ruled out."""
    rate, tokens = "output_tokens_per_s", "kv_cache_tokens"
    return Summary(
        name="two",
        control="plain",
        repeats=3,
        hold=False,
        complete=True,
        arms=(
            ArmResult(name="plain", state="done", model="m", cells_done=3, cells_planned=3),
            ArmResult(
                name="fp8", state="done", model="m", cells_done=3, cells_planned=3,
                modes=({"kind": "quantized_kv", "asked": "fp8", "in_effect": True, "evidence": "e"},),
            ),
            ArmResult(name="tensor-2", state="ruled out", reason="9 heads", model="m"),
        ),
        workloads={"chat": {}},
        rows=(
            Row(arm="plain", workload=None, measure=tokens, figure=figure(93184, 93184, 93184, "tokens")),
            Row(arm="fp8", workload=None, measure=tokens, figure=figure(186368, 186368, 186368, "tokens")),
            Row(arm="plain", workload="chat", measure=rate, figure=figure(40.0, 38.0, 42.0, "tokens/s")),
            Row(arm="fp8", workload="chat", measure=rate, figure=figure(44.0, 41.0, 47.0, "tokens/s")),
            Row(arm="plain", workload="chat", measure="ttft_p50_s", figure=figure(0.35, 0.3, 0.4, "s")),
        ),
        ratios=(
            Ratio(arm="fp8", over="plain", workload=None, measure=tokens, figure=figure(2.0, 2.0, 2.0),
                  paired=True, better=True),
            Ratio(arm="fp8", over="plain", workload="chat", measure=rate, figure=figure(1.1, 1.02, 1.19),
                  paired=True, better=True),
            Ratio(arm="fp8", over="plain", workload="chat", measure="ttft_p50_s",
                  figure=figure(1.01, 0.9, 1.1), paired=True, better=None),
        ),
        predictions=(
            Prediction(arm="fp8", over="plain", workload=None, measure=tokens, predicted=2.0,
                       measured=figure(2.0, 2.0, 2.0), tag="projected", formula="f", error_ratio=0.0,
                       held=True),
            Prediction(arm="fp8", over="plain", workload="chat", measure=rate, predicted=1.5,
                       measured=figure(1.1, 1.02, 1.19), tag="calibrated", formula="f",
                       error_ratio=1.1 / 1.5 - 1, held=False),
        ),
        missing=(
            Missing(what="arm", id="tensor-2", arm="tensor-2", reason="not started: 9 heads"),
            Missing(what="cell", id="009-fp8-chat", arm="fp8", reason="not reached"),
        ),
    )  # fmt: skip
