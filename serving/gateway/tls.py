"""TLS for the public address, from two PEM files.

Owns: what is wrong with such files, said before anything listens. Knows nothing about listening.
"""

from __future__ import annotations

import ssl

from serving.errors import UsageError
from serving.gateway.settings import TlsFiles

HANDSHAKE_S = 10.0
"""A client that has not finished its handshake by then is hung up on."""


def tls_context(files: TlsFiles) -> ssl.SSLContext:
    """A context for a server. Raises: UsageError naming the file and what to do."""
    for key, path in (("cert", files.cert), ("key", files.key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise UsageError(
                f"{path} cannot be read: {error.strerror}", where=f"gateway.tls.{key}", fix="give a PEM file"
            ) from error
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["http/1.1"])
    try:
        # The empty password is an answer to a question that would otherwise be asked on the terminal.
        context.load_cert_chain(files.cert, files.key, password="")
    except ssl.SSLError as error:
        raise _explained(error, files) from error
    return context


def _explained(error: ssl.SSLError, files: TlsFiles) -> UsageError:
    if error.reason == "KEY_VALUES_MISMATCH":
        return UsageError(
            f"{files.key} is not the key of the certificate {files.cert}",
            where="gateway.tls",
            fix="give the key that the certificate was made with",
        )
    if b"ENCRYPTED" in files.key.read_bytes():
        return UsageError(
            f"{files.key} is encrypted", where="gateway.tls.key", fix="give a key without a password"
        )
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_verify_locations(files.cert)
        which, path, wanted = "key", files.key, "BEGIN PRIVATE KEY"
    except ssl.SSLError:
        which, path, wanted = "cert", files.cert, "BEGIN CERTIFICATE"
    return UsageError(
        f"{path} is not a PEM file of a {'certificate' if which == 'cert' else 'private key'}",
        where=f"gateway.tls.{which}",
        fix=f"its first line would hold {wanted}",
    )
