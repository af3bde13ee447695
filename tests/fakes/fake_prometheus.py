"""A program that stands for Prometheus: what it says, when it ends, if it listens is for tests to choose.

Owns: the script in a data folder's `bin/`, and the file of its behaviour, read at each start.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = "prometheus, version 2.53.1 (branch: HEAD, revision: 14cfec3f6048b735e08c1e9c64c8d4211d32bab4)"
_SCRIPT = """\
#!{python}
import json, os, signal, sys, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

told = json.loads(Path({behaviour!r}).read_text())
if "--version" in sys.argv:
    print(told["version"])
    sys.exit(0)
Path({started!r}).write_text(json.dumps(sys.argv[1:]))
for line in told["say"]:
    print(line, file=sys.stderr, flush=True)
if told["exit"] is not None and not told["after_s"]:
    sys.exit(told["exit"])
if told["ignore_sigterm"]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

class Healthy(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words):
        pass

def end():
    time.sleep(told["after_s"])
    os._exit(told["exit"])

if told["exit"] is not None:
    threading.Thread(target=end, daemon=True).start()
address = next(word for word in sys.argv if word.startswith("--web.listen-address=")).partition("=")[2]
HTTPServer(("127.0.0.1", int(address.rpartition(":")[2])), Healthy).serve_forever()
"""


@dataclass(frozen=True, slots=True)
class FakePrometheus:
    """The program in the data folder `root`, where it is found before any other."""

    root: Path

    @property
    def program(self) -> Path:
        """The script itself."""
        return self.root / "bin" / "prometheus"

    def behave(self, **told: Any) -> None:
        """From the next start on: `say` lines, `exit` with a code `after_s`, `ignore_sigterm`, `version`."""
        plain: dict[str, Any] = {
            "version": VERSION, "say": [], "exit": None, "after_s": 0, "ignore_sigterm": False,
        }  # fmt: skip
        assert told.keys() <= plain.keys()
        (self.root / "prometheus-behaviour").write_text(json.dumps(plain | told))

    def arguments(self) -> list[str]:
        """What it was started with last."""
        words: list[str] = json.loads((self.root / "prometheus-started").read_text())
        return words


def make_fake_prometheus(root: Path) -> FakePrometheus:
    """Put the program into a data folder."""
    fake = FakePrometheus(root)
    fake.program.parent.mkdir(parents=True, exist_ok=True)
    behaviour, started = root / "prometheus-behaviour", root / "prometheus-started"
    text = _SCRIPT.format(python=sys.executable, behaviour=str(behaviour), started=str(started))
    fake.program.write_text(text)
    fake.program.chmod(0o755)
    fake.behave()
    return fake
