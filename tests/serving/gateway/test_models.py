from __future__ import annotations

import pytest

from serving.gateway.answers import Refused
from serving.gateway.models import pick_model


def test_the_entry_with_the_id_is_picked() -> None:
    assert pick_model(b'{"data": [{"id": "a"}, {"id": "b", "x": 1}]}', "b") == b'{"id": "b", "x": 1}'


@pytest.mark.parametrize(
    ("listing", "status"),
    [(b'{"data": []}', 404), (b"{}", 502), (b"not json", 502), (b'{"data": [1]}', 502), (b"[]", 502)],
)
def test_no_entry_is_404_and_no_list_is_502(listing: bytes, status: int) -> None:
    with pytest.raises(Refused) as caught:
        pick_model(listing, "b")
    assert caught.value.status == status
