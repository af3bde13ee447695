"""`teapot plan`: does it fit, for how many users, how fast at best, and which flag changes that.

Owns: the options. Knows nothing about the arithmetic (`serving.planner`) nor about reading files
(`deploy.planning`).
"""

from __future__ import annotations

import argparse

from deploy.planning import read_ask
from serving.console import Console
from serving.errors import EXIT_FAILED, EXIT_OK
from serving.facts.load import overheads
from serving.planner.figures import document
from serving.planner.plan import make_plan


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what is asked, on which devices, split how."""
    parser.add_argument("--model", help="a folder with config.json, or a config.json")
    parser.add_argument("--gpu", help="the kind of device, such as h100-sxm")
    parser.add_argument("--count", type=int, help="devices")
    parser.add_argument("--tensor", type=int, help="ranks that share every layer")
    parser.add_argument("--pipeline", type=int, default=1, help="stages of consecutive layers")
    parser.add_argument("--data", type=int, default=1, help="copies")
    parser.add_argument("--expert", action="store_true", help="spread whole experts")
    parser.add_argument("--max-model-len", type=int, help="tokens; default: the model's")
    parser.add_argument("--kv-format", default="auto", help="format of the KV cache")
    parser.add_argument("--weight-format", help="storage of the weights")
    parser.add_argument("--users", type=int, help="requests at once that must fit")


def run(args: argparse.Namespace, console: Console) -> int:
    """Answer on stdout; exit 0 where it fits, 1 where it does not."""
    plan = make_plan(read_ask(args), overheads())
    console.document(document(plan, overheads()))
    return EXIT_OK if plan.fits else EXIT_FAILED
