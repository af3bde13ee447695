"""Log lines as engines really write them, and what is made of them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from serving.facts.load import engine_messages
from serving.facts.messages import diagnose

PREFIX = "(EngineCore pid=4242) ERROR 11-24 10:15:02 [core.py:946] "
LINES: dict[str, str] = tomllib.loads((Path(__file__).parent / "engine_lines.toml").read_text())


def test_there_is_a_line_for_every_message() -> None:
    assert set(LINES) == {message.id for message in engine_messages()}


@pytest.mark.parametrize("message_id", LINES)
def test_a_line_is_known_by_its_message(message_id: str) -> None:
    cause = diagnose(["INFO all is well", PREFIX + LINES[message_id], "Traceback"], engine_messages())
    assert cause is not None
    assert cause.id == message_id
    assert cause.line.startswith(PREFIX)
    assert "{" not in cause.cause
    assert "{}" not in cause.cure


def test_a_warning_that_only_quotes_an_error_is_no_cause() -> None:
    # vLLM 0.32.0 writes this at every start where the limit of open files is low.
    warning = (
        "(APIServer pid=5980) WARNING 11-29 17:34:08 [system_utils.py:255] Found ulimit of 20000 and failed "
        "to automatically increase with error current limit exceeds maximum limit. This can cause fd limit "
        "errors like `OSError: [Errno 24] Too many open files`. Consider increasing with ulimit -n"
    )
    assert diagnose([warning], engine_messages()) is None
    fp8 = diagnose([warning, PREFIX + LINES["fp8_weights_on_cpu"]], engine_messages())
    assert fp8 is not None
    assert fp8.id == "fp8_weights_on_cpu"


def test_the_length_that_would_fit_is_told() -> None:
    cause = diagnose([LINES["max_model_len_too_long_for_kv"]], engine_messages())
    assert cause is not None
    assert cause.cure == "set engine.max_model_len to 4608 or less, or give more engine.kv_cache_memory"


def test_the_heads_are_told() -> None:
    cause = diagnose([LINES["heads_not_divisible"]], engine_messages())
    assert cause is not None
    assert cause.cause == "the model's 9 attention heads cannot be shared by 2 tensor-parallel ranks"


def test_braces_in_a_cure_are_kept() -> None:
    cause = diagnose([LINES["custom_code"]], engine_messages())
    assert cause is not None
    assert cause.cure.endswith("engine.args: {trust_remote_code: true}")


def test_a_full_disk_wins_over_the_crash_it_leads_to() -> None:
    cause = diagnose([LINES["missing_module"], LINES["no_space_left"]], engine_messages())
    assert cause is not None
    assert cause.cause == "the disk (or /dev/shm) is full /data/cache/x.bin"


def test_an_unknown_exception_is_quoted_and_its_echo_is_not() -> None:
    lines = [
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.",
        PREFIX + "KeyError: 'model.layers.0.weight'",
    ]
    cause = diagnose(lines, engine_messages())
    assert cause is not None
    assert (cause.id, cause.cause) == ("unknown", "KeyError: 'model.layers.0.weight'")


def test_a_log_without_an_error_has_no_cause() -> None:
    assert diagnose(["INFO Starting vLLM", "WARNING slow"], engine_messages()) is None


def test_a_refused_configuration_that_is_not_known_better_is_quoted_without_pydantics_tail() -> None:
    cause = diagnose([LINES["wrong_config"]], engine_messages())
    assert cause is not None
    assert cause.cause == (
        "vLLM refuses its configuration: Unknown quantization method: fp9. Must be one of ['awq']."
    )


def test_every_message_says_how_it_is_known() -> None:
    seen = {message.id: message.seen for message in engine_messages()}
    assert set(seen.values()) == {"run", "reported", "read"}
    assert seen["heads_not_divisible"] == "run"
    assert seen["gpu_memory_taken"] == "reported"


def test_too_few_gpus_are_told_by_both_numbers() -> None:
    cause = diagnose([LINES["too_few_gpus"]], engine_messages())
    assert cause is not None
    assert cause.cause == "8 ranks need a GPU each, and 4 are there"
