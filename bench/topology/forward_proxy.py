"""A plain forward HTTP proxy, as companies put between their services and the Internet.

Takes absolute-form requests (RFC 9112 section 3.2.2) and CONNECT (RFC 9110 section 9.3.6). It waits for the whole
request, sends it on in one write and has TCP_NODELAY on both sides: a stall before it is not of its making.
Prints one JSON line with its port when it is ready, and ends when its standard input ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from urllib.parse import urlsplit

BUFFER = 262144


def connect(host: str, port: int) -> socket.socket:
    upstream = socket.create_connection((host, port), timeout=10)
    upstream.settimeout(None)
    upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return upstream


def read_message(sock: socket.socket, buffer: bytearray) -> tuple[bytes, bytes] | None:
    """One message with a Content-Length: (head with its blank line, body), or None at the end."""
    while (end := buffer.find(b"\r\n\r\n")) < 0:
        data = sock.recv(BUFFER)
        if not data:
            return None
        buffer += data
    head = bytes(buffer[: end + 4])
    del buffer[: end + 4]
    lowered = head.lower()
    at = lowered.find(b"\r\ncontent-length:")
    length = int(lowered[at + 17 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
    while len(buffer) < length:
        data = sock.recv(BUFFER)
        if not data:
            return None
        buffer += data
    body = bytes(buffer[:length])
    del buffer[:length]
    return head, body


def tunnel(client: socket.socket, authority: str) -> None:
    host, _, port = authority.rpartition(":")
    upstream = connect(host, int(port))
    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(BUFFER):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=pump, args=(upstream, client), daemon=True)
    back.start()
    pump(client, upstream)
    back.join()
    upstream.close()


def forward(client: socket.socket) -> None:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    requests, responses = bytearray(), bytearray()
    upstream: socket.socket | None = None
    upstream_for = ("", 0)
    while (message := read_message(client, requests)) is not None:
        head, body = message
        method, target, rest = head.split(b" ", 2)
        if method == b"CONNECT":
            tunnel(client, target.decode())
            return
        url = urlsplit(target.decode())
        wanted = (url.hostname or "", url.port or 80)
        if upstream is None or wanted != upstream_for:
            if upstream is not None:
                upstream.close()
            upstream, upstream_for = connect(*wanted), wanted
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        upstream.sendall(b"%b %b %b%b" % (method, path.encode(), rest, body))
        response = read_message(upstream, responses)
        if response is None:
            return
        client.sendall(response[0] + response[1])


def serve(client: socket.socket) -> None:
    with client, contextlib.suppress(OSError, ValueError):
        forward(client)


def accept(listener: socket.socket) -> None:
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    ports = {"proxy": listener.getsockname()[1]}
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    print(json.dumps({"ready": True, "pid": os.getpid(), "ports": ports}), flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
