"""The `teapot` command: picks a sub-command, loads only that one, and turns errors into words and exit codes.

Owns: the registry of sub-commands, `--json`, exit codes. Knows nothing about what a sub-command does.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import NoReturn, Protocol, cast

from serving.console import Console, abandon
from serving.errors import EXIT_SIGINT, EXIT_USAGE, TeapotError


class CommandModule(Protocol):
    """What the module of a sub-command offers."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the sub-command's own arguments."""

    def run(self, args: argparse.Namespace, console: Console) -> int:
        """Do the work and return the exit code."""


@dataclass(frozen=True, slots=True)
class Command:
    """A sub-command: where its module is (imported only when used) and its line in `teapot --help`."""

    module: str
    help: str


COMMANDS: dict[str, Command] = {
    "demo": Command("deploy.commands.demo", "serve the embedded model, measure it, and show the table"),
    "serve": Command("deploy.commands.serve", "serve a deployment file until Ctrl-C or SIGTERM"),
    "status": Command("deploy.commands.status", "engines, revisions and modes of a running deployment"),
    "load": Command("deploy.commands.load", "send a workload and measure TTFT, TPOT, ITL, E2E and goodput"),
    "engine": Command("deploy.commands.engine", "install and list engine environments"),
    "modes": Command("deploy.commands.modes", "every mode, the flags it becomes, where it works"),
    "flags": Command("deploy.commands.flags", "the argv and environment of every engine, with their sources"),
    "plan": Command("deploy.commands.plan", "does it fit, for how many users, how fast, and what would help"),
    "study": Command("deploy.commands.study", "measure levers on this machine, each against a control"),
    "dashboards": Command("deploy.commands.dashboards", "make, check, draw and push boards and alerts"),
    "diagnose": Command("deploy.commands.diagnose", "what binds a deployment, and which lever comes next"),
    "rollout": Command("deploy.commands.rollout", "bring a new revision in under gates, or take it back"),
    "render": Command("deploy.commands.render", "the deployment for compose, systemd, Kubernetes and others"),
    "keys": Command("deploy.commands.keys", "make, list and remove the API keys of a gateway"),
}  # fmt: skip
BRIEF = frozenset({"flags", "keys", "modes", "plan", "render"})
"""Commands that answer and end, without an engine: looking for garbage would cost them more than it frees."""
PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
"""Unless this is set, pydantic searches every installed package for plugins. Engines would inherit it."""

EPILOG = """exit codes: 0 ok; 1 failed; 2 wrong usage or wrong file; 3 measurement invalid or inconclusive;
130/143 after SIGINT/SIGTERM. `teapot COMMAND --help` shows a command's options with defaults and units."""


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Names a default where there is one to name, and not where the help's own words do already."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        said = "default" in (action.help or "")
        nothing = action.default in (None, False, [])
        return action.help if said or nothing else super()._get_help_string(action)


class _WrongWords(Exception):
    """What was typed cannot be read: by whom, and why."""

    def __init__(self, prog: str, message: str) -> None:
        super().__init__(message)
        self.prog, self.message = prog, message


class _Parser(argparse.ArgumentParser):
    """Says what is wrong and where help is: all options before it would push it off the screen."""

    def error(self, message: str) -> NoReturn:
        raise _WrongWords(self.prog, message)


def _top_parser() -> _Parser:
    width = max(map(len, COMMANDS))
    listing = "\n".join(f"  {name:<{width}}  {command.help}" for name, command in COMMANDS.items())
    parser = _Parser(
        prog="teapot",
        usage="teapot [--version] COMMAND [options]",
        description=f"Serve language models with vLLM and measure them truthfully.\n\ncommands:\n{listing}",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print teapot's version")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help=argparse.SUPPRESS)
    return parser


def _add_json(parser: argparse.ArgumentParser) -> None:
    """Give `--json` to a parser and to all its sub-parsers, so that it works wherever it is typed."""
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="one JSON document on stdout instead of text",
    )
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in {id(p): p for p in action.choices.values()}.values():
                _add_json(sub)


def _parsed(parser: _Parser, words: Sequence[str]) -> argparse.Namespace:
    """The words as arguments. Raises: SystemExit for wrong ones, which are told as every error is."""
    try:
        return parser.parse_args(words)
    except _WrongWords as wrong:
        raise SystemExit(_misused(wrong.prog, wrong.message, words)) from None


def _misused(prog: str, message: str, words: Sequence[str]) -> int:
    console, see = Console(as_json="--json" in words), f"see: {prog} --help"
    console.say(f"{prog}: {message}\n{see}")
    problem = {"what": message, "where": prog, "fix": see}
    console.document({"error": [problem], "exit_code": EXIT_USAGE})
    return EXIT_USAGE


def _unknown(name: str, words: Sequence[str]) -> int:
    from difflib import get_close_matches

    close = get_close_matches(name, COMMANDS, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return _misused("teapot", f"'{name}' is not a command{hint}", words)


def _report(error: TeapotError, console: Console) -> int:
    for line in str(error).splitlines():
        console.say(f"teapot: {line}")
    problems = [{"what": p.what, "where": p.where, "fix": p.fix} for p in error.problems]
    console.document({"error": problems, "exit_code": error.exit_code})
    return error.exit_code


def _version() -> str:
    from importlib.metadata import version

    return f"teapot {version('teapot-serving')}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `teapot` with these arguments (default: the process's own) and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0].startswith("-"):
        parser = _top_parser()
        args = _parsed(parser, words)
        if args.version:
            print(_version())
            return 0
        parser.print_help()
        return EXIT_USAGE
    command = COMMANDS.get(words[0])
    if command is None:
        return _unknown(words[0], words)
    gc.disable()
    plugins = os.environ.get(PLUGINS)
    if words[0] in BRIEF:
        os.environ.setdefault(PLUGINS, "__all__")
    try:
        return _run(words[0], command, words[1:])
    finally:
        if argv is None and words[0] in BRIEF:
            # The process ends with this, and would look at everything a last time: a tenth of a plan's time.
            gc.freeze()
        gc.enable()
        if plugins is None:
            os.environ.pop(PLUGINS, None)


def _run(name: str, command: Command, words: Sequence[str]) -> int:
    # What an import makes stays, so that no garbage is in it.
    module = cast(CommandModule, import_module(command.module))
    if name not in BRIEF:
        gc.enable()
    sub = _Parser(
        prog=f"teapot {name}", description=command.help[0].upper() + command.help[1:] + ".",
        formatter_class=_Help,
    )  # fmt: skip
    module.configure(sub)
    _add_json(sub)
    args = _parsed(sub, words)
    console = Console(as_json=getattr(args, "json", False))
    try:
        return module.run(args, console)
    except TeapotError as error:
        return _report(error, console)
    except KeyboardInterrupt:
        console.say("teapot: interrupted")
        return EXIT_SIGINT
    except BrokenPipeError:
        # The reader of our output (`| head`) has gone: that is its choice, not a failure of ours.
        abandon(sys.stdout)
        return 0


if __name__ == "__main__":
    sys.exit(main())
