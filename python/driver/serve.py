"""The bridge: a small HTTP service that POSTs what it gets upstream through the client."""

from __future__ import annotations

import http.server
import socket
import threading
import typing

from bodies import Body
from clients import Ask, Client

Message = dict[str, typing.Any]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


def start(client: Client, message: Message) -> int:
    upstream = message["upstream"]

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # buffered: head and body of an answer leave in one write

        def answer(self, status: int, body: bytes) -> None:
            self.send_response_only(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def do_GET(self) -> None:
            self.answer(200 if self.path == "/null" else 404, b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                answer = client.send(Ask("POST", upstream, [], Body(body)))
            except Exception as error:
                self.answer(502, f"{type(error).__name__}: {error}".encode())
            else:
                self.answer(answer.status, answer.body or b"")

        def log_message(self, format: str, *args: typing.Any) -> None:
            pass

    server = _Server(("127.0.0.1", int(message.get("port") or 0)), Handler)
    server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])
