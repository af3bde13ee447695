from html.parser import HTMLParser

import pytest

from loadgen.report.page import MOST_BARS, page
from loadgen.server_metrics import ServerSample
from loadgen.stats.plan import RunPlan
from loadgen.stats.summarize import summarize

MANIFEST = {
    "name": "chat",
    "model": "a model",
    "target": "http://127.0.0.1:8000",
    "versions": {"vllm": "0.32.0"},
}
VOID = {"meta", "path", "rect"}


class Outline(HTMLParser):
    """Tags in order, checking that each one is closed by its own end."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_has_every_part(summary, records):
    html = page(summary, records, MANIFEST)

    assert Outline(html).tags.count("svg") == 5
    for title in (
        "chat",
        "Latencies",
        "Distributions",
        "Over time",
        "By kind of prompt",
        "Errors",
        "How it was run",
    ):
        assert f">{title}</h" in html


def test_what_was_read_of_the_server_is_drawn_below(summary, records):
    series = {"vllm:num_requests_running": 2.0, "vllm:kv_cache_usage_perc": 0.25}
    samples = [ServerSample(at * 1_000_000_000, "http://a", series) for at in range(3)]

    html = page(summary, records, MANIFEST, samples)

    assert Outline(html).tags.count("svg") == 7
    assert html.index(">In flight<") < html.index(">In the engines<") < html.index(">KV cache<")


def test_the_page_needs_no_network_and_runs_no_script(summary, records):
    outline = Outline(page(summary, records, MANIFEST))

    assert not {"script", "link", "img", "iframe", "object"} & set(outline.tags)
    assert not {"src", "href", "srcset"} & {name for name, _ in outline.attributes}


def test_every_drawing_has_a_text_alternative(summary, records):
    html = page(summary, records, MANIFEST)

    assert html.count("<svg ") == html.count('<svg role="img" aria-label="')


def test_markup_in_errors_and_manifest_is_shown_and_not_run(summary, records):
    evil = {"name": "</title><script>x</script>", "target": '"><svg onload=x>', "<b>": {"<i>": "<u>"}}

    html = page(summary, records, evil)

    Outline(html)
    for tag in ("<script", "<svg onload", "<b>", "<i>", "<u>"):
        assert tag not in html.replace("<i></i>", "")
    assert "&lt;script&gt;alert(&#x27;no&#x27;)&lt;/script&gt;" in html


@pytest.mark.parametrize(
    "plan", [RunPlan(arrival="closed", intended=None), RunPlan(arrival="poisson", intended=3)]
)
def test_an_empty_run_has_a_page_too(plan):
    html = page(summarize([], plan=plan), [], {})

    Outline(html)
    assert "Not a valid measurement" in html
    assert "No request was sent" in html


def test_a_run_in_which_everything_failed_has_a_page_too(answer, plan):
    records = [answer(0, outcome="failed", output_ns=(), output_tokens=None)]

    html = page(summarize(records, plan=plan), records, MANIFEST)

    Outline(html)
    assert "No answer has a TPOT" in html


def test_warm_up_is_not_drawn(summary, records, answer):
    warm_up = answer(-5, phase="warmup")

    assert page(summary, [warm_up, *records], MANIFEST) == page(summary, records, MANIFEST)


def test_bars_are_left_out_where_there_are_too_many(summary, answer):
    many = [answer(i) for i in range(MOST_BARS + 1)]

    assert "Not drawn for more than" in page(summary, many, MANIFEST)
