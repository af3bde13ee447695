"""The actions of `teapot dashboards`."""

from __future__ import annotations

import pytest

from deploy.cli import main
from deploy.commands.dashboards import ACTIONS


def test_help_names_every_action(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["dashboards", "--help"])
    assert end.value.code == 0
    told = capsys.readouterr().out
    assert all(action in told for action in ACTIONS)


def test_an_unknown_action_is_wrong_usage() -> None:
    with pytest.raises(SystemExit) as end:
        main(["dashboards", "paint"])
    assert end.value.code == 2
