"""pytest plugin: extensions that urllib3's test servers need in an ASGI scope and hypercorn as released leaves out.

urllib3 runs its suite over a changed hypercorn that puts two more extensions there. ``_transport`` is the stream of
the connection, of which its proxy makes a tunnel. By ``tls`` its applications answer for ALPN and client
certificates (dummyserver/asgi_proxy.py and dummyserver/app.py in urllib3's sdist). Without them
those tests fail over any client.
"""

from __future__ import annotations

import contextvars
import typing

import hypercorn.app_wrappers
import hypercorn.config
import hypercorn.trio.tcp_server
import trio

_stream: contextvars.ContextVar[typing.Any] = contextvars.ContextVar("stream")


def _tls(stream: typing.Any) -> dict[str, typing.Any]:
    certificate = stream.getpeercert() or {}
    names = (f"{name}={value}" for ((name, value),) in certificate.get("subject", ()))
    return {"alpn_protocol": stream.selected_alpn_protocol(), "client_cert_name": ", ".join(names) or None}


_server = hypercorn.trio.tcp_server.TCPServer
_wrapper = hypercorn.app_wrappers.ASGIWrapper
_run, _call = _server.run, _wrapper.__call__


async def run(self: typing.Any) -> None:
    """Serve a connection; its tasks start from here and inherit this context."""
    _stream.set(self.stream)
    await _run(self)


async def call(self: typing.Any, scope: typing.Any, *rest: typing.Any) -> None:
    """Call the application with more in its scope."""
    stream = _stream.get(None)
    if stream is not None and "extensions" in scope:
        scope["extensions"]["_transport"] = stream
        if isinstance(stream, trio.SSLStream):
            scope["extensions"]["tls"] = _tls(stream)
    await _call(self, scope, *rest)


_server.run, _wrapper.__call__ = run, call
# A server that ends waits for the tunnels that a test has left open, three seconds by default.
hypercorn.config.Config.graceful_timeout = 0.1
