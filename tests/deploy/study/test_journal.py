from __future__ import annotations

from deploy.study.journal import CELL_DONE, CELL_FAILED, Journal


def test_events_come_back_in_their_order_with_all_that_was_said(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    journal.note("study-begun", "2026-11-29T12:00:00+00:00")
    journal.note(CELL_DONE, "2026-11-29T12:01:00+00:00", cell="001-a-x", took_s=1.5)
    assert list(journal.events()) == [
        {"at": "2026-11-29T12:00:00+00:00", "event": "study-begun"},
        {"at": "2026-11-29T12:01:00+00:00", "event": "cell-done", "cell": "001-a-x", "took_s": 1.5},
    ]


def test_only_done_cells_need_not_be_run_again(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    journal.note(CELL_DONE, "t", cell="001")
    journal.note(CELL_FAILED, "t", cell="002")
    assert journal.done() == {"001"}


def test_there_is_nothing_before_the_first_event(tmp_path):
    assert Journal(tmp_path / "none.jsonl").done() == frozenset()


def test_a_line_that_a_crash_cut_is_left_out_and_swallows_no_other(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    journal.note(CELL_DONE, "t", cell="001")
    with path.open("a") as file:
        file.write('{"at":"t","event":"cell-do')
    journal.note(CELL_DONE, "t", cell="003")
    assert journal.done() == {"001", "003"}


def test_a_line_that_is_no_event_is_left_out(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"event":"done"}\n[]\n{"at":"t","event":"done"}\n')
    assert list(Journal(path).events()) == [{"at": "t", "event": "done"}]
