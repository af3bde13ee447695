"""`teapot render TARGET FILE`: the same deployment for another way to run it.

Owns: the command's arguments, writing the files, and telling whether they are up to date. Knows nothing about
what a target's files say.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import get_args

from deploy.commands.argument_types import count
from deploy.render.target import GPUS_PER_NODE, NONE, Choices, Gateway, Rendered, Request
from deploy.render.targets import TARGETS
from serving.console import Console
from serving.errors import EXIT_OK, Failed, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    listing = "; ".join(f"{target.name}: {target.help}" for target in TARGETS.values())
    parser.add_argument("target", choices=tuple(TARGETS), help=listing)
    parser.add_argument("file", metavar="FILE", help="a deployment file")
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="DIR", help="where to write (default: here)"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file would change")
    _choices(parser)
    parser.add_argument(
        "--set", dest="overrides", metavar="KEY=VALUE", action="append", default=[],
        help="a value in place of the file's; may be repeated",
    )  # fmt: skip


def _choices(parser: argparse.ArgumentParser) -> None:
    clusters = parser.add_argument_group("clusters", "what a deployment file does not say (docs/render.md)")
    clusters.add_argument(
        "--gateway", choices=get_args(Gateway),
        help="our gateway in front (edge), or left out (none); by default edge for kubernetes and lws,"
        " which do not route, and none where the platform's own router does",
    )  # fmt: skip
    clusters.add_argument(
        "--gpus-per-node", type=count, metavar="N", help=f"GPUs of one node (default: {GPUS_PER_NODE})"
    )
    clusters.add_argument(
        "--platform-url", type=_base_url, metavar="URL",
        help="where the platform's router answers, ending in /v1, for a gateway in front of it",
    )  # fmt: skip
    clusters.add_argument(
        "--image-prefix", type=_image_prefix, metavar="PREFIX",
        help="registry and folder of our own images, such as registry.example/team/ (default: none)",
    )  # fmt: skip


def _base_url(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?/v1/?", text):
        raise argparse.ArgumentTypeError("this is no base address; write it like http://10.0.0.7:8000/v1")
    return text.rstrip("/")


def _image_prefix(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+([._:/-]+[a-z0-9]+)*/?", text):
        raise argparse.ArgumentTypeError(
            f"'{text}' is no registry and folder; write it like registry.example/team/"
        )
    return text.rstrip("/") + "/"


def run(args: argparse.Namespace, console: Console) -> int:
    """Render, and write or compare."""
    given = Choices(args.gateway, args.gpus_per_node, args.platform_url, args.image_prefix)
    request, rendered = _rendered(args.target, args.file, args.overrides, given)
    found = {path: _read(args.out / path) for path in rendered.files}
    stale = [path for path, text in rendered.files.items() if found[path] != text]
    left = _left_over(args, request.source, rendered)
    if args.check and left:
        raise Failed(
            f"{', '.join(left)}: of an earlier rendering, and no longer among the files",
            where=str(args.out), fix="remove that, or what applies the folder applies it too",
        )  # fmt: skip
    if args.check and stale:
        raise Failed(
            f"{', '.join(stale)} {'is' if len(stale) == 1 else 'are'} not what {args.file} renders to",
            where=str(args.out),
            fix="run the same without --check, and commit what it writes",
        )
    _refuse_others(args, request.source, {path: found[path] for path in stale})
    for path in stale:
        _write(args.out / path, rendered.files[path])
    for note in rendered.notes:
        console.say(f"not carried over: {note}")
    for path in left:
        console.say(f"left from an earlier rendering: {args.out / path}; remove it")
    console.document(
        {
            "files": sorted(rendered.files),
            "written": stale,
            "left_over": left,
            "not_carried_over": rendered.notes,
        }
    )
    console.result(
        "\n".join(f"{'wrote' if path in stale else 'as it was'} {args.out / path}" for path in rendered.files)
    )
    return EXIT_OK


def render(target: str, file: str, overrides: Sequence[str] = (), choices: Choices = NONE) -> Rendered:
    """The files of a target. Raises: UsageError."""
    return _rendered(target, file, overrides, choices)[1]


def _rendered(target: str, file: str, overrides: Sequence[str], choices: Choices) -> tuple[Request, Rendered]:
    # Not for `--help`, which has to be quick.
    from serving.config.load import load_deployment
    from serving.facts.load import model_configs
    from serving.modes.model_facts import model_facts

    found = TARGETS[target]
    for field in fields(choices):
        if getattr(choices, field.name) is not None and field.name not in found.takes:
            takers = ", ".join(name for name, each in TARGETS.items() if field.name in each.takes)
            option = f"--{field.name.replace('_', '-')}"
            raise UsageError(
                f"means nothing for {target}", where=option, fix=f"leave it out; {takers} take it"
            )
    deployment, document = load_deployment(file, overrides)
    config = model_configs().get(deployment.model)
    model = model_facts(deployment.model, config) if config is not None else None
    source = f"{_named(Path(file))} ({deployment.name})"
    request = Request(deployment, document, source, model, choices)
    return request, found.render(request)


def _named(file: Path) -> str:
    """The file as what is rendered names it, on one line, and the same in every checkout."""
    if file.is_absolute():
        file = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else Path(file.name)
    return "".join(letter if letter.isprintable() else "?" for letter in file.as_posix())


def _left_over(args: argparse.Namespace, source: str, rendered: Rendered) -> list[str]:
    """Files that this deployment file was once rendered to, by other choices, and is no more."""
    folders = sorted({(args.out / path).parent for path in rendered.files} - {args.out})
    found = (path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()))
    others = (path for path in found if path.relative_to(args.out).as_posix() not in rendered.files)
    return [
        path.relative_to(args.out).as_posix()
        for path in others
        if path.is_file() and _source(args.target, _read(path)) == source
    ]


def _refuse_others(args: argparse.Namespace, source: str, found: Mapping[str, str | None]) -> None:
    """Write over no rendering of another deployment: who applies the folder would lose that one."""
    for path, text in found.items():
        other = _source(args.target, text)
        if other is not None and other != source:
            raise Failed(
                f"was rendered from {other}, and {source} would be written over it",
                where=str(args.out / path),
                fix="give each deployment its own --out, or remove what was rendered first",
            )


def _source(target: str, text: str | None) -> str | None:
    """The file and deployment that a text says in its first lines it was rendered from, for this target."""
    made = re.compile(rf"# Rendered from (.+) by `teapot render {target}`")
    found = (made.match(line) for line in (text or "").splitlines()[:2])
    return next((match[1] for match in found if match), None)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return None
    except OSError as error:
        raise Failed(
            f"cannot be read: {error.strerror}", where=str(path), fix="give another --out, or move it away"
        ) from error


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        blocked = isinstance(error, FileExistsError | NotADirectoryError)
        why = f"{error.filename} is no folder" if blocked else error.strerror
        raise Failed(
            f"cannot be written: {why}", where=str(path), fix="give another --out, or make room"
        ) from error
