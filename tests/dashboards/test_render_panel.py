"""Panels as Grafana's documentation of its JSON model has them."""

from __future__ import annotations

from dashboards.panels import Column, Panel, Query, Threshold
from dashboards.render_panel import panel_json


def panel(**changes) -> Panel:
    settings = {"key": "k", "title": "Time", "unit": "seconds", "help": "What. Do: that.", "lowest": 0}
    queries = (
        Query(expr="a", legend="p95", color="blue"),
        Query(expr="b", legend="objective", color="red", style="limit"),
    )
    return Panel(**{**settings, "queries": queries, **changes})


def test_a_graph_has_its_unit_floor_and_description() -> None:
    drawn = panel_json(panel())
    assert (drawn["type"], drawn["title"], drawn["description"]) == ("timeseries", "Time", "What. Do: that.")
    assert (drawn["fieldConfig"]["defaults"]["unit"], drawn["fieldConfig"]["defaults"]["min"]) == ("s", 0)


def test_queries_are_lettered_and_ask_the_data_source_chosen() -> None:
    targets = panel_json(panel())["targets"]
    assert [(t["refId"], t["expr"], t["legendFormat"]) for t in targets] == [
        ("A", "a", "p95"),
        ("B", "b", "objective"),
    ]
    assert {t["datasource"]["uid"] for t in targets} == {"${datasource}"}


def test_an_objective_is_a_thin_line_outside_the_stack() -> None:
    overrides = panel_json(panel(stacked=True))["fieldConfig"]["overrides"]
    limit = next(o for o in overrides if o["matcher"] == {"id": "byFrameRefID", "options": "B"})
    properties = {p["id"]: p["value"] for p in limit["properties"]}
    assert properties["custom.stacking"]["mode"] == "none"
    assert properties["custom.lineStyle"]["fill"] == "dash"
    assert properties["color"] == {"mode": "fixed", "fixedColor": "red"}


def test_a_name_has_its_colour_wherever_it_is_drawn() -> None:
    overrides = panel_json(panel(queries=(Query(expr="a"),), colors=(("ok", "green"),)))["fieldConfig"]
    assert overrides["overrides"] == [
        {
            "matcher": {"id": "byName", "options": "ok"},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": "green"}}],
        }
    ]


def test_thresholds_colour_a_tile_by_its_value() -> None:
    steps = (Threshold(None, "red"), Threshold(0.25, "green"))
    drawn = panel_json(panel(kind="stat", thresholds=steps))
    assert drawn["fieldConfig"]["defaults"]["color"] == {"mode": "thresholds"}
    assert drawn["fieldConfig"]["defaults"]["thresholds"]["steps"] == [
        {"color": "red", "value": None},
        {"color": "green", "value": 0.25},
    ]


def test_a_state_has_words_for_its_values() -> None:
    drawn = panel_json(panel(kind="state", unit="text", words=((1, "up", "green"), (0, "down", "red"))))
    assert drawn["type"] == "state-timeline"
    assert drawn["fieldConfig"]["defaults"]["mappings"][0]["options"]["0"] == {
        "text": "down",
        "color": "red",
        "index": 1,
    }


def test_a_table_shows_only_its_columns_in_their_order_under_their_titles() -> None:
    columns = (
        Column(label="what", title="What"),
        Column(label="Value #A", title="Ratio", unit="factor", words=((0, "none", "grey"),)),
    )
    drawn = panel_json(panel(kind="table", columns=columns))
    kinds = [step["id"] for step in drawn["transformations"]]
    assert kinds == ["merge", "filterFieldsByName", "organize"]
    assert drawn["transformations"][1]["options"]["include"]["names"] == ["what", "Value #A"]
    assert drawn["transformations"][2]["options"]["indexByName"] == {"what": 0, "Value #A": 1}
    assert drawn["transformations"][2]["options"]["renameByName"]["Value #A"] == "Ratio"
    assert drawn["fieldConfig"]["overrides"][0]["matcher"] == {"id": "byName", "options": "Ratio"}
    assert {target["format"] for target in drawn["targets"]} == {"table"}


def test_what_is_said_without_data_is_kept() -> None:
    assert panel_json(panel(empty="Set a price"))["fieldConfig"]["defaults"]["noValue"] == "Set a price"
