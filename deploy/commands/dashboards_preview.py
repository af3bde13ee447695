"""`teapot dashboards preview`: every board as a picture and all on one page, without Grafana.

Owns: this action's arguments and the folder it writes. Knows nothing about drawing.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from deploy.commands.dashboards_source import add_source, given
from serving.console import Console
from serving.errors import EXIT_OK, Failed


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare which Prometheus, which time, and where to write."""
    add_source(parser, span="15m")
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        required=True,
        help="folder for index.html and a PNG for each board",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Draw the boards and write them."""
    from dashboards.answers import span_until
    from dashboards.boards import BOARDS
    from dashboards.preview.making import PAGE, preview
    from dashboards.query import Prometheus

    prometheus = Prometheus(args.prometheus)
    span = span_until(prometheus, time.time(), args.range)
    made = preview(prometheus, BOARDS, span, given(args), console.progress)
    _write(args.out, made.files)
    paths = [str(args.out / name) for name in made.files]
    console.document({"page": str(args.out / PAGE), "files": paths})
    console.result(f"{len(BOARDS)} boards: {args.out / PAGE}")
    return EXIT_OK


def _write(folder: Path, files: dict[str, bytes]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise Failed(
            f"the preview cannot be written ({error.strerror})",
            where=str(folder),
            fix="give another --out DIR",
        ) from error
