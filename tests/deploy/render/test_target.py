"""What a target is given and gives."""

from __future__ import annotations

import subprocess
import sys

import pytest

from deploy.render.target import Rendered, Target


def test_a_target_stays_as_it_was_registered() -> None:
    target = Target("x", "x", "deploy.render.compose:render_compose")
    with pytest.raises(AttributeError):
        target.name = "y"  # type: ignore[misc]


def test_files_and_notes_stay_as_they_were_rendered() -> None:
    with pytest.raises(AttributeError):
        Rendered({}).notes = ("y",)  # type: ignore[misc]


def test_telling_which_targets_there_are_imports_none_of_them() -> None:
    code = (
        "import sys, deploy.commands.render; "
        "heavy = {'pydantic', 'yaml', 'dashboards', 'serving.config.schema'} & set(sys.modules); "
        "sys.exit(f'imported for --help: {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
