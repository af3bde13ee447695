"""TLS: what is wrong with the files, and a handshake."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from fakes.raw_http import RawEngine, ask, fixed, get

from serving.errors import UsageError
from serving.gateway.server import Gateway
from serving.gateway.settings import EdgeSettings, TlsFiles
from serving.gateway.tls import tls_context

MakeGateway = Callable[..., Awaitable[Gateway]]
GOLDEN = Path(__file__).parents[2] / "golden" / "tls"
CERT, KEY = GOLDEN / "cert.pem", GOLDEN / "key.pem"
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    ("cert", "key", "where", "what"),
    [
        ("nowhere.pem", "key.pem", "gateway.tls.cert", "cannot be read: No such file"),
        ("cert.pem", "nowhere.pem", "gateway.tls.key", "cannot be read: No such file"),
        ("cert.pem", "other_key.pem", "gateway.tls", "is not the key of the certificate"),
        ("cert.pem", "encrypted_key.pem", "gateway.tls.key", "is encrypted"),
        ("cert.pem", "README.md", "gateway.tls.key", "is not a PEM file of a private key"),
        ("README.md", "key.pem", "gateway.tls.cert", "is not a PEM file of a certificate"),
        ("key.pem", "key.pem", "gateway.tls.cert", "is not a PEM file of a certificate"),
    ],
)
def test_what_is_wrong_with_the_files_is_said(cert: str, key: str, where: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        tls_context(TlsFiles(GOLDEN / cert, GOLDEN / key))
    (problem,) = caught.value.problems
    assert problem.where == where
    assert what in problem.what


async def test_files_that_cannot_be_used_are_said_before_anything_listens() -> None:
    gateway = Gateway("demo", settings=EdgeSettings(tls=TlsFiles(CERT, GOLDEN / "other_key.pem")))
    with pytest.raises(UsageError):
        await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
    assert gateway.public_url == ""


async def test_a_client_that_trusts_the_certificate_is_served(
    engine: RawEngine, make_gateway: MakeGateway
) -> None:
    engine.answer = fixed(OK)
    gateway = await make_gateway(engine.url, settings=EdgeSettings(tls=TlsFiles(CERT, KEY)))
    assert gateway.public_url.startswith("https://")
    trusting = ssl.create_default_context(cafile=str(CERT))
    async with aiohttp.ClientSession() as session:
        url = f"{gateway.public_url}/v1/completions"
        async with session.post(url, data=b"{}", ssl=trusting) as answer:
            assert (answer.status, await answer.read()) == (200, b"{}")


async def test_a_client_without_tls_reaches_nothing(engine: RawEngine, make_gateway: MakeGateway) -> None:
    gateway = await make_gateway(engine.url, settings=EdgeSettings(tls=TlsFiles(CERT, KEY)))
    with pytest.raises((IndexError, ConnectionError)):
        await ask(gateway.public_url.replace("https", "http"), get("/v1/models"))
    assert engine.calls == []
