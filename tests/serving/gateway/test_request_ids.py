from __future__ import annotations

import pytest

from serving.gateway.request_ids import accept


@pytest.mark.parametrize("offered", ["a", "x" * 128, "req_1/2:3~!"])
def test_a_printable_id_is_kept(offered: str) -> None:
    assert accept(offered) == offered


@pytest.mark.parametrize("offered", [None, "", "x" * 129, "a b", "a\n", "caf\u00e9", "\x7f"])
def test_any_other_is_replaced_by_a_new_one(offered: str | None) -> None:
    made = accept(offered)
    assert len(made) == 32
    assert made.isalnum()
    assert made != accept(offered)
