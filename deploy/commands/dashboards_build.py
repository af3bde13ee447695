"""`teapot dashboards build`: write what is generated, or only tell what is stale.

Owns: this action's arguments and what it prints. Knows nothing about what is in the files.
"""

from __future__ import annotations

import argparse

from serving.console import Console
from serving.errors import EXIT_FAILED, EXIT_OK


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the one choice."""
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is stale")


def run(args: argparse.Namespace, console: Console) -> int:
    """Write the files, or name those that are stale."""
    from dashboards.build import FILES, stale, write

    changed = stale() if args.check else write()
    key = "stale" if args.check else "written"
    console.document({key: list(changed), "files": len(FILES)})
    for path in changed:
        console.result(f"{key}: dashboards/{path}")
    if not changed:
        console.result(f"{len(FILES)} files are as their sources make them")
    elif args.check:
        console.say("make them again: teapot dashboards build")
    return EXIT_FAILED if args.check and changed else EXIT_OK
