"""The token for Grafana: from a file or the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.grafana_token import token
from serving.errors import UsageError


def test_the_file_goes_before_the_environment(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("glsa_file\n")
    assert token(tmp_path / "t", {"GRAFANA_TOKEN": "glsa_environment"}) == "glsa_file"
    assert token(None, {"GRAFANA_TOKEN": "glsa_environment"}) == "glsa_environment"


def test_no_token_at_all_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="GRAFANA_TOKEN: there is no token for Grafana; set it to"):
        token(None, {})
    (tmp_path / "t").write_text("\n")
    with pytest.raises(UsageError, match="t: there is no token for Grafana; give a file"):
        token(tmp_path / "t", {})


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        token(tmp_path / "none", {})
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read: not text"):
        token(tmp_path / "binary", {})
