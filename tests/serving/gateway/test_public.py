"""What cannot be used is said before any process is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.errors import UsageError
from serving.gateway.public import check_usable
from serving.gateway.settings import EdgeSettings, TlsFiles


def test_settings_without_files_can_always_be_used() -> None:
    check_usable(EdgeSettings(), "demo")


@pytest.mark.parametrize(
    "settings",
    [
        EdgeSettings(keys_file=Path("nowhere")),
        EdgeSettings(tls=TlsFiles(Path("nowhere"), Path("nowhere"))),
    ],
)
def test_a_file_that_is_not_there_is_said(settings: EdgeSettings) -> None:
    with pytest.raises(UsageError):
        check_usable(settings, "demo")
