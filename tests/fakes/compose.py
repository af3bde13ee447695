"""The compose file as it is rendered, for tests that look at its parts.

Owns: rendering a deployment's text, and the services of what came out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from deploy.commands.render import render

TOP = Path(__file__).parents[2]
SHIPPED = "deploy/configs/compose.yaml"


def services(files: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(files["docker-compose.yml"])["services"]
    return found


def rendered(tmp_path: Path, text: str) -> Mapping[str, str]:
    file = tmp_path / "d.yaml"
    file.write_text(text)
    return render("compose", str(file)).files
