"""One little server with the faults that a client cannot fix, each under a path; and the streams that show a proxy's waits.

| path | answers |
|---|---|
| `/slow` | after 45 ms |
| `/split` | head and body in two writes, Nagle on |
| `/lossy` | at once, and loses the first segment of every fourth request. The client must pause 30 ms between two |
| `/events` | 30 server-sent events, 20 ms apart, each with the time it was sent |
| `/upload` | how late each piece of a streamed body came, in ms |
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from onewrite_lab.tap.channel import drop_incoming, restore_incoming

__all__ = ["events", "serve", "upload"]

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
EVENTS, GAP_S = 30, 0.02
_SO_MEMINFO, _MEMINFO_DROPS = 55, 8


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    number = 0

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, self.path != "/split")
        if self.path == "/upload":
            self._upload()
            return
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.number += 1
        if self.path == "/events":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(EVENTS):
                event = f"data: {time.monotonic_ns()}\n\n".encode()
                self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
                time.sleep(GAP_S)
            self.wfile.write(b"0\r\n\r\n")
            return
        time.sleep(0.045 if self.path == "/slow" else 0)
        head, blank, body = ANSWER.partition(b"\r\n\r\n")
        for piece in (head + blank, body) if self.path == "/split" else (ANSWER,):
            self.wfile.write(piece)
        if self.path == "/lossy" and self.number % 4 == 3:
            time.sleep(0.02)  # a pure ACK of this answer must not be what is lost
            _lose_one(self.connection)

    def _upload(self) -> None:
        """A proxy that buffered the upload sends it with a Content-Length, as a whole."""
        lags: list[float] = []
        chunked = "Content-Length" not in self.headers
        size = int(self.rfile.readline(), 16) if chunked else int(self.headers["Content-Length"])
        while size:
            piece = self.rfile.read(size)
            now = time.monotonic_ns()
            lags += [(now - int(sent)) / 1e6 for sent in piece.split()]
            size = int(self.rfile.readline() and self.rfile.readline(), 16) if chunked else 0
        if chunked:
            self.rfile.readline()
        answer = json.dumps(lags).encode()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer))

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        pass  # a client or a proxy that closes its connection


def _dropped(sock: socket.socket) -> int:
    return int(struct.unpack_from("=I", sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 36), 4 * _MEMINFO_DROPS)[0])


def _lose_one(sock: socket.socket, timeout_s: float = 2) -> None:
    """Drop the next segment, then no more."""
    before = _dropped(sock)
    drop_incoming(sock)

    def watch() -> None:
        deadline = time.monotonic() + timeout_s
        with contextlib.suppress(OSError):
            while _dropped(sock) == before and time.monotonic() < deadline:
                time.sleep(0.0001)  # lets the other threads of this process run
        restore_incoming(sock)

    threading.Thread(target=watch, daemon=True).start()


def serve() -> int:
    """Starts the server, which ends with the process; its port."""
    server = _Server(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])


def events(port: int) -> list[float]:
    """How late each event of `/events` came, in ms. Both ends read one clock, so a lag is a difference."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
    connection.request("GET", "/events")
    lags = []
    with connection.getresponse() as answer:
        while line := answer.readline():
            if line.startswith(b"data: "):
                lags.append((time.monotonic_ns() - int(line.split()[1])) / 1e6)
    connection.close()
    return lags


def upload(port: int) -> list[float]:
    """How late each piece of a chunked POST came, in ms. Each leaves in one write, with TCP_NODELAY on."""
    with socket.create_connection(("127.0.0.1", port), timeout=15) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(b"POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(EVENTS):
            piece = b"%d\n" % time.monotonic_ns()
            sock.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            time.sleep(GAP_S)
        sock.sendall(b"0\r\n\r\n")
        answer = http.client.HTTPResponse(sock)
        answer.begin()
        lags: list[float] = json.loads(answer.read())
        return lags
