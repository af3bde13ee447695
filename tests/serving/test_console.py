"""Results go to stdout, talk to stderr, and --json leaves one document."""

from __future__ import annotations

import io
import json

from serving.console import Console


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_talk_goes_to_stderr_and_results_to_stdout() -> None:
    out, err = io.StringIO(), io.StringIO()
    console = Console(out=out, err=err)
    console.say("starting")
    console.result("table")
    assert (out.getvalue(), err.getvalue()) == ("table\n", "starting\n")


def test_with_json_only_the_document_is_on_stdout() -> None:
    out = io.StringIO()
    console = Console(as_json=True, out=out, err=io.StringIO())
    console.result("table")
    console.document({"n": 1})
    assert json.loads(out.getvalue()) == {"n": 1}


def test_without_json_the_document_is_silent() -> None:
    out = io.StringIO()
    Console(out=out, err=io.StringIO()).document({"n": 1})
    assert out.getvalue() == ""


def test_progress_is_silent_where_there_is_no_terminal() -> None:
    err = io.StringIO()
    Console(err=err).progress("50 %")
    assert err.getvalue() == ""


def test_progress_on_a_terminal_is_wiped_before_the_next_line() -> None:
    err = Terminal()
    console = Console(err=err)
    console.progress("50 %")
    console.say("done")
    assert err.getvalue().endswith("\r\x1b[2Kdone\n")
