import re

from loadgen.report.style import STYLE


def test_the_style_sheet_loads_nothing():
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_dark_and_paper_define_the_colours_that_light_does():
    light, dark, paper = (
        set(re.findall(r"(--[a-z]+):", block)) for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    )

    assert light == dark == paper


def test_every_colour_used_is_defined():
    assert set(re.findall(r"var\((--[a-z]+)\)", STYLE)) <= set(re.findall(r"(--[a-z]+):", STYLE))


def test_braces_balance():
    assert STYLE.count("{") == STYLE.count("}")
