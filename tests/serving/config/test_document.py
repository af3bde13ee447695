"""Key paths, lines and overrides."""

from __future__ import annotations

import pytest

from serving.config.document import Document, KeyPath, parse_path, spell
from serving.errors import UsageError

DEMO = Document(
    "demo.yaml",
    {
        "name": "demo",
        "modes": [{"kind": "prefix_cache"}, {"kind": "quantized_kv", "format": "fp8"}],
        "slo": None,
    },
    {
        ("name",): 1,
        ("modes",): 2,
        ("modes", 0): 3,
        ("modes", 0, "kind"): 3,
        ("modes", 1): 4,
        ("modes", 1, "kind"): 4,
        ("modes", 1, "format"): 5,
        ("slo",): 6,
    },
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("name", ("name",)),
        ("modes[1].format", ("modes", 1, "format")),
        ("engine.args.max-num", ("engine", "args", "max-num")),
    ],
)
def test_a_path_is_read_and_written_the_same_way(text: str, path: KeyPath) -> None:
    assert parse_path(text) == path
    assert spell(path) == text


@pytest.mark.parametrize("text", ["", "a.", ".a", "a..b", "[0]", "a[x]", "a[0]b", "a[", "a.[0]"])
def test_what_is_no_path_is_not_read(text: str) -> None:
    assert parse_path(text) is None


def test_a_value_is_where_its_key_is() -> None:
    assert DEMO.where(("modes", 1, "format")) == "demo.yaml:5: modes[1].format"


def test_a_missing_key_is_where_its_section_is() -> None:
    assert DEMO.where(("modes", 0, "enabled")) == "demo.yaml:3: modes[0].enabled"
    assert DEMO.where(("model",)) == "demo.yaml:1: model"


def test_nobody_said_what_is_not_in_the_file() -> None:
    assert DEMO.source(("model",)) is None
    assert DEMO.source(("name",)) == "demo.yaml:1: name"


def test_an_override_replaces_a_value_and_is_named_as_its_source() -> None:
    changed = DEMO.override("modes[1].format", "fp8_e5m2")
    assert changed.data["modes"][1] == {"kind": "quantized_kv", "format": "fp8_e5m2"}
    assert changed.where(("modes", 1, "format")) == "--set modes[1].format"
    assert changed.source(("modes", 1)) == "--set modes[1].format"
    assert DEMO.data["modes"][1]["format"] == "fp8"


def test_an_override_makes_the_sections_on_its_way() -> None:
    assert DEMO.override("engine.args.enforce_eager", True).data["engine"] == {
        "args": {"enforce_eager": True}
    }
    assert DEMO.override("slo.ttft", "1s").data["slo"] == {"ttft": "1s"}


def test_a_whole_section_can_be_replaced() -> None:
    changed = DEMO.override("modes", [])
    assert changed.data["modes"] == []
    assert changed.where(("modes", 0)) == "--set modes[0]"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("modes[7].kind", r"--set modes\[7\].kind: modes has 2 entries; indices begin at 0"),
        ("modes.kind", r"--set modes.kind: modes is a list; name an entry by its index"),
        ("name.x", r"--set name.x: name is a single value; it has no keys"),
        ("name[0]", r"--set name\[0\]: name is not a list; leave the index out"),
        ("revisions[0].name", r"revisions\[0\].name: there are no revisions in the file; the first goes"),
        ("a..b", r"--set: 'a..b' is not a key; write it like"),
    ],
)
def test_a_path_that_cannot_be_is_refused_by_name(key: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        DEMO.override(key, 1)


def test_a_section_that_only_an_override_made_is_where_the_override_is() -> None:
    changed = DEMO.override("engin.max_model_len", 2048)

    assert changed.where(("engin",)) == "--set engin.max_model_len"
    assert changed.where(("engine",)) == "demo.yaml:1: engine"
