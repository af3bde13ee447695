from __future__ import annotations

from dataclasses import replace

from fakes.study_summaries import summary

from deploy.study.table import table


def lines(**changes):
    return table(replace(summary(), **changes)).splitlines()


def test_arms_stand_under_their_workload_with_bars_ratios_and_intervals():
    found = lines()
    fp8 = next(line for line in found if line.startswith("fp8 ") and "█" in line)
    plain = next(line for line in found if line.startswith("plain ") and "█" in line)
    assert fp8.count("█") == 20
    assert plain.count("█") == 18  # 40 of 44
    assert "44.0 [41.0, 47.0]" in fp8
    assert "1.10x [1.02, 1.19] +" in fp8
    assert "350 ms" in plain


def test_what_is_not_known_is_a_dash_and_never_zero():
    fp8 = next(line for line in lines() if line.startswith("fp8 ") and "█" in line)
    assert fp8.split()[-1] == "-"


def test_every_arm_is_listed_with_its_capacity_and_its_modes_also_one_that_did_not_run():
    found = lines()
    assert any(
        line.split()[:3] == ["fp8", "done", "186,368"] and "quantized_kv in effect" in line for line in found
    )
    assert any(line.split() == ["tensor-2", "ruled", "out"] for line in found)


def test_predicted_stands_beside_measured_also_where_it_was_wrong():
    wrong = next(line for line in lines() if "fp8 under chat over plain" in line)
    assert wrong.split()[:5] == ["1.50x", "1.10x", "[1.02,", "1.19]", "-27%"]
    assert " NO " in wrong


def test_an_interval_that_decides_nothing_has_a_question_mark():
    one = summary().predictions[1]
    wide = replace(one, measured=replace(one.measured, low=0.5, high=2.4), held=True)
    line = next(line for line in lines(predictions=(wide,)) if "fp8 under chat over plain" in line)
    assert " yes? " in line
    once = replace(one, held=None)
    assert any(" ?  " in line for line in lines(predictions=(once,)))


def test_words_notes_and_doubts_come_last():
    found = lines(words=("a sentence",), notes=("a note",), doubts=("001: slow",))
    assert found[-3:] == ["- a sentence", "note: a note", "not valid: 001: slow"]


def test_a_workload_without_figures_says_so():
    assert any(line == "chat: nothing was measured" for line in lines(rows=()))
