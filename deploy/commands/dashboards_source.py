"""Which Prometheus, deployment and time: what `teapot dashboards check` and `preview` ask for alike.

Owns: these arguments. Knows nothing about what is done with them.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from deploy.commands.argument_types import duration

DEPLOYMENT = "deployment"


def add_source(parser: argparse.ArgumentParser, *, span: str) -> None:
    """Declare them; `span` is the default range."""
    parser.add_argument(
        "--prometheus", metavar="URL", required=True, help="its address, such as `teapot serve` prints"
    )
    parser.add_argument(
        "--deployment", metavar="NAME", help="which deployment; the only one where there is one"
    )
    parser.add_argument(
        "--range",
        metavar="TIME",
        type=_duration,
        default=span,
        help="how far back to look, such as 90s or 1h",
    )
    parser.add_argument(
        "--set", metavar="NAME=VALUE", dest="choices", action="append", type=_choice, default=[],
        help="a value for another variable of the boards, such as revision=v2; may be repeated",
    )  # fmt: skip


def given(args: argparse.Namespace) -> Mapping[str, str]:
    """The values of variables that were given."""
    named = {DEPLOYMENT: args.deployment} if args.deployment else {}
    return {**dict(args.choices), **named}


def _duration(text: str) -> float:
    seconds = duration(text)
    if seconds < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is too short to hold samples; give 1s or more")
    return seconds


def _choice(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name, value
