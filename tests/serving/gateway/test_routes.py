from __future__ import annotations

import pytest

from serving.gateway.routes import Match, match


@pytest.mark.parametrize(
    ("target", "path", "model"),
    [
        ("/v1/chat/completions", "/v1/chat/completions", None),
        ("/v1/chat/completions?api-version=1", "/v1/chat/completions", None),
        ("/v1/models/smollm2-135m", "/v1/models/{id}", "smollm2-135m"),
        ("/v1/models/HuggingFaceTB/SmolLM2-135M", "/v1/models/{id}", "HuggingFaceTB/SmolLM2-135M"),
        ("/v1/models/a.b:c@d_e", "/v1/models/{id}", "a.b:c@d_e"),
    ],
)
def test_an_allowed_target_matches(target: str, path: str, model: str | None) -> None:
    found = match(target)
    assert isinstance(found, Match)
    assert (found.route.path, found.model) == (path, model)


@pytest.mark.parametrize(
    "target", ["", "?", "/v1/models/", "/v1/models/.", "/v1/models/a/", "/v1/models/\u00e9"]
)
def test_anything_else_matches_nothing(target: str) -> None:
    assert match(target) is None
