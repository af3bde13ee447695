"""The servers that the benchmark compares: no proxy, this gateway, and what else is installed.

Owns: how each is started and found. Knows nothing about what is measured. Peers are optional: vllm-router and
LiteLLM are installed by pip into a folder of their own; nginx is used if it is on the path (or in $NGINX).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

GATEWAY = """
import asyncio, sys
from serving.gateway import loop
from serving.gateway.backends import Backend
from serving.gateway.server import Gateway
async def main():
    gateway = Gateway("bench")
    await gateway.start("127.0.0.1", int(sys.argv[2]), "127.0.0.1", 0)
    gateway.add(Backend(sys.argv[1], state="ready"))
    gateway.open(())
    await asyncio.Event().wait()
loop.run(main())
"""
LITELLM = """
model_list:
{models}
litellm_settings: {{telemetry: false}}
"""
LITELLM_MODEL = """
  - model_name: {0}
    litellm_params: {{model: text-completion-openai/{0}, api_base: "{1}/v1", api_key: none}}
"""
NGINX = """
worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 100000000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  upstream engine {{ server {engine}; keepalive 512; }}
  server {{
    listen 127.0.0.1:{port} backlog=2048;
    location / {{ proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection "";
                  proxy_buffering off; }}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A server that is running."""

    name: str
    url: str
    pid: int | None
    version: str


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pip_install(folder: Path, requirement: str, *, limit_s: float) -> Path | None:
    """The `bin` of an environment with this requirement; None if it does not install."""
    python = folder / "bin" / "python"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
        have = subprocess.run([python, "-m", "pip", "show", requirement.split("=")[0].split("[")[0]],
                              capture_output=True, check=False, timeout=60)  # fmt: skip
        if have.returncode:
            subprocess.run([python, "-m", "pip", "install", "-q", requirement], check=True, timeout=limit_s,
                           stdout=sys.stderr)  # fmt: skip
    except (subprocess.SubprocessError, OSError):
        return None
    return python.parent


def installed(python: Path, name: str) -> str:
    code = f"from importlib.metadata import version; print(version({name!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


def commands(
    name: str, engine: str, port: int, scratch: Path
) -> tuple[list[str], str, dict[str, str]] | None:
    """The command of a peer, its version, its variables; None if it cannot be had.

    `teapot@FOLDER` is the gateway of another checkout, such as a worktree of an older commit.
    """
    kind, _, checkout = name.partition("@")
    if kind in ("teapot", "teapot-asyncio"):
        program = GATEWAY if kind == "teapot" else "import sys; sys.modules['uvloop'] = None" + GATEWAY
        if checkout:
            program = f"import sys; sys.path.insert(0, {checkout!r})\n{program}"
        return (
            [sys.executable, "-c", program, engine, str(port)],
            installed(Path(sys.executable), "teapot-serving"),
            {},
        )
    if name == "vllm-router":
        place = pip_install(scratch / "vllm-router", "vllm-router==0.1.17", limit_s=300)
        if place is None:
            return None
        command = [
            str(place / "vllm-router"), "--worker-urls", engine, "--host", "127.0.0.1", "--port", str(port),
            "--policy", "round_robin", "--log-level", "error", "--prometheus-port", str(free_port()),
        ]  # fmt: skip
        return command, installed(place / "python", "vllm-router"), {}
    if name == "litellm":
        place = pip_install(scratch / "litellm", "litellm[proxy]", limit_s=600)
        if place is None:
            return None
        models = "\n".join(
            LITELLM_MODEL.format(name, engine).strip("\n") for name in ("pace", "flood", "one", "hold")
        )
        config = scratch / "litellm.yaml"
        config.write_text(LITELLM.format(models=models))
        command = [
            str(place / "litellm"),
            "--config",
            str(config),
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        # It will not start without a key; here it listens on loopback before a made-up engine.
        variables = {"LITELLM_LOG": "ERROR", "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
        return command, installed(place / "python", "litellm"), variables
    binary = os.environ.get("NGINX") or shutil.which("nginx")
    if binary is None:
        return None
    folder = scratch / "nginx"
    folder.mkdir(exist_ok=True)
    (folder / "conf").write_text(
        NGINX.format(folder=folder, engine=engine.removeprefix("http://"), port=port)
    )
    said = subprocess.run([binary, "-v"], capture_output=True, text=True, check=False).stderr
    return (
        [binary, "-c", str(folder / "conf"), "-e", str(folder / "error.log")],
        said.strip().rpartition("/")[2],
        {},
    )


@contextmanager
def peer(name: str, engine: str, scratch: Path) -> Iterator[Peer | None]:
    """Run a peer in front of an engine; None if it is not to be had or does not come up."""
    if name == "none":
        yield Peer("none", engine, None, "")
        return
    port = free_port()
    made = commands(name, engine, port, scratch)
    if made is None:
        yield None
        return
    command, version, variables = made
    with (scratch / f"{name.replace('/', '-')}.log").open("wb") as log:
        process = subprocess.Popen(
            command, env={**os.environ, **variables}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        url = f"http://127.0.0.1:{port}"
        yield Peer(name, url, process.pid, version) if answers(url, process) else None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


def answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Whether a server answers within a minute."""
    deadline = time.monotonic() + 90
    body = b'{"model": "one", "prompt": "x", "max_tokens": 1}'
    while time.monotonic() < deadline and process.poll() is None:
        request = urllib.request.Request(f"{url}/v1/completions", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.status == 200
        except OSError:
            time.sleep(0.3)
    return False
