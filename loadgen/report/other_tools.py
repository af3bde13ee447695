"""What our numbers are called elsewhere, and where theirs mean something else.

Owns: the table, read from the published sources of each tool on 2026-11-29 (the versions are in its
head). Knows nothing about how it is shown. docs/measurement.md holds the same table; a test compares them.
"""

from __future__ import annotations

from html import escape

from loadgen.report.sections import table

TOOLS = (
    "vllm bench serve 0.32.0",
    "GuideLLM 0.8.1",
    "AIPerf 0.13.0",
    "genai-bench 0.0.5",
    "evalscope 1.14.1",
)
ABSENT = "none"

NAMES: dict[str, tuple[str, str, str, str, str]] = {
    "TTFT": (
        "TTFT, but at the first chunk with `choices`, role-only and empty ones included",
        "TTFT",
        "TTFT",
        "TTFT, but a tool call is no output",
        "TTFT (first chunk latency)",
    ),
    "TTFT from intended": (ABSENT,) * 5,
    "TTFO": (ABSENT, "time to first output token", "TTFO", ABSENT, ABSENT),
    "E2E": (
        "E2EL, to the last chunk with `choices`, empty ones included",
        "request latency, but to the end of the stream, the usage event included",
        "request latency",
        "E2E latency, but to the usage event",
        "latency, but to the last event, the usage event included",
    ),
    "TPOT": (
        "TPOT with 1 for k_first; left out for a one-token answer, but 0 for its goodput",
        "ITL, with 1 for k_first. Its TPOT is (last token - sent) / n, which contains TTFT",
        "ITL; k_first as here with `--per-chunk-usage`, else 1",
        "TPOT with 1 for k_first, to the usage event",
        "TPOT with 1 for k_first, to the last event; 0 for a one-token answer, also in the mean",
    ),
    "ITL": (ABSENT,) * 5,
    "inter-chunk": (
        "ITL, but with the gaps from role-only and to empty chunks",
        ABSENT,
        "ICL",
        ABSENT,
        "ITL",
    ),
    "output tokens": (
        "usage, else its own tokenizer; 1 without one",
        "usage, else chunks",
        "its own tokenizer, or usage with `--use-server-token-count`",
        "usage, else its own tokenizer",
        "usage, else its own tokenizer",
    ),
    "goodput": (
        "good requests per second; a one-token answer passes TPOT",
        "attainment: good / (answered and failed); cut ones and one-token answers are left out",
        "good requests per second; a one-token answer fails ITL",
        ABSENT,
        ABSENT,
    ),
    "schedule lag": (
        ABSENT,
        "request dispatch delay",
        "of replayed traces only, relative to the least late request",
        ABSENT,
        ABSENT,
    ),
}
"""By our name, what each of TOOLS calls it, and how that differs where it does."""


def other_tools() -> str:
    """A heading and the table for the report."""
    rows = [[escape(name), *map(_html, cells)] for name, cells in NAMES.items()]
    return (
        "<h2>The same numbers in other tools</h2>"
        '<p class="soft">Read from the sources of these versions.'
        " Nothing after a name: the same definition.</p>"
        + table(
            ("here", *TOOLS), rows, label="Names in other tools", text=range(1, 1 + len(TOOLS)), css="names"
        )
    )


def markdown() -> str:
    """The table for docs/measurement.md."""
    rows = [("here", *TOOLS), ("---",) * (len(TOOLS) + 1), *((name, *cells) for name, cells in NAMES.items())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _html(cell: str) -> str:
    parts = cell.split("`")
    return "".join(
        f"<code>{escape(part)}</code>" if place % 2 else escape(part) for place, part in enumerate(parts)
    )
