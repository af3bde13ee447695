"""A panel as Grafana's classic JSON.

Owns: what units, colours, styles and kinds are called there. Knows nothing about boards or where it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dashboards.panels import Color, Column, Kind, Panel, Query, Style, Unit, Word, ref

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
UNITS: Mapping[Unit, str] = {
    "seconds": "s",
    "ratio": "percentunit",
    "bytes": "bytes",
    "bytes/s": "binBps",
    "tokens": "short",
    "tokens/s": "count:tok/s",
    "requests": "short",
    "requests/s": "reqps",
    "count": "short",
    "events/s": "suffix: /s",
    "dollars": "currencyUSD",
    "factor": "suffix: ×",
    "text": "string",
}
COLORS: Mapping[Color, str] = {
    "green": "green",
    "amber": "orange",
    "red": "red",
    "blue": "blue",
    "light_blue": "light-blue",
    "dark_blue": "dark-blue",
    "purple": "purple",
    "grey": "#8e8e8e",
    "teal": "#3aa99f",
}
_TYPES: Mapping[Kind, str] = {
    "timeseries": "timeseries",
    "stat": "stat",
    "bargauge": "bargauge",
    "table": "table",
    "state": "state-timeline",
}
_REDUCE = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_STYLES: Mapping[Style, Mapping[str, Any]] = {
    "line": {},
    "dashed": {"custom.lineStyle": {"fill": "dash", "dash": [6, 4]}},
    "limit": {
        "custom.lineStyle": {"fill": "dash", "dash": [2, 4]},
        "custom.fillOpacity": 0,
        "custom.stacking": {"mode": "none", "group": "limits"},
    },
}


def panel_json(panel: Panel) -> dict[str, Any]:
    """A panel without its number and place."""
    return {
        "type": _TYPES[panel.kind],
        "title": panel.title,
        "description": panel.help,
        "datasource": DATASOURCE,
        "targets": [_target(panel, query, ref(number)) for number, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": _overrides(panel)},
        "options": _OPTIONS[panel.kind](panel),
        "transformations": _transformations(panel),
    }


def _target(panel: Panel, query: Query, name: str) -> dict[str, Any]:
    return {
        "refId": name,
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": query.expr,
        "legendFormat": query.legend or "__auto",
        "instant": query.instant,
        "range": not query.instant,
        "format": "table" if panel.kind == "table" else "time_series",
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    steps = [{"color": COLORS[step.color], "value": step.value} for step in panel.thresholds]
    by = "thresholds" if panel.thresholds else "palette-classic-by-name"
    defaults: dict[str, Any] = {
        "unit": UNITS[panel.unit],
        "color": {"mode": by},
        "thresholds": {"mode": "absolute", "steps": steps or [{"color": "text", "value": None}]},
        "mappings": _words(panel.words),
        "custom": _custom(panel),
    }
    told = {"min": panel.lowest, "max": panel.highest, "decimals": panel.decimals, "noValue": panel.empty}
    return defaults | {key: value for key, value in told.items() if value is not None}


def _words(words: Iterable[Word]) -> list[dict[str, Any]]:
    options = {
        f"{value:g}": {"text": text, "color": COLORS[color], "index": index}
        for index, (value, text, color) in enumerate(words)
    }
    return [{"type": "value", "options": options}] if options else []


def _custom(panel: Panel) -> dict[str, Any]:
    if panel.kind == "timeseries":
        return {
            "drawStyle": "line",
            # No edge on a stack: that of an empty part would hide the colour below it.
            "lineWidth": 0 if panel.stacked else 2,
            "fillOpacity": 60 if panel.stacked else 0,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
            "thresholdsStyle": {"mode": "off"},
            "scaleDistribution": {"type": "log", "log": 10} if panel.logarithmic else {"type": "linear"},
        }
    return {"fillOpacity": 80, "lineWidth": 0} if panel.kind == "state" else {}


def _overrides(panel: Panel) -> list[dict[str, Any]]:
    if panel.kind == "table":
        return [
            _override({"id": "byName", "options": column.title}, properties)
            for column in panel.columns
            if (properties := _column(column))
        ]
    found = []
    for number, query in enumerate(panel.queries):
        properties = dict(_STYLES[query.style])
        if query.color:
            properties["color"] = {"mode": "fixed", "fixedColor": COLORS[query.color]}
        if properties:
            found.append(_override({"id": "byFrameRefID", "options": ref(number)}, properties))
    for name, color in panel.colors:
        fixed = {"color": {"mode": "fixed", "fixedColor": COLORS[color]}}
        found.append(_override({"id": "byName", "options": name}, fixed))
    return found


def _column(column: Column) -> dict[str, Any]:
    properties: dict[str, Any] = {"unit": UNITS[column.unit]} if column.unit else {}
    if column.decimals is not None:
        properties["decimals"] = column.decimals
    if column.words:
        properties["mappings"] = _words(column.words)
        properties["custom.cellOptions"] = {"type": "color-text"}
    return properties


def _override(matcher: Mapping[str, str], properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "matcher": dict(matcher),
        "properties": [{"id": name, "value": value} for name, value in properties.items()],
    }


def _transformations(panel: Panel) -> list[dict[str, Any]]:
    """Of a table: one row for each set of labels, and only the columns asked for, in their order."""
    if panel.kind != "table":
        return []
    labels = [column.label for column in panel.columns]
    return [
        {"id": "merge", "options": {}},
        {"id": "filterFieldsByName", "options": {"include": {"names": labels}}},
        {
            "id": "organize",
            "options": {
                "indexByName": {label: index for index, label in enumerate(labels)},
                "renameByName": {column.label: column.title for column in panel.columns},
                "excludeByName": {},
            },
        },
    ]


def _timeseries(panel: Panel) -> dict[str, Any]:
    return {
        "legend": {"showLegend": panel.has_legend, "displayMode": "list", "placement": "bottom", "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def _stat(panel: Panel) -> dict[str, Any]:
    return {
        "reduceOptions": _REDUCE,
        "colorMode": "value",
        "graphMode": "none" if all(query.instant for query in panel.queries) else "area",
        "textMode": "value_and_name" if panel.has_legend else "value",
        "justifyMode": "auto",
        "orientation": "vertical",
        "wideLayout": True,
    }


def _bargauge(panel: Panel) -> dict[str, Any]:
    return {
        "reduceOptions": _REDUCE,
        "displayMode": "basic",
        "orientation": "horizontal",
        "showUnfilled": True,
        "valueMode": "text",
    }


def _table(panel: Panel) -> dict[str, Any]:
    return {"showHeader": True, "cellHeight": "sm", "footer": {"show": False}}


def _state(panel: Panel) -> dict[str, Any]:
    return {
        "mergeValues": True,
        "showValue": "never",
        "rowHeight": 0.8,
        "legend": {"showLegend": True, "displayMode": "list", "placement": "bottom"},
        "tooltip": {"mode": "single", "sort": "none"},
    }


_OPTIONS: Mapping[Kind, Callable[[Panel], dict[str, Any]]] = {
    "timeseries": _timeseries,
    "stat": _stat,
    "bargauge": _bargauge,
    "table": _table,
    "state": _state,
}
