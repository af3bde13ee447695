"""The registry of policies."""

from __future__ import annotations

from typing import get_args

from serving.config.schema import RoutingSection
from serving.gateway.policies import POLICIES


def test_the_file_takes_exactly_the_policies_there_are() -> None:
    assert set(get_args(RoutingSection.model_fields["policy"].annotation)) == POLICIES.keys()
