"""report.html of a study: one file that needs no network, in the order in which people ask.

Owns: the table of all charts and the order of the page. Knows nothing about files: values in, text out.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from deploy.study.report import batch, cache, fidelity, levers, models, sections, speculation
from deploy.study.report.catalogue import LONG, Footprint
from deploy.study.report.chart import Chart, Drawn
from deploy.study.report.look import LOOK, SCRIPT
from deploy.study.report.view import View
from loadgen.report.sections import table
from loadgen.report.style import STYLE

CHARTS: tuple[Chart, ...] = (
    levers.GLANCE_CHART,
    *speculation.CHARTS,
    *cache.CHARTS,
    *batch.CHARTS,
    *fidelity.CHARTS,
    *levers.CHARTS,
)
"""Every chart of a study, in the order of the page. A new one is a row here."""

HOW_TO_READ = (
    "Filled marks and solid lines are measured; hollow marks and dashed lines are not: projected is "
    "arithmetic "
    "alone, calibrated is arithmetic with a figure measured here. Whiskers are 95 % intervals over n repeats "
    "(Student t; ratios over pairs of repeats, on logarithms). Grey is the control. Every mark says its "
    "numbers when it is pointed at or reached with the Tab key, and below each chart they stand in a table."
)


def page(view: View, catalogue: Sequence[Footprint] = ()) -> str:
    """Render a study, and beside it what the models of a catalogue need."""
    summary, design = view.summary, view.design
    title = summary.title or design.title or design.name
    ended = "complete" if summary.complete else "not complete"
    about = f"{design.created} \u00b7 {len(view.summary.arms)} arms, {design.repeats} repeats \u00b7 {ended}"
    parts = [
        f'<h1>{escape(title)}</h1><p class="soft">{escape(about)}</p>',
        sections.words(summary),
        _contents(),
        _models(view),
        f'<h2 id="missing">What failed, was ruled out or not reached</h2>{sections.missing(summary)}',
        f'<h2 id="arms">The arms</h2>{sections.arms(view)}',
        f'<h2 id="figures">All figures</h2>{sections.figures(summary)}{sections.definitions(summary)}',
        _catalogue(catalogue),
        f'<h2 id="manifest">How it was run</h2>{sections.manifest(view)}',
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}: study</title>\n<style>{STYLE}{LOOK}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + f"\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _contents() -> str:
    places = (
        ("charts", "Charts"), ("missing", "Failed and ruled out"), ("arms", "Arms"),
        ("figures", "All figures"),
        ("models", "Public models"), ("manifest", "How it was run"),
    )  # fmt: skip
    links = "".join(f'<a href="#{place}">{name}</a>' for place, name in places)
    return f'<nav aria-label="On this page">{links}</nav>'


def _models(view: View) -> str:
    """The charts, model by model where there are several."""
    found = view.models()
    intro = f'<h2 id="charts">Charts</h2><p class="soft">{escape(HOW_TO_READ)}</p>'
    if len(found) < 2:
        return intro + _charts(view, "")
    options = "".join(f"<option>{escape(model)}</option>" for model in found)
    select = (
        '<label class="pick">Model <select id="model"><option value="">all</option>'
        + options
        + "</select></label>"
    )
    return (
        intro
        + select
        + "".join(
            f'<section data-model="{escape(model)}"><h2>{escape(model)}</h2>'
            f"{_charts(view.only(model), f'-{number}')}</section>"
            for number, model in enumerate(found)
        )
    )


def _charts(view: View, suffix: str) -> str:
    drawn, without = [], []
    for chart in CHARTS:
        found = chart.draw(view)
        if found is None:
            without.append(f"<li>{escape(chart.title)}: needs {escape(chart.inputs)}.</li>")
        else:
            drawn.append(figure(chart.id + suffix, chart.title, chart.definition, found))
    listed = f'<ul class="notes soft">{"".join(without)}</ul>'
    not_drawn = (
        f"<details><summary>{len(without)} charts this study has no data for</summary>{listed}</details>"
    )
    return "".join(drawn) + (not_drawn if without else "")


def figure(name: str, title: str, definition: str, drawn: Drawn) -> str:
    """One chart with its definition, its tags, and its numbers as a table."""
    cells = [[escape(cell) for cell in row] for row in drawn.rows]
    tags = "".join(f'<span class="tag {tag}">{tag}</span>' for tag in _tags(drawn))
    caption = f"<figcaption>{escape(drawn.caption)}</figcaption>" if drawn.caption else ""
    return (
        f'<figure id="{name}"><h3>{escape(title)} {tags}'
        f'<button type="button" class="what" aria-describedby="{name}-definition">definition</button></h3>'
        f'<p class="definition" role="tooltip" id="{name}-definition">{escape(definition)}</p>'
        f"{drawn.body}{caption}<details><summary>the numbers</summary>"
        f"{table(drawn.head, cells, label=title)}</details></figure>"
    )


def _tags(drawn: Drawn) -> list[str]:
    known = ("measured", "projected", "calibrated")
    return [tag for tag in known if any(tag in row for row in drawn.rows)] or [drawn.tag]


def _catalogue(catalogue: Sequence[Footprint]) -> str:
    if not catalogue:
        return ""
    source = "The planner's arithmetic on each model's config.json; nothing was run."
    return (
        f'<h2 id="models">What public models need</h2><p class="soft">{source}</p>'
        + figure(
            "kv-at-32k",
            f"KV cache at {LONG:,} tokens",
            "Bytes one request keeps at this context, all layers: full attention all of it, windows their "
            "last tokens, latents once for all heads, states at their constant size. All ranks together, not "
            "rounded to blocks.",
            models.at_long(catalogue),
        )
        + figure(
            "kv-by-model",
            "KV cache against context",
            "The same at every context up to the model's own limit, cache in 16 bits. Windows level off; "
            "states are constant.",
            models.by_context(catalogue),
        )
    )
