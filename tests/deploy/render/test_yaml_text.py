"""YAML as rendered files have it."""

from __future__ import annotations

import pytest
import yaml

from deploy.render.yaml_text import head, manifests, yaml_text


def test_what_occurs_twice_is_written_twice_and_keys_keep_their_order() -> None:
    shared = {"b": 1, "a": 2}
    assert yaml_text({"x": shared, "z": shared}) == "x:\n  b: 1\n  a: 2\nz:\n  b: 1\n  a: 2\n"


def test_texts_of_several_lines_are_written_as_such_and_read_back_as_they_were() -> None:
    text = "one: 1\n  # two\n\nthree\n"
    written = yaml_text({"file": text})
    assert written.startswith("file: |\n  one: 1\n")
    assert yaml.safe_load(written) == {"file": text}


@pytest.mark.parametrize("text", ["1e3", "0o17", "12e03", "y", "N", ".5", "0b1", "1_000", "on", "~", "1:30"])
def test_a_word_that_some_reader_takes_for_a_number_or_a_truth_is_quoted(text: str) -> None:
    assert yaml_text({text: text}) == f"'{text}': '{text}'\n"


def test_documents_are_divided_as_kubectl_reads_them() -> None:
    assert list(yaml.safe_load_all(manifests([{"a": 1}, {"b": 2}]))) == [{"a": 1}, {"b": 2}]


def test_the_head_is_comment_only_and_says_what_is_not_carried_over() -> None:
    text = head("d.yaml", "lws", "First.\nSecond.", notes=["x " * 100, "y"])
    assert all(line.startswith("#") and len(line) <= 112 for line in text.splitlines())
    assert text.startswith("# Rendered from d.yaml by `teapot render lws`")
    assert text.endswith("# - y\n")
