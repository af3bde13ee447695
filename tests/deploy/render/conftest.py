"""What tests of rendered files share."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from fakes.compose import SHIPPED, TOP

from deploy.commands.render import render


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    monkeypatch.chdir(TOP)
    return render("compose", SHIPPED).files
