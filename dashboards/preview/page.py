"""One HTML page with all boards: nothing else is needed to look at it.

Owns: the page around the pictures. Knows nothing about how they came to be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from dashboards.panels import Board

_PROLOG = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_STYLE = """
body { margin: 0; background: #f4f5f8; color: #24292e; font: 14px/1.45 "DejaVu Sans", Verdana, sans-serif; }
header { position: sticky; top: 0; z-index: 1; background: #fff; padding: 8px 16px; }
header { border-bottom: 1px solid #dcdfe4; }
header b { color: #d62f43; }
nav a { margin-right: 14px; color: #1f60c4; }
section { max-width: 1440px; margin: 0 auto 28px; scroll-margin-top: 72px; }
svg { display: block; width: 100%; height: auto; }
details { margin: 8px 16px; }
td { padding: 4px 14px 4px 0; vertical-align: top; border-bottom: 1px solid #dcdfe4; }
code { font-size: 11px; overflow-wrap: anywhere; color: #57606a; }
"""


def page(boards: Sequence[Board], pictures: Mapping[str, str], note: str, when: str, prometheus: str) -> str:
    """The page; `pictures` are SVG documents by the board's uid."""
    links = "".join(f'<a href="#{board.uid}">{escape(board.title)}</a>' for board in boards)
    sections = "\n".join(_section(board, pictures[board.uid]) for board in boards)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>teapot: boards, preview</title>
<style>{_STYLE}</style>
</head>
<body>
<header><b>{escape(note)}.</b> {escape(when)}, from {escape(prometheus)}<nav>{links}</nav></header>
{sections}
</body>
</html>
"""


def _section(board: Board, picture: str) -> str:
    rows = "".join(
        f"<tr><td>{escape(panel.title)}</td><td>{escape(panel.help)}<br>"
        + "<br>".join(f"<code>{escape(query.expr)}</code>" for query in panel.queries)
        + "</td></tr>"
        for panel in board.panels()
    )
    label = f'<svg role="img" aria-label="{escape(board.title)}: preview"'
    svg = _PROLOG.sub("", picture).replace("<svg", label, 1)
    return (
        f'<section id="{board.uid}">\n{svg}\n'
        f"<details><summary>{escape(board.title)}: what each panel means and asks</summary>"
        f"<table>{rows}</table></details>\n</section>"
    )
