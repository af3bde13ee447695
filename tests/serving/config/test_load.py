"""From a file to a checked model, and everything that can be wrong on the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from serving.config.load import load_deployment, load_model, parse, read
from serving.errors import EXIT_USAGE, UsageError

CONTRACT = """\
name: demo
model: smollm2-135m
engine:
  device: auto
  max_model_len: 2048
  max_num_seqs: 32
  kv_cache_memory: 2GiB
  args: {}
modes:
  - {kind: prefix_cache}
  - {kind: quantized_weights, format: fp8_per_block}
  - {kind: quantized_kv, format: fp8}
  - {kind: speculative, method: ngram, tokens: 4, prompt_lookup_max: 4, prompt_lookup_min: 2}
  - {kind: parallel, tensor: 1, pipeline: 1, data: 1, expert: false}
  - {kind: disaggregated, prefill: 1, decode: 1, connector: {kind: nixl}}
replicas: 1
gateway: {host: 127.0.0.1, port: 8000, keys_file: null, max_body: 10MiB}
slo: {ttft: 500ms, tpot: 50ms, e2e: 30s}
"""


class Small(BaseModel):
    """Another file's model: the loader knows no keys."""

    model_config = ConfigDict(extra="forbid", strict=True)
    rate: float
    tags: tuple[str, ...] = ()


def written(folder: Path, text: str, name: str = "demo.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def said(error: UsageError) -> list[str]:
    return str(error).splitlines()


def test_the_file_of_the_contract_is_read(tmp_path: Path) -> None:
    deployment, document = load_deployment(written(tmp_path, CONTRACT))
    assert deployment.engine.kv_cache_memory == 2147483648
    assert [mode.kind for mode in deployment.modes] == [
        "prefix_cache", "quantized_weights", "quantized_kv", "speculative", "parallel", "disaggregated",
    ]  # fmt: skip
    assert (deployment.gateway.max_body, deployment.slo.tpot, deployment.slo.e2e) == (10485760, 0.05, 30.0)
    assert document.lines["modes", 2, "format"] == 12


def test_the_example_of_the_contract_is_said_word_for_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(
        tmp_path,
        "name: demo\nmodel: smollm2-135m\n\nengine: {}\n"
        "modes:\n  - kind: prefix_cache\n  - kind: quantized_kv\n    formt: fp8\n",
    )
    with pytest.raises(UsageError) as caught:
        load_deployment("demo.yaml")
    assert str(caught.value) == "demo.yaml:8: modes[1].formt: unknown key; did you mean 'format'?"
    assert caught.value.exit_code == EXIT_USAGE


def test_other_files_come_through_the_same_door(tmp_path: Path) -> None:
    assert load_model(written(tmp_path, "rate: 2\ntags: [a, b]\n"), Small) == Small(rate=2.0, tags=("a", "b"))


def test_overrides_are_read_as_yaml_and_win(tmp_path: Path) -> None:
    file = written(tmp_path, CONTRACT)
    overrides = ["engine.max_model_len=1024", "modes[2].format=fp8_e5m2", "engine.args={enforce_eager: true}"]
    deployment, _ = load_deployment(str(file), overrides)
    assert deployment.engine.max_model_len == 1024
    assert deployment.engine.args == {"enforce_eager": True}
    assert deployment.modes[2].asked() == "fp8_e5m2"


def test_a_wrong_value_of_an_override_is_said_to_be_one(tmp_path: Path) -> None:
    file = written(tmp_path, CONTRACT)
    with pytest.raises(UsageError) as caught:
        load_deployment(str(file), ["slo.ttft=5", "replicas=none"])
    assert said(caught.value) == [
        "--set replicas: 'none' is not a whole number; write digits, such as 8",
        "--set slo.ttft: 5 has no unit; write it with its unit, probably 5s (or 5ms)",
    ]


def test_an_override_without_a_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--set: 'replicas' has no value; write it like"):
        read(str(written(tmp_path, CONTRACT)), ["replicas"])


def test_an_override_can_be_empty(tmp_path: Path) -> None:
    assert read(str(written(tmp_path, CONTRACT)), ["gateway.keys_file="]).data["gateway"]["keys_file"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml: the file is empty"),
        ("# only a comment\n", "f.yaml: the file is empty"),
        ("- a\n", "f.yaml:1: is not a section with keys; write `key: value` lines"),
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: a: is given twice, first in line 1; keep one of them"),
        ("a:\n\tb: 1\n", "f.yaml:2: a tab in the indentation; indent with spaces"),
        ("a: 1\nb: [1, 2\n", "f.yaml:3: is not YAML: "),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: is not YAML: "),
        ("a: *nobody\n", "f.yaml:1: is not YAML: found undefined alias"),
        ("a: !!python/object/apply:os.getcwd []\n", "f.yaml:1: the tag "),
        ("a: !!python/name:os.getcwd\n", "f.yaml:1: is not YAML: could not determine a constructor"),
        ("a: \x01\n", "f.yaml: is not YAML: "),
        ("? [a, b]\n: 1\n", "f.yaml:1: a key must be plain text"),
        ("a: &a [*a]\n", "f.yaml: has too many keys or is nested too deeply"),
        ("a: !!binary aGk=\n", "f.yaml:1: 'aGk=' is no"),
    ],
)
def test_what_is_no_good_yaml_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text, "f.yaml")
    assert str(caught.value).startswith(message)


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 7)]
    with pytest.raises(UsageError, match="too many keys"):
        parse("\n".join(lines), "f.yaml")


def test_words_are_those_of_yaml_1_2() -> None:
    data = parse(
        "a: yes\nb: on\nc: 2026-01-01\nd: 12:30\ne: 1_000\nf: true\ng: ~\nh:\ni: 1e3\nj: -4\n", "f"
    ).data
    assert data == {
        "a": "yes", "b": "on", "c": "2026-01-01", "d": "12:30", "e": "1_000", "f": True, "g": None, "h": None,
        "i": 1000.0, "j": -4,
    }  # fmt: skip


def test_anchors_and_merges_work_and_keep_their_lines() -> None:
    document = parse("base: &base\n  x: 1\n  y: 2\nmine:\n  <<: *base\n  y: 3\n", "f.yaml")
    assert document.data["mine"] == {"x": 1, "y": 3}
    assert document.lines["mine", "y"] == 6


def test_a_file_that_is_not_there_names_its_neighbours(tmp_path: Path) -> None:
    written(tmp_path, CONTRACT, "plain.yaml")
    with pytest.raises(UsageError, match=r"demo.yaml: no such file; in that folder are plain.yaml"):
        read(str(tmp_path / "demo.yaml"))


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder, not a file"):
        read(str(tmp_path))


def test_a_file_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "demo.yaml"
    file.write_bytes(b"name: \xff\n")
    with pytest.raises(UsageError, match=r"is not UTF-8 text \(byte 6\)"):
        read(str(file))


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        read(str(written(tmp_path, "#" * 1024**2 + "\n")))


def test_the_file_is_named_as_it_was_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    written(tmp_path / "deep", "name: X\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^deep/demo.yaml:1: name: 'X' is not allowed; lower-case letters"):
        load_deployment("deep/demo.yaml")
