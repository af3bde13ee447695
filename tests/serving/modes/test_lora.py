"""LoRA adapters: their fields."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from serving.modes.lora import Lora


def test_it_says_its_adapters() -> None:
    assert Lora(adapters={"sql": "adapters/sql", "legal": "org/legal"}).asked() == "sql, legal"


def test_no_adapters_are_refused() -> None:
    with pytest.raises(ValidationError, match="at least 1"):
        Lora(adapters={})
