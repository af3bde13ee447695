"""A hand-made study as the charts look at it, and what a drawn chart says."""

from __future__ import annotations

import re
from html import unescape

import pytest
from fakes import study_page

from deploy.study.report.view import View


@pytest.fixture
def view() -> View:
    return View(design=study_page.design(), summary=study_page.summary(), starts=study_page.starts())


@pytest.fixture
def said():
    """What the marks of a chart say when they are pointed at, in their order."""

    def tips(body: str) -> list[str]:
        return [unescape(tip) for tip in re.findall(r'data-tip="([^"]*)"', body)]

    return tips


@pytest.fixture
def places():
    """Where the points of a plot are: (percent from the left, percent from below)."""

    def found(body: str) -> list[tuple[float, float]]:
        pairs = re.findall(r'class="point [^>]*style="left:([\d.]+)%;bottom:([\d.]+)%"', body)
        return [(float(left), float(up)) for left, up in pairs]

    return found
