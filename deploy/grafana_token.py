"""Where the token for Grafana comes from: a file, or the environment; never the command line.

Owns: this order. Knows nothing about Grafana.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from serving.errors import UsageError

VARIABLE = "GRAFANA_TOKEN"


def token(file: Path | None, environ: Mapping[str, str], *, variable: str = VARIABLE) -> str:
    """The token in a file, or else in a variable. Raises: UsageError where there is none."""
    if file is None:
        value = environ.get(variable, "").strip()
        where, fix = variable, "set it to a service account's token, or give a file that holds one"
    else:
        where, fix = str(file), "give a file with nothing but the token in it"
        try:
            value = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not text"
            raise UsageError(
                f"the token for Grafana cannot be read: {reason}", where=where, fix=fix
            ) from error
    if not value:
        raise UsageError("there is no token for Grafana", where=where, fix=fix)
    return value
