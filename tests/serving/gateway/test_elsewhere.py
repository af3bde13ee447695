"""Backends that others run: keys, names of models and certificates, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.errors import UsageError
from serving.gateway.answers import Refused
from serving.gateway.elsewhere import Access, Elsewhere, accesses, check_elsewhere, revisions_elsewhere, trust

CERT = Path(__file__).parents[2] / "golden" / "tls" / "cert.pem"
THERE = ("http://10.0.0.7:8000",)


def test_addresses_lose_the_v1_that_routes_bring_and_files_lie_beside_the_deployment() -> None:
    text = """
name: demo
revisions:
  - {name: own, weight: 3}
  - {name: a, urls: ["http://10.0.0.7:8000/v1", "https://x/openai/v1/"], key_file: k, ca_file: c.pem}
"""
    found = revisions_elsewhere(validate(parse(text, "demo.yaml"), Deployment), Path("/etc/teapot"))
    assert found == {
        "a": Elsewhere(
            urls=("http://10.0.0.7:8000", "https://x/openai"),
            key_file=Path("/etc/teapot/k"), ca_file=Path("/etc/teapot/c.pem"),
        )
    }  # fmt: skip


def test_the_key_is_the_gateways_own_and_takes_the_place_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-file\n")
    by_file = Access("a", Elsewhere(THERE, key_file=tmp_path / "key"), {})
    by_env = Access("a", Elsewhere(THERE, key_env="K"), {"K": "sk-env"})
    assert by_file.dress({"Accept": "x"}, b"{}") == (
        {"Accept": "x", "Authorization": "Bearer sk-file"},
        b"{}",
    )
    assert by_env.dress({"Authorization": "Bearer client"}, None)[0] == {"Authorization": "Bearer sk-env"}
    assert Access("a", Elsewhere(THERE), {}).dress({}, None) == ({}, None)


def test_only_the_models_name_in_a_body_is_changed() -> None:
    access = Access("a", Elsewhere(THERE, models={"small": "org/Small"}), {})
    assert access.dress({}, b'{ "model": "small", "n":1}')[1] == b'{ "model": "org/Small", "n":1}'
    assert access.dress({}, b'{"model":"other"}')[1] == b'{"model":"other"}'
    packed = b"\x1f\x8b small"
    assert access.dress({"Content-Encoding": "gzip"}, packed)[1] == packed
    with pytest.raises(Refused):
        access.dress({}, b"[" * 200_000)


def test_a_list_of_models_has_the_names_of_here() -> None:
    access = Access("a", Elsewhere(THERE, models={"small": "org/Small"}), {})
    listed = access.listing("/v1/models", b'{"object":"list","data":[{"id":"org/Small"},{"id":"b"}]}')
    assert json.loads(listed) == {"object": "list", "data": [{"id": "small"}, {"id": "b"}]}
    for odd in (b"no list", b"[]", b'{"data":[1]}'):
        assert access.listing("/v1/models", odd) == odd
    assert (access.reads("/v1/models"), access.reads("/v1/completions")) == (True, False)
    assert not Access("a", Elsewhere(THERE), {}).reads("/v1/models")


def test_a_certificate_is_trusted_for_its_revisions_addresses_only() -> None:
    there = {"a": Elsewhere(("https://a", "https://b"), ca_file=CERT), "c": Elsewhere(("https://c",))}
    assert sorted(trust(there, accesses(there, {}))) == ["https://a", "https://b"]


def test_every_key_and_file_that_is_not_there_is_said_with_its_line_and_without_its_content(
    tmp_path: Path,
) -> None:
    (tmp_path / "two-lines").write_text("sk-1\nX-Evil: 1\n")
    (tmp_path / "empty").write_text("\n")
    text = """name: demo
revisions:
  - {name: a, urls: ["http://a/v1"], key_env: NOT_SET}
  - {name: b, urls: ["http://b/v1"], key_file: nowhere, ca_file: two-lines}
  - {name: c, urls: ["http://c/v1"], key_file: two-lines, ca_file: nowhere}
  - {name: d, urls: ["http://d/v1"], key_file: empty}
  - {name: e, urls: ["http://e/v1"], key_env: SPACED}
"""
    document = parse(text, "demo.yaml")
    with pytest.raises(UsageError) as caught:
        check_elsewhere(validate(document, Deployment), document, tmp_path, {"SPACED": "sk 1"})
    said = str(caught.value).replace(f"{tmp_path}/", "")
    for line in (
        "demo.yaml:3: revisions[0].key_env: NOT_SET is not set in the environment",
        "demo.yaml:4: revisions[1].key_file: nowhere cannot be read: No such file or directory",
        "demo.yaml:4: revisions[1].ca_file: two-lines cannot be used: it is no PEM certificate",
        "demo.yaml:5: revisions[2].key_file: holds no key",
        "demo.yaml:5: revisions[2].ca_file: nowhere cannot be used: No such file or directory",
        "demo.yaml:6: revisions[3].key_file: holds no key",
        "demo.yaml:7: revisions[4].key_env: holds no key",
    ):
        assert line in said
    assert "sk" not in said


def test_a_worker_that_cannot_read_a_key_says_which() -> None:
    with pytest.raises(UsageError, match="revisions: a: key_env: K is not set"):
        Access("a", Elsewhere(THERE, key_env="K"), {})
