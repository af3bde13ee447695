import pytest

from loadgen.report import stages
from loadgen.stats.plan import RunPlan, Slo, Stage
from loadgen.stats.summarize import summarize

PLAN = RunPlan(
    arrival="stages",
    intended=10,
    slo=Slo(ttft_s=0.050),
    stages=(Stage(duration_s=0.5, rates=(10.0, 10.0)), Stage(duration_s=0.5, rates=(10.0, 20.0))),
)


@pytest.fixture
def staged(answer):
    return summarize([answer(index) for index in range(10)], plan=PLAN)


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ({"concurrency": 16, "rate": None}, "16 users"),
        ({"concurrency": None, "rate": {"from": 4.0, "to": 4.0}}, "4/s"),
        ({"concurrency": None, "rate": {"from": 2.0, "to": 8.0}}, "2/s to 8/s"),
    ],
)
def test_a_stage_is_named_by_what_was_asked(stage, words):
    assert stages.stage_words(stage) == words


def test_stages_begin_where_the_ones_before_end(staged):
    assert stages.stage_marks(staged) == ((0.0, "10/s"), (0.5, "10/s to 20/s"))


def test_each_stage_has_a_row_with_its_own_numbers(staged):
    html = stages.stage_table(staged)

    assert html.count('<th scope="row">') == 2
    assert "too short to tell" in html
    assert "100 %" in html


def test_a_run_without_stages_has_no_table(summary):
    assert stages.stage_table(summary) == ""
    assert stages.stage_marks(summary) == ()


def test_a_load_that_piled_up_is_said_to_be_past_capacity(summary):
    growing = summary | {
        "saturation": {"verdict": "growing", "arrived_per_s": 4.0, "ended_per_s": 3.25},
        "steady": None,
    }

    html = stages.saturation_line(growing)

    assert "Past capacity" in html
    assert "4.00 requests/s arrived and 3.25/s ended" in html


def test_a_steady_load_is_told_with_its_throughput(summary):
    html = stages.saturation_line(summary)

    assert "the server kept up" in html
    # Steady from the median answer of 60 ms to the last intended at 9.9 s.
    assert "Steady from 0.1 s to 9.9 s" in html


def test_nothing_is_said_of_what_is_not_known(summary):
    assert stages.saturation_line(summary | {"saturation": None, "steady": None}) == ""
