"""`teapot keys`: API keys made, listed and removed.

Owns: this command's arguments and what it prints. Knows nothing about how a key is compared or used.
"""

from __future__ import annotations

import argparse
import re
import secrets
from pathlib import Path

from deploy.commands.argument_types import count
from serving.console import Console
from serving.engine.locks import file_lock
from serving.errors import EXIT_OK, UsageError
from serving.gateway.keys import SECRET_BYTES, KeyEntry, digest_of, new_key
from serving.gateway.keys_file import NAME, open_to_others, read_keys, write_keys

DEFAULT_FILE = "keys.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare `add`, `list` and `remove`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = actions.add_parser("add", help="make a key and print it: once, for only its hash is kept")
    add.add_argument("name", metavar="NAME", help="whose key it is, as logs will say")
    add.add_argument("--requests-per-minute", type=count, metavar="N", help="default: no limit")
    add.add_argument("--tokens-per-minute", type=count, metavar="N", help="default: no limit")
    listing = actions.add_parser("list", help="names, ids and limits; never a key")
    remove = actions.add_parser("remove", help="a running gateway refuses the key a second later")
    remove.add_argument("name", metavar="NAME")
    for action in (add, listing, remove):
        action.add_argument(
            "--file",
            type=Path,
            default=Path(DEFAULT_FILE),
            help="the file that gateway.keys_file names (default: %(default)s)",
        )


def run(args: argparse.Namespace, console: Console) -> int:
    """Carry out the action."""
    if args.action == "list":
        return _list(args.file, console)
    if not args.file.parent.is_dir():
        raise UsageError("no such folder", where=str(args.file.parent), fix="make it, or give another --file")
    # Two at once must not lose a key that one of them has printed.
    with file_lock(args.file.with_name(f".{args.file.name}.lock"), console.say):
        return _add(args, console) if args.action == "add" else _remove(args, console)


def _add(args: argparse.Namespace, console: Console) -> int:
    if not re.fullmatch(NAME, args.name):
        raise UsageError(
            f"'{args.name}' cannot be a key's name", where="NAME",
            fix="use at most 64 letters, digits, dots, @, hyphens and underscores",
        )  # fmt: skip
    entries = read_keys(args.file) if args.file.exists() else ()
    if any(entry.name == args.name for entry in entries):
        fix = f"choose another name, or first: teapot keys remove {args.name}"
        raise UsageError(f"there is a key for '{args.name}' already", where=str(args.file), fix=fix)
    key = new_key(secrets.token_bytes(SECRET_BYTES))
    entry = KeyEntry(args.name, digest_of(key), args.requests_per_minute, args.tokens_per_minute)
    write_keys(args.file, (*entries, entry))
    console.say(f"added '{entry.name}' to {args.file}; the key is shown this once:")
    console.result(key)
    console.document({"name": entry.name, "id": entry.key_id, "key": key, "file": str(args.file)})
    return EXIT_OK


def _list(file: Path, console: Console) -> int:
    entries = read_keys(file)
    warning = open_to_others(file)
    if warning:
        console.say(f"warning: {warning}")
    if not entries:
        console.say(f"no key in {file}; make one: teapot keys add NAME --file {file}")
    width = max((len(entry.name) for entry in entries), default=0)
    for entry in entries:
        limits = (
            f"{_limit(entry.requests_per_minute, 'requests')}  {_limit(entry.tokens_per_minute, 'tokens')}"
        )
        console.result(f"{entry.name:<{width}}  {entry.key_id}  {limits}")
    console.document([_row(entry) for entry in entries])
    return EXIT_OK


def _remove(args: argparse.Namespace, console: Console) -> int:
    entries = read_keys(args.file)
    left = tuple(entry for entry in entries if entry.name != args.name)
    if len(left) == len(entries):
        known = ", ".join(entry.name for entry in entries) or "none"
        raise UsageError(f"there is no key for '{args.name}'", where=str(args.file), fix=f"names: {known}")
    write_keys(args.file, left)
    console.say(
        f"removed '{args.name}' from {args.file}; a running gateway refuses it from the next second on"
    )
    console.document({"removed": args.name, "file": str(args.file)})
    return EXIT_OK


def _row(entry: KeyEntry) -> dict[str, str | int | None]:
    return {
        "name": entry.name,
        "id": entry.key_id,
        "requests_per_minute": entry.requests_per_minute,
        "tokens_per_minute": entry.tokens_per_minute,
    }


def _limit(rate: int | None, unit: str) -> str:
    return f"any number of {unit}" if rate is None else f"{rate} {unit}/min"
