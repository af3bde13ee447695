"""The mistakes that dashboards ship with, each as a check on the JSON that Grafana gets.

Owns: what is wrong with a board, a set of boards or a rule file, and what to do. Knows nothing about how ours
are made: it reads any classic dashboard. Needs `promql_parser`, which only developing needs.

Every check says `board: panel: what; what to do`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from dashboards.catalogue import Catalogue, missing
from dashboards.metric_names import GROW, read, undivided_sums
from dashboards.promql import substitute, variables

Json = Mapping[str, Any]
Check = Callable[[Json, Catalogue], Iterator[str]]
BUILT_IN = {"__rate_interval": "97s", "__range": "98s", "__range_s": "3600"}
"""Values that no window has by chance, so that they are known again in the syntax tree."""
_FLEXIBLE = frozenset({timedelta(seconds=97), timedelta(seconds=98)})
_LONG = timedelta(minutes=5)
_COLUMNS = 24
_NEWEST_SCHEMA = 42
_OUR_UID = re.compile(r"teapot-[a-z-]{1,33}")
_WRONG_SCALE = {"ms": "milliseconds", "µs": "microseconds", "ns": "nanoseconds", "percent": "0 to 100"}
_LABEL_VALUES = re.compile(r"label_values\((?:(?P<selector>.*),\s*)?(?P<label>\w+)\)", re.DOTALL)
_METRIC = re.compile(r'^[a-zA-Z_:][\w:]*|(?<=__name__=~")[\w:]+|(?<=\|)[\w:]+')
"""A selector's metric, or those of its pattern."""
_LABEL = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def panels(board: Json) -> Iterator[Json]:
    """All panels but headings, those in folded rows too."""
    for panel in board.get("panels", ()):
        if panel["type"] == "row":
            yield from panel.get("panels", ())
        else:
            yield panel


def expressions(board: Json) -> Iterator[tuple[Json, Json, str]]:
    """Panel, target and expression, with something put in for every variable."""
    values = dict.fromkeys(_names(board), "0") | BUILT_IN
    for panel in panels(board):
        for target in _targets(panel):
            raw = target["expr"]
            unknown = dict.fromkeys(variables(raw) - values.keys(), "1m")
            yield panel, target, substitute(raw, values | unknown)


def schema(board: Json, _: Catalogue) -> Iterator[str]:
    """Newer schemas are not read by Grafana 11."""
    if not 0 < board.get("schemaVersion", 0) <= _NEWEST_SCHEMA:
        yield f"schemaVersion {board.get('schemaVersion')}; use at most {_NEWEST_SCHEMA}"


def own_uid(board: Json, _: Catalogue) -> Iterator[str]:
    """A uid of another project's board would replace it, or be replaced."""
    if not _OUR_UID.fullmatch(board.get("uid") or ""):
        yield f"uid '{board.get('uid')}' may be somebody else's; begin it with 'teapot-', at most 40 letters"


def any_datasource(board: Json, _: Catalogue) -> Iterator[str]:
    """A fixed data source exists on one machine."""
    targets = (target for panel in panels(board) for target in _targets(panel))
    choices = (choice for choice in _variables(board) if choice["type"] == "query")
    drawn = (panel for panel in panels(board) if _targets(panel))
    for holder in (*drawn, *targets, *choices):
        uid = (holder.get("datasource") or {}).get("uid")
        if uid != "${datasource}":
            name = holder.get("title") or holder.get("name") or holder.get("refId")
            yield f"{name}: data source '{uid}' is fixed; use ${{datasource}}"
    if not any(
        choice["type"] == "datasource" and choice["name"] == "datasource" for choice in _variables(board)
    ):
        yield "has no variable 'datasource'; add one of type datasource"


def moving_time(board: Json, _: Catalogue) -> Iterator[str]:
    """A range with dates shows the day it was exported."""
    range_ = board.get("time", {})
    if not str(range_.get("from", "")).startswith("now-") or range_.get("to") != "now":
        yield f"time range {range_.get('from')} to {range_.get('to')} stands still; use now-... to now"


def used_variables(board: Json, _: Catalogue) -> Iterator[str]:
    """A choice that changes nothing deceives; a variable that is not there breaks the query."""
    used: set[str] = set()
    for panel in panels(board):
        for target in _targets(panel):
            used |= variables(target["expr"])
    known = _names(board)
    for name in sorted(known - used - {"datasource"}):
        yield f"variable '{name}' is used by no query; use it or take it out"
    for name in sorted(used - known - BUILT_IN.keys()):
        what = "is too short after a scrape was missed; use $__rate_interval" if name == "__interval" else ""
        yield f"${name} {what or 'is no variable of this board; add it'}"


def choices(board: Json, catalogue: Catalogue) -> Iterator[str]:
    """A choice that is read from what is not exposed stays empty."""
    for choice in _variables(board):
        query = choice.get("query")
        asked = _LABEL_VALUES.fullmatch(query.get("query", "") if isinstance(query, Mapping) else query or "")
        if choice["type"] != "query" or asked is None:
            continue
        for name in _METRIC.findall(asked["selector"] or ""):
            if name not in catalogue:
                yield f"variable '{choice['name']}': {missing(name, catalogue)}"
            elif asked["label"] not in catalogue[name].labels:
                yield f"variable '{choice['name']}': {name} has no label '{asked['label']}'"


def windows(board: Json, catalogue: Catalogue) -> Iterator[str]:
    """A fixed window holds too few samples, or too many."""
    for panel, _, expression in expressions(board):
        for function, window in read(expression, catalogue).windows:
            if window in _FLEXIBLE or (function not in {"rate", "irate"} and window >= _LONG):
                continue
            if function in GROW:
                yield f"{panel['title']}: {function} over {window} fixed; use $__rate_interval or $__range"


def names(board: Json, catalogue: Catalogue) -> Iterator[str]:
    """What is not exposed draws nothing, for ever."""
    for panel, _, expression in expressions(board):
        for problem in read(expression, catalogue).problems:
            yield f"{panel['title']}: {problem}"
        for name in undivided_sums(expression):
            yield f"{panel['title']}: {name} alone is no time; divide its rate by that of the count"


def units(board: Json, _: Catalogue) -> Iterator[str]:
    """Metrics are in base units: seconds, bytes, ratios of 0 to 1."""
    for panel in panels(board):
        unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit")
        if not unit:
            yield f"{panel['title']}: has no unit; say what it shows"
        if unit in _WRONG_SCALE:
            yield f"{panel['title']}: unit '{unit}' is {_WRONG_SCALE[unit]}; metrics are seconds and 0 to 1"


def told(board: Json, _: Catalogue) -> Iterator[str]:
    """A panel that does not say what to do is decoration."""
    for panel in panels(board):
        if "Do: " not in panel.get("description", ""):
            yield f"{panel['title']}: its description has no 'Do: ...'; say what to do about it"


def legends(board: Json, catalogue: Catalogue) -> Iterator[str]:
    """Series that cannot be told apart, and labels that are not there."""
    for panel, target, expression in expressions(board):
        if panel["type"] == "table":
            continue
        labels = read(expression, catalogue).labels
        shown = set(_LABEL.findall(target.get("legendFormat", "")))
        for label in sorted(shown - labels):
            yield f"{panel['title']}: legend {{{{{label}}}}} is no label of its result; keep it in `by`"
        if labels and not shown:
            yield f"{panel['title']}: several series, one name; show {', '.join(sorted(labels))}"


def not_only_means(board: Json, _: Catalogue) -> Iterator[str]:
    """A mean hides the tail that people complain of."""
    every = " ".join(target["expr"] for panel in panels(board) for target in _targets(panel))
    if re.search(r"_seconds_sum\b", every) and "histogram_quantile" not in every:
        yield "shows means of latencies and no quantile; add p50, p95 and p99"


def grid(board: Json, _: Catalogue) -> Iterator[str]:
    """Panels lie in 24 columns and not on each other."""
    taken: dict[tuple[int, int], str] = {}
    for panel in board.get("panels", ()):
        place = panel["gridPos"]
        if place["x"] + place["w"] > _COLUMNS:
            yield f"{panel['title']}: is wider than the grid; end at column {_COLUMNS}"
        cells = [
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ]
        for other in sorted({taken[cell] for cell in cells if cell in taken}):
            yield f"{panel['title']}: lies on '{other}'; move it"
        taken |= dict.fromkeys(cells, panel["title"])


def numbered(board: Json, _: Catalogue) -> Iterator[str]:
    """Two panels of one id: Grafana shows one of them."""
    ids = [panel.get("id") for panel in board.get("panels", ())]
    if len(set(ids)) != len(ids) or None in ids:
        yield "panels without an id of their own; number them"
    for panel in panels(board):
        refs = [target.get("refId") for target in _targets(panel)]
        if len(set(refs)) != len(refs) or None in refs:
            yield f"{panel['title']}: queries without a refId of their own; name them A, B, ..."


def marked(board: Json, _: Catalogue) -> Iterator[str]:
    """Without a mark at each change nobody sees what came after it."""
    listed = board.get("annotations", {}).get("list", ())
    if not any("teapot" in one.get("target", {}).get("tags", ()) for one in listed):
        yield "shows no annotations of teapot's; query them by the tag 'teapot'"


CHECKS: tuple[Check, ...] = (
    schema, own_uid, any_datasource, moving_time, used_variables, choices, windows, names, units, told,
    legends, not_only_means, grid, numbered, marked,
)  # fmt: skip


def problems(board: Json, catalogue: Catalogue) -> Iterator[str]:
    """Everything that is wrong with a board."""
    for check in CHECKS:
        for problem in check(board, catalogue):
            yield f"{board.get('uid')}: {problem}"


def problems_together(boards: Sequence[Json]) -> Iterator[str]:
    """What is wrong with several boards beside each other."""
    for key in ("uid", "title"):
        seen = [board.get(key) for board in boards]
        for value in sorted({str(value) for value in seen if seen.count(value) > 1}):
            yield f"{value}: two boards have this {key}; give each its own"
    for board in boards:
        linked = {link.get("url", "").rpartition("/")[2] for link in board.get("links", ())}
        for other in boards:
            if other is not board and other.get("uid") not in linked:
                yield f"{board.get('uid')}: has no link to {other.get('uid')}; add one"


def _targets(panel: Json) -> Sequence[Json]:
    """What a panel asks of a Prometheus; a panel of text asks nothing."""
    return [target for target in panel.get("targets", ()) if "expr" in target]


def _variables(board: Json) -> Sequence[Json]:
    listed: Sequence[Json] = board.get("templating", {}).get("list", ())
    return listed


def _names(board: Json) -> frozenset[str]:
    return frozenset(choice["name"] for choice in _variables(board))
