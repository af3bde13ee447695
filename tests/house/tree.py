"""The repository as the checks of the house see it: a root and its files.

Owns: which files belong to the repository, and what is read of them. Knows nothing about the rules.
"""

from __future__ import annotations

import ast
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = ("serving", "loadgen", "dashboards", "deploy")


@dataclass(frozen=True)
class Tree:
    """The files of a repository, as paths with `/` relative to its root, sorted."""

    root: Path
    files: tuple[str, ...]
    _texts: dict[str, str | None] = field(default_factory=dict)
    _modules: dict[str, ast.Module] = field(default_factory=dict)

    @classmethod
    def of_git(cls, root: Path) -> Tree:
        """What git tracks, and what it would track: a new file is judged before it is committed."""
        # A clone made by another user (CI, a container) is still our own tree.
        git = [
            "git",
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]
        listed = subprocess.run(git, cwd=root, capture_output=True, text=True, check=True).stdout
        return cls(root, tuple(sorted(f for f in listed.split("\0") if f and (root / f).is_file())))

    @classmethod
    def of_folder(cls, root: Path) -> Tree:
        """Every file under a folder, for trees made by tests."""
        return cls(
            root, tuple(sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()))
        )

    def text(self, file: str) -> str | None:
        """The text of a file, None where it is not text."""
        if file not in self._texts:
            try:
                self._texts[file] = (self.root / file).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                self._texts[file] = None
        return self._texts[file]

    def lines(self, file: str) -> list[str]:
        """The lines of a file, none where it is missing or not text."""
        return (self.text(file) or "").splitlines() if file in self.files else []

    def module(self, file: str) -> ast.Module:
        """A Python file, parsed."""
        if file not in self._modules:
            self._modules[file] = ast.parse(self.text(file) or "", filename=file)
        return self._modules[file]

    def python(self, *tops: str) -> list[str]:
        """The Python files under these top-level folders."""
        return [f for f in self.files if f.endswith(".py") and f.split("/")[0] in tops]

    def modules(self) -> list[str]:
        """Our own modules: Python files of the packages, in folders that are packages."""
        return [f for f in self.python(*PACKAGES) if self._in_package(f)]

    def _in_package(self, file: str) -> bool:
        parents = Path(file).parents
        return all(f"{p.as_posix()}/__init__.py" in self.files for p in parents if p != Path())


def dotted(file: str) -> str:
    """`serving/wire/sse.py` as `serving.wire.sse`, a package's `__init__.py` as the package."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
