from __future__ import annotations

import pytest

from deploy.study.counting import many


@pytest.mark.parametrize(("number", "said"), [(0, "0 cells"), (1, "1 cell"), (2, "2 cells")])
def test_one_is_one_and_everything_else_is_many(number, said):
    assert many(number, "cell") == said
