from __future__ import annotations

from deploy.verdicts import merge, not_in_effect, settled, verdict_table
from serving.modes.mode import Verdict


def verdict(in_effect: bool | None, evidence: str = "seen", kind: str = "prefix_cache", **more) -> Verdict:
    return Verdict(kind, "on", in_effect, evidence, **more)


def test_the_worst_of_all_engines_stands_for_all_with_the_engines_name() -> None:
    [one] = merge({"a": [verdict(True)], "b": [verdict(False, "nothing moved")], "c": [verdict(None)]})
    assert (one.in_effect, one.evidence) == (False, "b: nothing moved")
    [unsure] = merge({"a": [verdict(True)], "b": [verdict(None, "no log")]})
    assert (unsure.in_effect, unsure.evidence) == (None, "b: no log")


def test_where_engines_agree_no_engine_is_named() -> None:
    [one] = merge({"a": [verdict(True, "512 tokens")], "b": [verdict(True, "510 tokens")]})
    assert (one.in_effect, one.evidence) == (True, "512 tokens")


def test_modes_keep_their_order_and_warnings_are_not_said_twice() -> None:
    rows = {
        name: [verdict(True, kind="lora"), verdict(True, kind="parallel", warnings=("slow",))]
        for name in ("a", "b")
    }
    merged = merge(rows)
    assert [(row.kind, row.warnings) for row in merged] == [("lora", ()), ("parallel", ("slow",))]


def test_without_engines_or_modes_there_are_no_verdicts() -> None:
    assert merge({}) == []
    assert merge({"a": [], "b": []}) == []


def test_the_table_says_each_mode_in_a_line_and_its_warnings_below() -> None:
    table = verdict_table(
        [verdict(True, warnings=("scales are 1.0",)), verdict(False, kind="kv"), verdict(None, kind="x")]
    )
    assert table.splitlines() == [
        "  prefix_cache  in effect      seen",
        "                warning: scales are 1.0",
        "  kv            NOT IN EFFECT  seen",
        "  x             cannot tell    seen",
    ]


def test_the_table_says_once_what_holds_for_many_modes() -> None:
    table = verdict_table(
        [verdict(True, not_compared="no reference yet"), verdict(True, not_compared="no reference yet")]
    )
    assert table.splitlines()[2:] == ["  no reference yet"]


def test_a_mode_not_in_effect_is_told_with_what_was_asked_and_what_to_do() -> None:
    said = str(not_in_effect(verdict(False, "stored as 1 byte", kind="quantized_kv")))
    assert said.startswith("mode 'quantized_kv' (on) is not in effect: stored as 1 byte; ")
    assert "--allow-ineffective" in said


def test_what_engines_showed_together_settles_what_one_alone_could_not_tell() -> None:
    found = verdict(True, "541 tokens came over", kind="disaggregated", warnings=("parted",))
    alone = [verdict(True), verdict(None, "no request yet", kind="disaggregated", warnings=("slow",))]
    assert settled(alone, found) == [
        verdict(True),
        verdict(True, "541 tokens came over", kind="disaggregated", warnings=("slow", "parted")),
    ]
    wrong = [verdict(False, "another connector", kind="disaggregated")]
    assert settled(wrong, found) == wrong
