from __future__ import annotations

from serving.engine.causes import cause_of

PRE = "(EngineCore pid=12) ERROR 11-29 16:17:21 [core.py:1099] "


def test_a_known_message_is_told_with_its_cure() -> None:
    found = cause_of(["INFO all well", "api_server.py: error: unrecognized arguments: --foo"])
    assert found is not None
    assert (found.cause, found.cure) == (
        "this vLLM does not know the arguments --foo",
        "correct or remove them under engine.args",
    )


def test_an_unknown_exception_is_quoted_and_its_echo_is_not() -> None:
    found = cause_of(
        [
            PRE + "Traceback (most recent call last):",
            PRE + '  File "core.py", line 1, in x',
            PRE + "ValueError: the frobnicator is odd",
            "RuntimeError: Engine core initialization failed. See root cause above.",
        ]
    )
    assert found is not None
    assert found.cause == "the frobnicator is odd"


def test_without_an_exception_the_last_error_is_quoted() -> None:
    found = cause_of(
        [
            PRE + "first",
            PRE + "the second thing went wrong",
            "(APIServer pid=1) INFO 11-29 16:17:21 [x.py:1] bye",
        ]
    )
    assert found is not None
    assert found.cause == "the second thing went wrong"


def test_a_log_without_an_error_has_no_cause() -> None:
    assert cause_of(["INFO:     Application startup complete.", ""]) is None
