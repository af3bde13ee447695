"""Results go to stdout, talk to stderr, and --json leaves one document."""

from __future__ import annotations

import errno
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from serving.console import Console
from serving.errors import Failed


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


class Full(io.StringIO):
    """A stream to a disk that is full."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_result_that_cannot_be_written_is_a_failure_with_words(as_json: bool) -> None:
    console = Console(as_json=as_json, out=Full(), err=io.StringIO())
    with pytest.raises(Failed, match="standard output: No space left on device; make room"):
        console.document(1) if as_json else console.result("table")
    # The failure itself is told as a document too, which must not fail again.
    console.document({"error": []})


def test_talk_that_cannot_be_written_ends_nothing() -> None:
    Console(err=Full()).say("ready")


def test_a_stream_that_the_process_was_started_without_takes_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    console = Console()
    console.say("starting")
    console.progress("50 %")
    console.result("table")
    assert console.out.isatty() is False


PROGRAM = """
import sys
from serving.console import Console
from serving.errors import Failed
try:
    Console().result("table")
except Failed as error:
    sys.exit(3)
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_the_end_of_the_process_does_not_try_again() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], check=False, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (3, "")
