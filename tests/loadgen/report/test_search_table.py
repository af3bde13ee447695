import pytest

from loadgen.report.search_table import search_table
from loadgen.search import Finished, Trial

TRIALS = [Trial(4.0, "met", "goodput 99.0%"), Trial(8.0, "missed", "goodput 61.0%, and requests piled up")]


def test_trials_come_in_order_and_the_answer_last():
    lines = search_table("rate", TRIALS, Finished("found", 4.0, 8.0), goodput=0.95).splitlines()

    assert lines[1].split() == ["1", "4", "met", "goodput", "99.0%"]
    assert lines[2].split()[:3] == ["2", "8", "missed"]
    assert lines[-1].startswith("highest rate at which 95% of the requests meet every SLO: 4; missed at 8")


@pytest.mark.parametrize(
    ("finished", "told"),
    [
        (None, "the same command goes on from here"),
        (Finished("above highest", 8.0, None), "raise --max"),
        (Finished("below lowest", None, 1.0), "none; missed at 1"),
        (Finished("not measurable", 4.0, 8.0), "gave no measurement"),
        (Finished("out of trials", 4.0, 8.0), "not confirmed"),
    ],
)
def test_every_end_has_its_words(finished, told):
    assert told in search_table("rate", TRIALS, finished, goodput=0.95)
