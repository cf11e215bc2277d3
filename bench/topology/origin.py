"""An HTTP/1.1 origin that answers at once.

One thread per connection, blocking sockets, TCP_NODELAY, one write per answer. The path chooses the behaviour:

- ``/``: 200 with a two-byte body.
- ``/split``: head and body of the answer in two writes.
- ``/slow?ms=300``: after so many milliseconds.
- ``/lossy``: at once. The first segment of the next request is lost; the client must pause 30 ms before it.
- ``/events``: 15 server-sent events, 20 ms apart.

The ``nagle`` port is the same server with Nagle left on, as most application servers are.
Prints one JSON line with its ports when it is ready. Ends when its standard input ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time
from urllib.parse import parse_qs

from onewrite_lab.tap.channel import drop_incoming, restore_incoming

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
SPLIT_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 200\r\n\r\n"
SPLIT_BODY = b"y" * 200
EVENTS_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
SO_MEMINFO = 55


class Reader:
    """Reads complete requests from one connection and drops their bodies."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray()

    def request(self) -> bytes | None:
        """The target of the next request, or None when the client is gone."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if not self._fill():
                return None
        head = bytes(self._buffer[:end])
        del self._buffer[: end + 4]
        lowered = head.lower()
        if b"\r\ntransfer-encoding: chunked" in lowered:
            complete = self._drop_chunks()
        else:
            at = lowered.find(b"\r\ncontent-length:")
            length = int(lowered[at + 17 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            complete = self._drop(length)
        return head.split(b" ", 2)[1] if complete else None

    def _fill(self) -> bool:
        data = self._sock.recv(262144)
        self._buffer += data
        return bool(data)

    def _drop(self, length: int) -> bool:
        missing = length - len(self._buffer)
        if missing <= 0:
            del self._buffer[:length]
            return True
        self._buffer.clear()
        while missing > 0:
            data = self._sock.recv(262144)
            if not data:
                return False
            if len(data) > missing:
                self._buffer += data[missing:]
            missing -= len(data)
        return True

    def _drop_chunks(self) -> bool:
        while True:
            while (end := self._buffer.find(b"\r\n")) < 0:
                if not self._fill():
                    return False
            size = int(self._buffer[:end].split(b";", 1)[0], 16)
            del self._buffer[: end + 2]
            if not self._drop(size + 2):
                return False
            if size == 0:
                return True


def answer(sock: socket.socket, target: bytes) -> None:
    path, _, query = target.partition(b"?")
    if path.startswith(b"http://"):
        path = b"/" + path.split(b"/", 3)[-1]
    if path == b"/split":
        sock.sendall(SPLIT_HEAD)
        sock.sendall(SPLIT_BODY)
    elif path == b"/slow":
        time.sleep(float(parse_qs(query.decode()).get("ms", ["50"])[0]) / 1000)
        sock.sendall(OK)
    elif path == b"/events":
        sock.sendall(EVENTS_HEAD)
        for _ in range(15):
            sock.sendall(b"6\r\n: ok\n\n\r\n")
            time.sleep(0.02)
        sock.sendall(b"0\r\n\r\n")
    else:
        sock.sendall(OK)
        if path == b"/lossy":
            time.sleep(0.02)  # the segment that is lost must not be the ACK of this answer
            lose_one(sock)


def lose_one(sock: socket.socket, timeout_s: float = 2) -> None:
    """Drop the next segment that comes, then no more."""

    def dropped() -> int:
        meminfo = sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36)
        return int(struct.unpack_from("=I", meminfo, 32)[0])

    def restore_after_drop() -> None:
        deadline = time.monotonic() + timeout_s
        with contextlib.suppress(OSError):
            while dropped() == before and time.monotonic() < deadline:
                time.sleep(0.0001)
        restore_incoming(sock)

    before = dropped()
    drop_incoming(sock)
    threading.Thread(target=restore_after_drop, daemon=True).start()


def serve_connection(sock: socket.socket, nagle: bool, context: ssl.SSLContext | None) -> None:
    with contextlib.suppress(OSError, ValueError):
        if not nagle:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            sock = context.wrap_socket(sock, server_side=True)
        reader = Reader(sock)
        while (target := reader.request()) is not None:
            answer(sock, target)
    with contextlib.suppress(OSError):
        sock.close()


def accept(listener: socket.socket, nagle: bool, context: ssl.SSLContext | None) -> None:
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=serve_connection, args=(sock, nagle, context), daemon=True).start()


def tls_context(certificate: str, version: ssl.TLSVersion, tickets: int) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.num_tickets = tickets
    context.minimum_version = context.maximum_version = version
    return context


def main() -> None:
    parser = argparse.ArgumentParser(description="An origin that answers at once.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--certificate", help="PEM file with certificate and key, for the TLS ports")
    options = parser.parse_args()
    sys.setswitchinterval(0.0005)
    kinds: list[tuple[str, bool, ssl.SSLContext | None]] = [
        ("plain", False, None),
        ("nagle", True, None),
    ]
    if options.certificate:
        # Session tickets are sent on the client's Finished and acknowledge it: without them the kernel delays that.
        for name, version, tickets in (
            ("tls12", ssl.TLSVersion.TLSv1_2, 2),
            ("tls13", ssl.TLSVersion.TLSv1_3, 2),
            ("tls13-no-tickets", ssl.TLSVersion.TLSv1_3, 0),
        ):
            kinds.append((name, False, tls_context(options.certificate, version, tickets)))
    ports = {}
    for name, nagle, context in kinds:
        listener = socket.create_server((options.host, 0), backlog=512)
        ports[name] = listener.getsockname()[1]
        threading.Thread(target=accept, args=(listener, nagle, context), daemon=True).start()
    print(json.dumps({"ready": True, "pid": os.getpid(), "ports": ports}), flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
