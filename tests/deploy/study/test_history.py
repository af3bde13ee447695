from __future__ import annotations

from deploy.study.estimate import Costs, Seen, StartKey
from deploy.study.history import History

KEY = StartKey("m", "cpu", compiles=False, modes=("quantized_kv fp8",))


def test_what_was_remembered_comes_back(tmp_path):
    history = History(tmp_path / "state" / "studies.jsonl")
    history.start(KEY, 41.5)
    history.cell("m", "f" * 8, 20.0)
    assert history.costs() == Costs((Seen(KEY, 41.5), Seen(("m", "f" * 8), 20.0)))


def test_nothing_is_known_before_the_first_start(tmp_path):
    assert History(tmp_path / "none").costs() == Costs()


def test_lines_that_say_nothing_are_left_out(tmp_path):
    history = History(tmp_path / "studies.jsonl")
    history.start(KEY, 41.5)
    with history.path.open("a") as file:
        file.write('{"cut": \n[]\n{"start": 1, "took_s": 2}\n{"cell": ["m", "f"]}\n')
    assert history.costs() == Costs((Seen(KEY, 41.5),))


def test_a_place_that_cannot_be_written_ends_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    History(tmp_path / "file" / "studies.jsonl").cell("m", "f", 1.0)
