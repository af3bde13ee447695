"""The options of `teapot plan`, parsed from words."""

from __future__ import annotations

import argparse

from deploy.commands.plan import configure


def options(*words: str) -> argparse.Namespace:
    """What the command would be given."""
    parser = argparse.ArgumentParser()
    configure(parser)
    return parser.parse_args(words)
