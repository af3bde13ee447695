"""What the scripted engine answers: the endpoints of vLLM, and a channel to set and read it.

Owns: choosing and playing scripts, generating where there is none, and the record of what was received
and really sent. Knows nothing about processes and command lines.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from fakes.connection import Connection, Request, until
from fakes.engine_metrics import EngineMetrics
from fakes.generation import Settings, generated, refusal
from fakes.prefix_cache import PrefixCache
from fakes.scripts import Script, Step
from fakes.words import Words

OUTPUT_KINDS = frozenset({"content", "reasoning", "tool_call", "json"})


@dataclass(slots=True)
class Sent:
    """One write as it really happened."""

    at_s: float
    """As the script wanted it, since the request."""
    t_ns: int
    """`time.perf_counter_ns` just before the write; the clock is one for all processes of the machine."""
    kind: str
    tokens: int
    size_bytes: int


@dataclass(slots=True)
class Exchange:
    """One request to /v1 and its answer."""

    method: str
    path: str
    headers: dict[str, str]
    body: str
    t_received_ns: int
    script: str = ""
    sent: list[Sent] = field(default_factory=list)
    t_end_ns: int | None = None
    complete: bool = False
    """Whether the script was played to its end."""
    t_gone_ns: int | None = None
    """When the client was seen to leave before that."""


class EngineApp:
    """The state of one engine and its routes."""

    def __init__(self, settings: Settings, die: Callable[[], None] = lambda: None) -> None:
        self._die = die
        self.settings = settings
        self.words = Words(template_tokens=settings.template_tokens)
        self.metrics = EngineMetrics(settings.model, settings.cache_config)
        self.cache = PrefixCache(settings.block_size) if settings.prefix_caching else None
        self.health_status = settings.health_status
        self.scripts: dict[str, Script] = {}
        self.exchanges: list[Exchange] = []

    async def handle(self, request: Request, connection: Connection) -> None:
        """Answer one request."""
        path = request.path.partition("?")[0]
        if path.startswith("/_script/"):
            self._control(path, request, connection)
        elif path == "/health":
            _answer(connection, self.health_status, b"")
        elif path == "/metrics":
            _answer(
                connection, 200, self.metrics.render().encode(), "text/plain; version=1.0.0; charset=utf-8"
            )
        elif path == "/version":
            _answer_json(connection, 200, {"version": self.settings.version})
        elif path in ("/tokenize", "/detokenize"):
            self._tokenizer(path, request, connection)
        elif path.startswith("/v1/"):
            await self._v1(path, request, connection)
        else:
            _answer_json(connection, 404, {"detail": "Not Found"})

    async def _v1(self, path: str, request: Request, connection: Connection) -> None:
        key = self.settings.api_key
        if key is not None and request.headers.get("authorization") != f"Bearer {key}":
            _answer_json(connection, 401, {"error": "Unauthorized"})
        elif path == "/v1/models":
            _answer_json(connection, 200, self._models())
        elif request.method != "POST":
            _answer_json(connection, 405, {"detail": "Method Not Allowed"})
        else:
            await self._generate(path, request, connection)

    async def _generate(self, path: str, request: Request, connection: Connection) -> None:
        exchange = Exchange(
            request.method, request.path, request.headers, request.body.decode(), request.t_received_ns
        )
        self.exchanges.append(exchange)
        if len(self.exchanges) == self.settings.die_on_request:
            self._die()
            await asyncio.Event().wait()
        script = self._script_for(path, request)
        if _falls_on(len(self.exchanges), self.settings.fail_every):
            script = refusal(500, "scripted failure")
        if _falls_on(len(self.exchanges), self.settings.hang_every):
            script = replace(script, steps=(), end="hang", headers_at_s=None)
        exchange.script = script.name
        self.metrics.running += 1
        try:
            await self._play(script, exchange, connection)
            exchange.complete = True
        finally:
            self.metrics.running -= 1
            exchange.t_end_ns = time.perf_counter_ns()
            if not exchange.complete:
                exchange.t_gone_ns = connection.gone_ns

    def _script_for(self, path: str, request: Request) -> Script:
        """By the header X-Script, else by the model's name, else generated from the request."""
        try:
            body = json.loads(request.body)
        except ValueError:
            return refusal(400, "Invalid JSON")
        if not isinstance(body, dict) or not ("messages" in body or "prompt" in body or "input" in body):
            return refusal(400, "Field required: messages or prompt")
        wanted = request.headers.get("x-script")
        if wanted is not None and wanted not in self.scripts:
            return refusal(404, f"no script named {wanted}")
        prompt = self.words.encode_prompt(body)
        cached = self.cache.look_up(prompt) if self.cache else 0
        script = self.scripts.get(wanted or body.get("model", ""))
        if script is None:
            script = generated(path, body, prompt=prompt, cached=cached, settings=self.settings)
        if script.status == 200:
            params = body.get("kv_transfer_params") or {}
            taken = self.settings.hand_over == "blocks" and bool(params.get("do_remote_prefill"))
            self.metrics.prompt(len(prompt), cached, taken=taken)
        return script

    async def _play(self, script: Script, exchange: Exchange, connection: Connection) -> None:
        body = json.loads(exchange.body) if script.status == 200 else {}
        request_id = exchange.headers.get("x-request-id", f"{len(self.exchanges):032x}")
        prefix = "chatcmpl-" if exchange.path.startswith("/v1/chat") else "cmpl-"
        names = {"@ID@": prefix + request_id, "@MODEL@": str(body.get("model", self.settings.model))}
        datas = [_fill(step.data, names) for step in script.steps]
        head = _head(script, sum(map(len, datas)))
        origin_ns = exchange.t_received_ns
        if script.headers_at_s is not None:
            await until(origin_ns + round(script.headers_at_s * 1e9))
            connection.write(head)
            head = b""
        output: list[tuple[float, int]] = []
        for step, data in zip(script.steps, datas, strict=True):
            framed = b"%x\r\n%b\r\n" % (len(data), data) if script.framing == "chunked" else data
            await until(origin_ns + round(step.at_s * 1e9))
            t_ns = time.perf_counter_ns()
            connection.write(head + framed)
            head = b""
            exchange.sent.append(Sent(step.at_s, t_ns, step.kind, step.tokens, len(data)))
            if script.status == 200:
                self._count(step, (t_ns - origin_ns) / 1e9, output)
        await self._end(script, exchange, connection, head)
        if script.status == 200 and script.end == "complete":
            self.metrics.finished(_finish_reason(script), output_s=output)

    def _count(self, step: Step, now_s: float, output: list[tuple[float, int]]) -> None:
        if step.kind in OUTPUT_KINDS and step.tokens:
            before_s = output[-1][0] if output else 0.0
            self.metrics.output(gap_s=now_s - before_s, tokens=step.tokens, first=not output)
            output.append((now_s, step.tokens))

    async def _end(self, script: Script, exchange: Exchange, connection: Connection, head: bytes) -> None:
        if script.end_at_s is not None:
            await until(exchange.t_received_ns + round(script.end_at_s * 1e9))
        if head:
            connection.write(head)
        if script.end == "rst":
            connection.reset()
        elif script.end == "hang":
            await asyncio.Event().wait()
        elif script.end == "fin" or script.framing == "close":
            connection.finish()
        elif script.framing == "chunked":
            connection.write(b"0\r\n\r\n")

    def _models(self) -> dict[str, Any]:
        names = dict.fromkeys([self.settings.model, *self.settings.also_named, *self.scripts])
        length = self.settings.max_model_len
        return {
            "object": "list",
            "data": [
                {"id": name, "object": "model", "owned_by": "vllm", "max_model_len": length} for name in names
            ],
        }

    def _tokenizer(self, path: str, request: Request, connection: Connection) -> None:
        body = json.loads(request.body)
        if path == "/detokenize":
            _answer_json(connection, 200, {"prompt": self.words.decode(body["tokens"])})
            return
        tokens = self.words.encode_prompt(body)
        length = self.settings.max_model_len
        document = {"count": len(tokens), "max_model_len": length, "tokens": tokens, "token_strs": None}
        _answer_json(connection, 200, document)

    def _control(self, path: str, request: Request, connection: Connection) -> None:
        body = json.loads(request.body) if request.body else {}
        answer: Any = {}
        if path == "/_script/requests":
            answer = [asdict(exchange) for exchange in self.exchanges]
        elif path == "/_script/scripts":
            script = Script.from_json(body)
            self.scripts[script.name] = script
        elif path == "/_script/health":
            self.health_status = body["status"]
        elif path == "/_script/cache_config":
            self.metrics.cache_config.update(body)
        elif path == "/_script/reset":
            self.exchanges.clear()
            self.scripts.clear()
            self.health_status = self.settings.health_status
        _answer_json(connection, 200, answer)


def _falls_on(number: int, every: int | None) -> bool:
    return every is not None and number % every == 0


def _finish_reason(script: Script) -> str:
    joined = b"".join(step.data for step in script.steps).replace(b" ", b"")
    return "length" if b'"finish_reason":"length"' in joined else "stop"


def _fill(data: bytes, names: Mapping[str, str]) -> bytes:
    for name, value in names.items():
        data = data.replace(name.encode(), json.dumps(value)[1:-1].encode())
    return data


def _head(script: Script, size: int) -> bytes:
    lines = [f"HTTP/1.1 {script.status} Scripted", f"content-type: {script.content_type}"]
    lines += [f"{name}: {value}" for name, value in script.headers]
    if script.framing == "chunked":
        lines.append("transfer-encoding: chunked")
    elif script.framing == "length":
        lines.append(f"content-length: {size}")
    else:
        lines.append("connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _answer(connection: Connection, status: int, body: bytes, content_type: str = "application/json") -> None:
    head = (
        f"HTTP/1.1 {status} Scripted\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    connection.write(head.encode() + body)


def _answer_json(connection: Connection, status: int, document: Any) -> None:
    _answer(connection, status, json.dumps(document).encode())
