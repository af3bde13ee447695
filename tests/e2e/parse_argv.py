"""Run by an engine environment's Python: what vLLM's own parser says of each argv.

stdin is a JSON list of argvs; stdout a JSON list: null where one is taken, else the parser's last words.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys


def main() -> None:
    with contextlib.redirect_stdout(sys.stderr):
        flexible = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser
        try:
            module = importlib.import_module("vllm.entrypoints.launchers.cli_args")
        except ImportError:
            module = importlib.import_module("vllm.entrypoints.common.cli_args")
        parser = module.make_arg_parser(flexible())
        answers = [said(parser, argv) for argv in json.load(sys.stdin)]
    json.dump(answers, sys.stdout)


def said(parser, argv):
    words = io.StringIO()
    try:
        with contextlib.redirect_stderr(words):
            parser.parse_args(argv)
    except SystemExit:
        return words.getvalue().strip().splitlines()[-1]
    return None


if __name__ == "__main__":
    main()
