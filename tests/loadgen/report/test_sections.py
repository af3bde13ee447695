from loadgen.report import sections
from loadgen.stats.plan import RunPlan
from loadgen.stats.summarize import summarize


def test_a_valid_run_is_said_to_be_valid_in_words(summary):
    assert "Valid measurement" in sections.verdict(summary)


def test_an_invalid_run_gives_its_reasons(records, plan):
    html = sections.verdict(summarize(records[:50], plan=plan))

    assert "Not a valid measurement" in html
    assert "<li>50 of 100 intended requests were sent: off by more than 2%</li>" in html


def test_tiles_show_the_medians_goodput_and_rates(summary):
    html = sections.tiles(summary)

    for text in ("TTFT p50", "40.00 ms", "p95 40.00 ms", "99.0 %", "TTFT ≤ 50 ms", "9.94", "10.0/s asked"):
        assert text in html


def test_a_tile_shows_the_mean_and_why_where_n_carries_no_median(answer):
    html = sections.tiles(summarize([answer(0)], plan=RunPlan(arrival="closed", intended=None)))

    assert "TTFT mean" in html
    assert "n 1: too small for p50" in html
    assert "goodput" not in html


def test_a_percentile_is_shown_with_its_interval_and_a_withheld_one_as_a_dash(summary):
    html = sections.latencies(summary)

    assert "40.00<small>40.00 – 40.00</small>" in html
    assert "<td>-</td>" in html
    assert "p50 6, p90 46, p95 93, p99 473" in html


def test_kinds_and_errors_are_escaped(answer):
    evil = answer(0, kind="<i>", outcome="failed", error="</code><img src=x>")
    summary = summarize([evil], plan=RunPlan(arrival="closed", intended=None))

    assert "<i>" not in sections.kinds(summary)
    assert "<img" not in sections.errors(summary)
    assert "&lt;img src=x&gt;" in sections.errors(summary)


def test_each_kind_has_its_goodput(records, plan):
    # 99 good of 100 of the one kind.
    html = sections.kinds(summarize(records, plan=plan))

    assert '<th scope="col">goodput</th>' in html
    assert "<td>99.0 %</td>" in html


def test_sections_without_content_are_not_there(summary):
    assert sections.errors(summary | {"errors": []}) == ""
    assert sections.notes(summary | {"notes": []}) == ""
    assert sections.pairs("Nothing", {}) == ""


def test_nested_values_are_flattened_and_unknown_ones_left_out():
    html = sections.pairs("Run", {"versions": {"vllm": "0.32.0"}, "ttft_mean_s": 0.0381234, "queue": None})

    assert '<th scope="row">versions.vllm</th><td class="text"><code>0.32.0</code>' in html
    assert "0.03812" in html
    assert "queue" not in html


def test_lists_are_written_out():
    html = sections.pairs("Run", {"acceptance_by_position": [0.5, 0.25], "urls": []})

    assert "<code>0.5, 0.25</code>" in html
    assert "<code>-</code>" in html


def test_every_number_is_explained_by_the_docstring_of_its_function():
    html = sections.terms()

    assert "<dt>TTFT</dt><dd>Time to first token: first output event" in html
    assert "<code>t_sent</code>" in html
    assert "<dd></dd>" not in html
