"""Two proxies in one program, each a listening port: a relay with Nagle on, and a forward HTTP proxy.

The relay writes on whatever it reads, and leaves Nagle on, as a sidecar, a pooler or a tunnel may. Two writes of the
client that arrive as two segments become two writes here, and the kernel holds the second until the first is
acknowledged. On loopback a client must leave a moment between them, as a network would: else both are read as one.

The forward proxy takes absolute-form requests (RFC 9112 section 3.2.2) and CONNECT (RFC 9110 section 9.3.6). It reads
the whole request, sends it on in one write, and has TCP_NODELAY on both sides: a stall before it is not of its making.

usage: relay.py [--upstream-port N]; without it there is no relay. Prints one JSON line with its ports.
Ends when its standard input ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

__all__ = ["main"]

_BUFFER = 262144


def _connect(host: str, port: int, nodelay: bool) -> socket.socket:
    upstream = socket.create_connection((host, port), timeout=10)
    upstream.settimeout(None)
    upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
    return upstream


def _join(client: socket.socket, upstream: socket.socket) -> None:
    """Copy both ways until both sides have ended."""

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_BUFFER):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=pump, args=(upstream, client), daemon=True)
    back.start()
    pump(client, upstream)
    back.join()
    upstream.close()


def _message(sock: socket.socket, buffer: bytearray) -> tuple[bytes, bytes] | None:
    """One message with a Content-Length: (head with its blank line, body), or None at the end."""
    end, length = -1, 0
    while end < 0 or len(buffer) < end + 4 + length:
        if end < 0 and (end := buffer.find(b"\r\n\r\n")) >= 0:
            field = bytes(buffer[:end]).lower().partition(b"\r\ncontent-length:")[2]
            length = int(field.split(b"\r\n", 1)[0] or 0)
            continue
        data = sock.recv(_BUFFER)
        if not data:
            return None
        buffer += data
    message = bytes(buffer[: end + 4]), bytes(buffer[end + 4 : end + 4 + length])
    del buffer[: end + 4 + length]
    return message


def _forward(client: socket.socket) -> None:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    requests, responses = bytearray(), bytearray()
    upstreams: dict[str, socket.socket] = {}
    while (message := _message(client, requests)) is not None:
        method, target, rest = message[0].decode("latin-1").split(" ", 2)
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            upstream = _connect(host, int(port), True)
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            _join(client, upstream)
            return
        url = urlsplit(target)
        if url.netloc not in upstreams:
            upstreams[url.netloc] = _connect(url.hostname or "", url.port or 80, True)
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        upstreams[url.netloc].sendall(f"{method} {path} {rest}".encode("latin-1") + message[1])
        response = _message(upstreams[url.netloc], responses)
        if response is None:
            return
        client.sendall(b"".join(response))


def _listen(serve: Callable[[socket.socket], None]) -> int:
    """Serve each connection in a thread; return the port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def one(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, ValueError):
            serve(client)

    def accept() -> None:
        while True:
            threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return int(listener.getsockname()[1])


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description="A relay with Nagle on, and a forward proxy.")
    parser.add_argument("--upstream-port", type=int)
    port = parser.parse_args().upstream_port
    ports = {"proxy": _listen(_forward)}
    if port is not None:
        ports["relay"] = _listen(lambda client: _join(client, _connect("127.0.0.1", port, False)))
    print(json.dumps({"ports": ports}), flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
