"""The engine.args section."""

from __future__ import annotations

import pytest

from serving.config.arguments import argument_flags, argument_problems, counted, flag_of


@pytest.mark.parametrize(
    "key", ["max_num_batched_tokens", "max-num-batched-tokens", "--max-num-batched-tokens"]
)
def test_a_flag_has_one_name_however_it_is_spelt(key: str) -> None:
    assert flag_of(key) == "--max-num-batched-tokens"


def test_a_sub_key_of_a_flag_keeps_its_own_spelling() -> None:
    assert flag_of("compilation_config.cudagraph_mode") == "--compilation-config.cudagraph_mode"


def test_a_value_inside_an_object_follows_its_flag_as_json() -> None:
    args = {"a-b.c": False, "a-b.d": True, "a-b.e_f": [1, "x"], "a-b.g": {"h": 1}, "a-b.i": 3}
    assert [(flag, words) for _, flag, words in argument_flags(args)] == [
        ("--a-b.c", ("false",)),
        ("--a-b.d", ("true",)),
        ("--a-b.e_f", ('[1,"x"]',)),
        ("--a-b.g", ('{"h":1}',)),
        ("--a-b.i", ("3",)),
    ]


def test_values_become_words_as_vllm_takes_them() -> None:
    args = {
        "enforce_eager": True,
        "async_scheduling": False,
        "seed": 7,
        "dtype": "bfloat16",
        "override_generation_config": {"temperature": 0.5},
        "allowed_origins": ["a", "b"],
        "no_such_list": [True, False, 1, 0.5],
    }
    assert [(flag, words) for _, flag, words in argument_flags(args)] == [
        ("--enforce-eager", ()),
        ("--no-async-scheduling", ()),
        ("--seed", ("7",)),
        ("--dtype", ("bfloat16",)),
        ("--override-generation-config", ('{"temperature":0.5}',)),
        ("--allowed-origins", ("a", "b")),
        ("--no-such-list", ("true", "false", "1", "0.5")),
    ]


@pytest.mark.parametrize(
    ("word", "count"),
    [("8192", 8192), ("8k", 8000), ("8K", 8192), ("25.6k", 25600), ("2g", 2_000_000_000), ("1T", 1 << 40)],
)
def test_a_count_is_read_as_vllms_parser_reads_it(word: str, count: int) -> None:
    assert counted(word) == count


@pytest.mark.parametrize("word", ["think", "k", "auto", "-1", "8 k", "8kk", "1e3", ""])
def test_a_word_that_only_ends_like_a_count_is_none(word: str) -> None:
    assert counted(word) is None


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("host", "gateway.host"),
        ("--uvicorn-log-level", "loopback"),
        ("ssl_ciphers", "loopback"),
        ("api_key", "gateway.keys_file"),
        ("max-model-len", "engine.max_model_len"),
        ("kv_cache_dtype", "{kind: quantized_kv, ...}"),
        ("no-enable-prefix-caching", "{kind: prefix_cache, ...}"),
        ("-tp", "{kind: parallel, ...}"),
        ("speculative_config.method", "{kind: speculative, ...}"),
        ("disable_log_stats", "metrics"),
        ("spec_method", "{kind: speculative, ...}"),
        ("spec-model", "{kind: speculative, ...}"),
        ("--spec-tokens", "{kind: speculative, ...}"),
    ],
)
def test_a_flag_that_is_decided_elsewhere_is_refused_with_where(key: str, fix: str) -> None:
    [(refused, what, todo)] = argument_problems({key: 1})
    assert refused == key
    assert "is decided by" in what
    assert fix in todo


@pytest.mark.parametrize(
    ("key", "flag"),
    [("tp", "--tensor-parallel-size"), ("-q", "--quantization"), ("cc.mode", "--compilation-config.mode")],
)
def test_short_names_are_vllms_own(key: str, flag: str) -> None:
    assert flag_of(key) == flag


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("disable_prefix_caching", "{kind: prefix_cache, ...}"),
        ("device_memory_utilization", "engine.gpu_memory_utilization"),
        ("no_headless", "over HTTP"),
    ],
)
def test_another_spelling_of_an_owned_flag_is_owned_too(key: str, fix: str) -> None:
    [(_, what, todo)] = argument_problems({key: True})
    assert "is decided by" in what
    assert fix in todo


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("max_num_batched_tokenz", "did you mean --max-num-batched-tokens?"),
        ("swap_space", "leave it out: preempted requests are computed again; "),
        ("no_such_flag", ""),
        ("no_enable_prefix_cachin", "did you mean --no-enable-prefix-caching?"),
        ("guided_decoding_backend", "use --structured-outputs-config with {backend: ...}"),
    ],
)
def test_what_no_version_has_is_refused_with_what_to_use(key: str, fix: str) -> None:
    [(_, what, todo)] = argument_problems({key: 1})
    assert what == f"--{key.replace('_', '-')} is no flag of vLLM 0.32.0 or 0.33.0"
    assert todo.startswith(fix)


def test_a_flag_and_its_opposite_are_the_same_flag() -> None:
    [(key, what, _)] = argument_problems({"enable_log_requests": True, "disable_log_requests": True})
    assert (key, what) == ("disable_log_requests", "is the same flag as 'enable_log_requests'")


def test_two_spellings_of_one_flag_are_refused() -> None:
    [(key, what, _)] = argument_problems({"seed": 1, "--seed": 2})
    assert (key, what) == ("--seed", "is the same flag as 'seed'")


def test_a_word_that_no_process_can_be_given_is_refused() -> None:
    [(key, what, _)] = argument_problems({"chat_template": "a\0b"})
    assert (key, what) == ("chat_template", "holds a NUL, which no argument of a process can")


def test_what_is_no_name_is_refused() -> None:
    [(_, what, _)] = argument_problems({"seed 1": 2})
    assert what == "is not a flag's name"


def test_other_flags_pass() -> None:
    assert list(argument_problems({"enforce_eager": True, "seed": 1, "dtype": "auto"})) == []
