"""`teapot dashboards push`: put the boards into a Grafana.

Owns: this action's arguments and what it prints. Knows nothing about how it is done.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path

from serving.console import Console
from serving.errors import EXIT_OK


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare which Grafana, where in it, and what may be replaced."""
    parser.add_argument("--grafana", metavar="URL", required=True, help="its address")
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        type=Path,
        help="a file with a service account's token of role Editor (default: GRAFANA_TOKEN)",
    )
    parser.add_argument(
        "--folder", metavar="NAME", help="title or uid; made where there is none (default: teapot)"
    )
    parser.add_argument(
        "--datasource-uid", metavar="UID", help="the Prometheus that boards begin with (default: Grafana's)"
    )
    parser.add_argument(
        "--force", action="store_true", help="also replace boards of the same uid that are not teapot's"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Push, and say of each board what became of it."""
    from dashboards.boards import BOARDS
    from dashboards.grafana import Grafana
    from dashboards.grafana_call import checked_url
    from dashboards.push import push
    from dashboards.render import board_json
    from deploy.grafana_token import token

    url = checked_url(args.grafana)  # before the token: a wrong address is seen at once, a token is work
    grafana = Grafana(url, token(args.token_file, os.environ))
    boards = [board_json(board, BOARDS) for board in BOARDS]
    done = push(grafana, boards, folder=args.folder, source_uid=args.datasource_uid, force=args.force)
    console.document(asdict(done))
    for board in done.boards:
        console.result(f"{board.did:<9}  {board.url}  {board.title}")
        if board.note:
            console.say(f"{board.title}: {board.note}")
    changed = sum(board.did != "unchanged" for board in done.boards)
    where = f"folder '{done.folder}' of Grafana {done.version}".rstrip()
    count = f"{changed} of {len(done.boards)} boards" if changed else "nothing was"
    console.result(f"{count} changed in {where}" if changed else f"nothing to change in {where}")
    return EXIT_OK
