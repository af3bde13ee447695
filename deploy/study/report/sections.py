"""The parts of a study's page around its charts: words, arms, what is missing, all figures, how it was run.

Owns: what is in these tables. Knows nothing about charts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from deploy.study.measures import BY_NAME
from deploy.study.report.figures import amount, interval, seconds
from deploy.study.report.view import View
from deploy.study.results import ArmResult, Summary
from deploy.study.words import UNDECIDED
from loadgen.report.sections import table

_SIDE = {True: "in effect", False: "not in effect", None: "not proven"}


def words(summary: Summary) -> str:
    """The summary in words, and what limits it."""
    undecided = [line for line in summary.words if UNDECIDED in line]
    told = [line for line in summary.words if line not in undecided]
    found = f'<ul class="words">{_items(told)}</ul>' if summary.words else ""
    if undecided:
        heading = f"{len(undecided)} more that cannot be told from chance"
        found += f'<details><summary>{heading}</summary><ul class="words">{_items(undecided)}</ul></details>'
    found = found or '<p class="empty">Nothing was measured.</p>'
    limits = [*summary.notes, *(f"not valid: {doubt}" for doubt in summary.doubts)]
    return found + (f'<ul class="notes soft">{_items(limits)}</ul>' if limits else "")


def _items(lines: Iterable[str]) -> str:
    return "".join(f"<li>{escape(line)}</li>" for line in lines)


def arms(view: View) -> str:
    """Every arm of the study: what it changes, what became of it, its modes as they were proven."""
    results = {row.name: row for row in view.summary.arms}
    rows = []
    for arm in view.design.arms:
        result = results.get(arm.name)
        fragment = f"<code>{escape(json.dumps(arm.fragment))}</code>" if arm.fragment else "as the base"
        if arm.on:
            fragment = f"on {escape(arm.on)}: {fragment}"
        control = " (control)" if arm.name == view.design.control else ""
        rows.append((escape(arm.name + control), escape(arm.model), fragment, *_became(result)))
    head = ("arm", "model", "what it changes", "state", "modes", "cells")
    return table(head, rows, label="Arms", text={1, 2, 3, 4})


def _became(result: ArmResult | None) -> tuple[str, str, str]:
    if result is None:
        return ("not told", "", "")
    modes = "<br>".join(
        f"{escape(str(mode['asked']))}: "
        f"{_SIDE[mode['in_effect']]}<small>{escape(str(mode['evidence']))}</small>"
        for mode in result.modes
    )
    state = f'<span class="state">{escape(result.state)}</span>'
    if result.reason:
        state += f"<small>{escape(result.reason)}</small>"
    return (state, modes, f"{result.cells_done} / {result.cells_planned}")


def missing(summary: Summary) -> str:
    """What was ruled out, failed, or not reached, each with its reason; said too where there is nothing."""
    if not summary.missing:
        return (
            '<p class="soft">Every arm that was asked for ran, and every cell gave what it was to give.</p>'
        )
    rows = [
        (
            escape(row.id),
            row.what,
            escape(row.arm),
            escape(row.reason)
            + (
                f"<details><summary>the last lines of its log</summary><pre>"
                f"{escape(chr(10).join(row.log_tail))}</pre></details>"
                if row.log_tail
                else ""
            ),
        )
        for row in summary.missing
    ]
    return table(("what", "kind", "arm", "why"), rows, label="Missing", text={1, 2, 3})


def figures(summary: Summary) -> str:
    """Every figure of the study with its interval and the cells it is from."""
    rows = [
        (
            escape(row.arm),
            escape(row.workload or ""),
            f'<span title="{escape(BY_NAME[row.measure].definition)}">{escape(row.measure)}</span>',
            amount(row.figure.value, row.figure.unit),
            interval(row.figure),
            str(row.figure.n),
            row.figure.tag,
            escape(", ".join(row.figure.cells)),
        )
        for row in summary.rows
        if row.measure in BY_NAME
    ]
    head = ("arm", "workload", "measure", "value", "95 % interval", "n", "tag", "from")
    shown = table(head, rows, label="All figures", text={7})
    return f"<details><summary>All {len(rows)} figures</summary>{shown}</details>"


def definitions(summary: Summary) -> str:
    """What each measure is and which side of it is better."""
    used = dict.fromkeys(row.measure for row in summary.rows if row.measure in BY_NAME)
    said = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(BY_NAME[name].title)}: {escape(BY_NAME[name].definition)}"
        f"{f'; {BY_NAME[name].better} is better' if BY_NAME[name].better else ''}</dd>"
        for name in used
    )
    return f'<details><summary>What each measure is</summary><dl class="terms">{said}</dl></details>'


def manifest(view: View) -> str:
    """All that is needed to judge the study, or to run it again."""
    design, summary = view.design, view.summary
    facts: dict[str, Any] = {
        "study file": design.file,
        "made": design.created,
        "seed": design.seed,
        "repeats": design.repeats,
        "starts": "one an arm, with all its repeats in it"
        if design.hold
        else "one for each repeat of an arm",
        "control": design.control,
        "fingerprint (SHA-256)": design.fingerprint,
        "estimated": seconds(design.estimate.total_s),
        **{f"cost: {name}": f"{value:.4g}" for name, value in summary.cost.items()},
        **{f"version: {name}": value for name, value in design.versions.items()},
        **{f"machine: {name}": value for name, value in design.machine.items()},
    }
    rows = [(escape(name), escape(_plain(value))) for name, value in facts.items()]
    order = " \u00b7 ".join(f"{start.number}: {start.arm}" for start in design.starts)
    documents = {
        "workloads": design.workloads,
        "deployments": {arm.name: arm.deployment for arm in design.arms},
        "engines, as they said themselves": {
            f"start {row.start}, {row.arm}": dict(row.cache_config) for row in view.starts
        },
    }
    return (
        f'<div class="pairs">{table(("fact", "value"), rows, label="How it was run", text={1})}</div>'
        f'<p class="soft">Order of the starts, drawn under the seed: {escape(order)}</p>'
        + "".join(_document(name, document) for name, document in documents.items())
    )


def _plain(value: Any) -> str:
    return json.dumps(value) if isinstance(value, Mapping | list | tuple) else str(value)


def _document(name: str, document: Mapping[str, Any]) -> str:
    text = escape(json.dumps(document, indent=1))
    return f"<details><summary>{escape(name)}</summary><pre>{text}</pre></details>"
