"""The scripted engine: an OpenAI server whose every byte and moment is known. The tests' ground truth.

Owns: the engine's process, seen from both sides: its command line (vLLM's flags are taken and mostly
ignored, so that it can stand in for the engine) and `ScriptedEngine`, by which a test starts, sets and
reads it. It runs in a process of its own, so that a client's GIL does not disturb its timing.

    python tests/fakes/scripted_engine.py --port 8000 --ttft 0.1 --itl 0.02
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from fakes.connection import Connection
from fakes.engine_app import EngineApp, Exchange, Sent
from fakes.generation import Settings
from fakes.scripts import Script

START_TIMEOUT_S = 20.0


class ScriptedEngine:
    """A test's handle on a running scripted engine."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    @classmethod
    @contextmanager
    def start(cls, *arguments: str) -> Iterator[ScriptedEngine]:
        """Run an engine with these arguments (of its command line) for the length of a `with`."""
        command = [sys.executable, __file__, "--port", "0", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("listening on "):
                    yield cls(process, int(line.rsplit(":", 1)[1]))
                    return
            raise RuntimeError(f"the scripted engine exited with {process.wait()} before it listened")
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def define(self, *scripts: Script) -> None:
        """Let these scripts be asked for, by the header X-Script or as a model's name."""
        for script in scripts:
            self._call("POST", "/_script/scripts", script.to_json())

    def exchanges(self, *, expect: int | None = None, timeout_s: float = 5.0) -> list[Exchange]:
        """What was received and sent, in the order of arrival.

        With `expect`, waits until that many requests have ended (a client may be done a moment before).
        """
        deadline = time.monotonic() + timeout_s
        while True:
            rows = self._call("GET", "/_script/requests")
            ended = sum(row["t_end_ns"] is not None for row in rows)
            if expect is None or ended >= expect:
                break
            if time.monotonic() > deadline:
                raise TimeoutError(f"{ended} of {expect} requests ended within {timeout_s} s")
            time.sleep(0.01)
        return [Exchange(**{**row, "sent": [Sent(**sent) for sent in row["sent"]]}) for row in rows]

    def set_health(self, status: int) -> None:
        """Answer /health with this status from now on."""
        self._call("POST", "/_script/health", {"status": status})

    def set_cache_config(self, **labels: str) -> None:
        """Change labels of `vllm:cache_config_info`."""
        self._call("POST", "/_script/cache_config", labels)

    def reset(self) -> None:
        """Forget scripts and exchanges; counters and the prefix cache stay, as an engine's do."""
        self._call("POST", "/_script/reset", {})

    def _call(self, method: str, path: str, document: Any = None) -> Any:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, None if document is None else json.dumps(document))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    own = parser.add_argument_group("behaviour")
    own.add_argument(
        "--ttft", type=float, default=0.02, help="seconds to the first token of a generated answer"
    )
    own.add_argument("--itl", type=float, default=0.005, help="seconds between its tokens")
    own.add_argument("--health", type=int, default=200, help="status of /health")
    own.add_argument("--template-tokens", type=int, default=10)
    own.add_argument("--cache-config", action="append", default=[], metavar="LABEL=VALUE")
    own.add_argument("--say", action="append", default=[], help="a line for stderr at the start")
    own.add_argument("--start-delay", type=float, default=0.0, help="seconds before the port is open")
    own.add_argument("--die-after", type=float, help="seconds after the start")
    own.add_argument("--die-on-request", type=int, help="exit at this request, from 1")
    own.add_argument("--fail-every", type=int, help="answer each so-many-th request with a 500")
    own.add_argument("--hang-every", type=int, help="answer each so-many-th request never")
    own.add_argument("--leak", type=int, default=0, metavar="MIB", help="memory that it takes each second")
    own.add_argument("--die-message", default="RuntimeError: scripted death")
    own.add_argument("--die-exit-code", type=int, default=1)
    own.add_argument("--ignore-sigterm", action="store_true")
    own.add_argument("--hand-over", choices=("blocks", "nothing"), help="as an engine with NIXL")
    own.add_argument("--child", action="store_true", help="have a child process, as vLLM has its EngineCore")
    vllm = parser.add_argument_group("vLLM's flags that change something here")
    vllm.add_argument("--model", default="scripted")
    vllm.add_argument("--served-model-name", nargs="+", help="any other model is then a 404")
    vllm.add_argument("--api-key", default=os.environ.get("VLLM_API_KEY"))
    vllm.add_argument("--max-model-len", type=int, default=2048)
    vllm.add_argument("--block-size", type=int, default=16)
    vllm.add_argument("--enable-prefix-caching", action=argparse.BooleanOptionalAction, default=True)
    vllm.add_argument("--kv-cache-dtype", default="auto", help="an 8-bit one doubles kv_cache_size_tokens")
    vllm.add_argument("--shutdown-timeout", type=float, default=0.0, help="seconds to drain on SIGTERM")
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    settings = Settings(
        model=options.served_model_name[0] if options.served_model_name else options.model,
        also_named=tuple(options.served_model_name or ())[1:],
        ttft_s=options.ttft,
        gap_s=options.itl,
        template_tokens=options.template_tokens,
        block_size=options.block_size,
        prefix_caching=options.enable_prefix_caching,
        max_model_len=options.max_model_len,
        api_key=options.api_key,
        strict_model=options.served_model_name is not None,
        health_status=options.health,
        die_on_request=options.die_on_request,
        fail_every=options.fail_every,
        hang_every=options.hang_every,
        hand_over=options.hand_over,
    )
    config = settings.cache_config
    config["block_size"] = str(options.block_size)
    config["cache_dtype"] = options.kv_cache_dtype
    config["enable_prefix_caching"] = str(options.enable_prefix_caching)
    if "8" in options.kv_cache_dtype:
        # What the real engine shows on CPU: 1-byte KV holds exactly twice the tokens of bfloat16.
        config["kv_cache_size_tokens"] = str(2 * int(config["kv_cache_size_tokens"]))
    config.update(pair.split("=", 1) for pair in options.cache_config)
    return settings


async def _serve(options: argparse.Namespace) -> int:
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(code: int) -> None:
        if not stopped.done():
            stopped.set_result(code)

    if options.ignore_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        loop.add_signal_handler(signal.SIGTERM, stop, 0)
    loop.add_signal_handler(signal.SIGINT, stop, 0)
    if options.die_after is not None:
        loop.call_later(options.die_after, stop, options.die_exit_code)
    for line in options.say:
        _say(line)
    leaking = asyncio.create_task(_leak(options.leak)) if options.leak else None
    await asyncio.wait([stopped], timeout=options.start_delay)
    app = EngineApp(_settings(options), die=lambda: stop(options.die_exit_code))
    if not stopped.done():
        server = await loop.create_server(lambda: Connection(app.handle), options.host, options.port)
        port = server.sockets[0].getsockname()[1]
        sys.stdout.write(f"listening on {options.host}:{port}\n")
        sys.stdout.flush()
        await stopped
        server.close()
    if leaking is not None:
        leaking.cancel()
    code = stopped.result()
    if code == 0:
        await _drain(app, options.shutdown_timeout)
    else:
        _say(options.die_message)
    return code


async def _leak(mib_per_s: int) -> None:
    kept = []
    while True:
        # Each byte is written, or the pages would not be there.
        kept.append(b"x" * (mib_per_s * 2**20 // 10))
        await asyncio.sleep(0.1)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


async def _drain(app: EngineApp, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while app.metrics.running and time.monotonic() < deadline:  # noqa: ASYNC110 - a test process
        await asyncio.sleep(0.01)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the engine until a signal or its own death; arguments it does not know are ignored."""
    options, _ = _parser().parse_known_args(arguments)
    if options.child:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        _say(f"child {child.pid}")
    # select() waits in microseconds where epoll, asyncio's choice, waits in whole milliseconds.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    code = loop.run_until_complete(_serve(options))
    sys.stderr.flush()
    # As abrupt as an engine's end: no connection is closed politely.
    os._exit(code)


if __name__ == "__main__":
    main()
