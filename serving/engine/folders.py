"""The data folder: where engine environments, models, caches, logs and state lie.

Owns: its place and the names of its sub-folders. Knows nothing about what is written there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from serving.errors import Failed


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The root of everything that teapot keeps on this machine for one user."""

    root: Path

    @property
    def environments(self) -> Path:
        """Engine environments, one folder each."""
        return self.root / "environments"

    @property
    def models(self) -> Path:
        """Converted models, one folder each."""
        return self.root / "models"

    @property
    def cache(self) -> Path:
        """What can be thrown away: downloads, compiled code, hub files."""
        return self.root / "cache"

    @property
    def logs(self) -> Path:
        """Logs of installs and engines."""
        return self.root / "logs"

    @property
    def state(self) -> Path:
        """What outlives a process: tables of running engines, journals."""
        return self.root / "state"

    def make(self) -> DataFolder:
        """Create the folder and its sub-folders. Raises: Failed where the disk says no."""
        for folder in (self.environments, self.models, self.cache, self.logs, self.state):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise Failed(
                    f"cannot make the data folder: {error.strerror}",
                    where=str(folder),
                    fix="set TEAPOT_HOME to a folder that you may write to",
                ) from error
        return self

    def engine_environment(self, environ: Mapping[str, str], home: Path) -> dict[str, str]:
        """Environment variables that keep an engine's caches in this folder and its usage to itself.

        A hub cache that the user already has (HF_HOME, or the hub's own default under `home`) is kept.
        """
        found = {
            "VLLM_CACHE_ROOT": str(self.cache / "vllm"),
            # What torch.compile makes would else lie in the temporary folder, and go with it.
            "TORCHINDUCTOR_CACHE_DIR": str(self.cache / "torchinductor"),
            "VLLM_NO_USAGE_STATS": "1",
        }
        if "HF_HOME" not in environ and not (home / ".cache" / "huggingface").is_dir():
            found["HF_HOME"] = str(self.cache / "huggingface")
        return found


def data_folder(environ: Mapping[str, str], home: Path) -> DataFolder:
    """The data folder: TEAPOT_HOME, else XDG_DATA_HOME/teapot, else ~/.local/share/teapot."""
    if environ.get("TEAPOT_HOME"):
        return DataFolder(Path(environ["TEAPOT_HOME"]).expanduser().absolute())
    data_home = environ.get("XDG_DATA_HOME")
    base = Path(data_home) if data_home else home / ".local" / "share"
    return DataFolder(base.absolute() / "teapot")
