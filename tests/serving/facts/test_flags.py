"""What one vLLM version accepts. The table is made by hand; what vLLM really has is in test_load_flags.py."""

from __future__ import annotations

import pytest

from serving.facts.flags import Knowledge, Removed, parse_engine_flags, parse_removed

OLD = parse_engine_flags({
    "version": "1.0",
    "extracted": "2026-01-01",
    "source": "by hand",
    "flags": {
        "--dtype": {"kind": "text", "choices": ["auto", "bfloat16", "None"]},
        "--seed": {"kind": "int", "default": 0},
        "--share": {"kind": "float", "also": ["--part"]},
        "--length": {"kind": "size"},
        "--enable-cache": {"kind": "bool", "also": ["-ec"], "off": ["--no-enable-cache"]},
        "--headless": {"kind": "switch"},
        "--settings": {"kind": "json"},
        "--names": {"kind": "text", "takes": "+"},
        "--quantization": {"kind": "text"},
        "--speculative-config": {"kind": "json"},
        "--kv-transfer-config": {"kind": "json"},
    },
    "variables": ["VLLM_LOGGING_LEVEL", "VLLM_PORT"],
    "words": {
        "quantization": ["fp8", "fp8_per_block"],
        "speculative_method": ["ngram", "medusa"],
        "kv_connector": ["NixlConnector", "MultiConnector"],
    },
})  # fmt: skip
NEW = parse_engine_flags({
    "version": "2.0", "extracted": "2026-02-01", "source": "by hand",
    "flags": {"--watchdog": {"kind": "text"}}, "variables": ["VLLM_NEW"], "words": {},
})  # fmt: skip
REMOVED = parse_removed([
    {"name": "--swap-space", "of": "flag", "instead": "leave it out", "source": "x"},
    {"name": "VLLM_USE_V1", "of": "variable", "instead": "unset it", "source": "x"},
    {"name": "P2pNcclConnector", "of": "connector", "instead": "use NixlConnector", "source": "x"},
    {"name": "kv_transfer_config.kv_rank", "of": "key", "instead": "no rank", "source": "x"},
])  # fmt: skip
KNOWN = Knowledge(OLD, [NEW], REMOVED)


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--dtype", ["bfloat16"]),
        ("--seed", ["-1"]),
        ("--part", ["0.5"]),
        ("--length", ["8k"]),
        ("--length", ["auto"]),
        ("--enable-cache", []),
        ("-ec", []),
        ("--no-enable-cache", []),
        ("--headless", []),
        ("--settings", ['{"a": 1}']),
        ("--settings", ["a/path.json"]),
        ("--settings.a.b", ["x"]),
        ("--names", ["a", "b"]),
        ("--quantization", ["FP8-per-block"]),
        ("--speculative-config", ['{"method": "medusa"}']),
        ("--kv-transfer-config", ['{"kv_connector": "NixlConnector"}']),
        ("--kv-transfer-config", ['{"kv_connector": "Own", "kv_connector_module_path": "own"}']),
    ],
)
def test_what_the_version_takes_is_no_complaint(flag: str, words: list[str]) -> None:
    assert KNOWN.flag(flag, words) is None


@pytest.mark.parametrize(
    ("flag", "words", "what", "fix"),
    [
        ("--sead", ["1"], "--sead is no flag of vLLM 1.0", "did you mean --seed?"),
        ("--swap-space", ["4"], "--swap-space is no flag of vLLM 1.0", "leave it out"),
        ("--watchdog", ["x"], "--watchdog is no flag of vLLM 1.0", "it is in 2.0 only: leave it out"),
        ("--no-headless", [], "--headless cannot be said to be false", "leave it out"),
        ("--no-seed", [], "--seed is neither true nor false", "give it a whole number"),
        ("--enable-cache", ["x"], "--enable-cache takes no value", "write true or false"),
        ("--seed", [], "--seed needs a value", "give it a whole number"),
        ("--seed", ["1", "2"], "--seed takes one value and not 2", "give one"),
        ("--seed", ["x"], "'x' is no value for --seed", "give it a whole number"),
        ("--seed.a", ["1"], "--seed has no keys inside", "write --seed and its value"),
        ("--dtype", ["bf16"], "'bf16' is no --dtype of vLLM 1.0", "use one of auto, bfloat16"),
        (
            "--quantization",
            ["fp8_per_blok"],
            "'fp8_per_blok' is no --quantization of vLLM 1.0",
            "did you mean fp8_per_block?",
        ),
        (
            "--speculative-config",
            ['{"method": "ngran"}'],
            "'ngran' is no speculative method of vLLM 1.0",
            "did you mean ngram?",
        ),
        (
            "--kv-transfer-config",
            ['{"kv_connector": "P2pNcclConnector"}'],
            "'P2pNcclConnector' is no KV connector of vLLM 1.0",
            "use NixlConnector",
        ),
        (
            "--kv-transfer-config",
            ['{"kv_connector": "MultiConnector", "kv_connector_extra_config": {"connectors": '
             '[{"kv_connector": "P2pNcclConnector"}]}}'],
            "'P2pNcclConnector' is no KV connector of vLLM 1.0",
            "use NixlConnector",
        ),
        (
            "--kv-transfer-config",
            ['{"kv_connector": "NixlConnector", "kv_rank": 0}'],
            "kv_transfer_config.kv_rank is no key of vLLM 1.0",
            "no rank",
        ),
    ],
)  # fmt: skip
def test_what_it_does_not_take_is_said_with_a_way_out(
    flag: str, words: list[str], what: str, fix: str
) -> None:
    assert KNOWN.flag(flag, words) == (what, fix)


def test_broken_json_is_told_from_words() -> None:
    complaint = KNOWN.flag("--settings", ['{"a": '])
    assert complaint is not None
    assert complaint[0].startswith("the value of --settings is not JSON: ")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("UCX_TLS", None),
        ("VLLM_PORT", None),
        ("VLLM_USE_V1", ("VLLM_USE_V1 is no variable of vLLM 1.0", "unset it")),
        ("VLLM_NEW", ("VLLM_NEW is no variable of vLLM 1.0", "it is in 2.0 only: leave it out")),
        (
            "VLLM_LOGING_LEVEL",
            ("VLLM_LOGING_LEVEL is no variable of vLLM 1.0", "did you mean VLLM_LOGGING_LEVEL?"),
        ),
    ],
)
def test_only_vllms_own_variables_are_judged(name: str, complaint: tuple[str, str] | None) -> None:
    assert KNOWN.variable(name) == complaint


def test_a_removed_name_is_found_by_what_it_was() -> None:
    assert KNOWN.gone("--swap-space", "flag") == Removed("--swap-space", "flag", "leave it out", "x")
    assert KNOWN.gone("--swap-space", "variable") is None


def test_a_wrong_column_is_not_ignored() -> None:
    with pytest.raises(TypeError, match="chioces"):
        parse_engine_flags({
            "version": "1", "extracted": "", "source": "", "variables": [], "words": {},
            "flags": {"--x": {"kind": "text", "chioces": []}},
        })  # fmt: skip
