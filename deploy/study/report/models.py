"""The charts that need no run: what public models need in memory.

Owns: these charts. Knows nothing about the study beside which they stand.
"""

from __future__ import annotations

from collections.abc import Sequence

from deploy.study.report import bars as draw
from deploy.study.report.catalogue import LONG, Footprint
from deploy.study.report.chart import Drawn
from deploy.study.report.figures import GIB, size
from deploy.study.report.plot import Point, Series, axis, counted, ends, plot

MOST_LINES = 8
"""As many as markers can be told apart."""
CONTEXTS = tuple(1024 * 2**power for power in range(11))
WORDS = tuple((tokens, f"{tokens // 1024}k") for tokens in CONTEXTS)


def at_long(models: Sequence[Footprint]) -> Drawn:
    """KV cache of one request of 32k tokens, by model and format of the cache."""
    groups = [
        draw.Group(
            name=f"{model.short}, {model.kind}, {_billions(model)}",
            bars=(_bar("16 bits", model.kv.at(model.context), model, 1),
                  _bar("FP8", model.kv_fp8.at(model.context), model, 2)),
        )
        for model in sorted(models, key=lambda model: model.kv.at(model.context))
    ]  # fmt: skip
    rows = tuple(
        (model.name, model.kind, size(model.weight_bytes), size(model.kv.at(model.context)),
         size(model.kv_fp8.at(model.context)), f"{model.users_as_weights:.1f}")
        for model in models
    )  # fmt: skip
    head = (
        "model",
        "kind",
        "weights, 16 bits",
        f"KV at {LONG:,}",
        "the same in FP8",
        "users whose cache equals the weights",
    )
    caption = (
        "Weights at 16 bits, whatever a checkpoint is stored in. Models with a shorter limit: at that. "
        "The table says how many users at this context keep as many bytes as the weights have."
    )
    body = draw.bars(groups, says=f"KV cache of one request of {LONG:,} tokens by model")
    return Drawn(body=body, rows=rows, head=head, caption=caption, tag="projected")


def _billions(model: Footprint) -> str:
    total, active = model.parameters / 1e9, model.active_parameters / 1e9
    return f"{total:.3g} B" if total == active else f"{total:.3g} B, {active:.3g} B active"


def _bar(name: str, value: int, model: Footprint, look: int) -> draw.Bar:
    tip = f"{model.name}, {name}: {size(value)} at {model.context:,} tokens, projected"
    return draw.Bar(name=name, value=value / GIB, words=size(value), tip=tip, tag="projected", look=look)


def by_context(models: Sequence[Footprint]) -> Drawn:
    """KV cache against context: windows level off, states are constant."""
    shown = distinct(models)
    series = [
        Series(name=f"{model.short} ({model.kind})", points=_points(model), look=number)
        for number, model in enumerate(shown)
    ]
    x = counted("context, tokens, logarithmic", ends(series, "x"), WORDS)
    y = axis("KV cache of one request, GiB", ends(series, "y"), log=True)
    rows = tuple(
        (
            model.name,
            *(size(model.kv.at(tokens)) if tokens <= model.max_context else "" for tokens in CONTEXTS),
        )
        for model in models
    )
    body = plot(series, x, y, says="KV cache of one request against context by model", tall=420)
    return Drawn(body=body, rows=rows, head=("model", *(words for _, words in WORDS)), tag="projected")


def _points(model: Footprint) -> tuple[Point, ...]:
    return tuple(
        Point(x=tokens, y=model.kv.at(tokens) / GIB, tag="projected",
              tip=f"{model.name}: {size(model.kv.at(tokens))} at {tokens:,} tokens, projected")
        for tokens in CONTEXTS
        if tokens <= model.max_context
    )  # fmt: skip


def distinct(models: Sequence[Footprint]) -> list[Footprint]:
    """At most eight: first one of each kind, then the largest of those left, smallest cache first."""
    chosen: dict[str, Footprint] = {}
    for model in models:
        chosen.setdefault(model.kind, model)
    rest = [model for model in reversed(models) if model not in chosen.values()]
    picked = [*chosen.values(), *rest][:MOST_LINES]
    return sorted(picked, key=lambda model: model.kv.at(model.context))
