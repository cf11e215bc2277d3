"""The origin behind every proxy here: answers at once, in one write, with TCP_NODELAY, and counts data segments.

As a program (`origin.py [--port N] [--tls-cert PEM]`) it prints `{"ports": {"origin": n}}` and serves until a signal, or
until the bench that started it has gone.
It also plays the first hop of a client's proxy: it answers absolute-form requests, and CONNECT by speaking TLS itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import ssl
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "topology"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from until_told import serve_until_told

from wire import Reader, data_segments_in

__all__ = ["Origin"]

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
EVENTS, GAP_S = 30, 0.02


class Origin:
    """Serves on `port`, or one of the kernel's choice, a thread per connection.

    `segments` holds, request by request, how many data segments arrived for it. The baseline is taken when a request is
    complete and before it is answered, so a quick next request is never counted to the one before.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.segments: list[int] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            baseline = 0  # not what has arrived by now: that may be the first request already
            if self._tls and not self._plain(sock):
                sock = self._tls.wrap_socket(sock, server_side=True)
                baseline = data_segments_in(sock) or 0
            reader = Reader(sock)
            while True:
                start, fields = reader.head()
                if start.startswith("CONNECT ") and self._tls:
                    sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    sock = self._tls.wrap_socket(sock, server_side=True)
                    reader = Reader(sock)
                    baseline = data_segments_in(sock) or 0
                    continue
                if fields.get("expect", "").lower() == "100-continue":
                    sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                path = start.split(" ")[1]
                if path.endswith("/upload"):
                    self._time_upload(sock, reader, fields)
                    continue
                reader.body(fields)
                now = data_segments_in(sock)
                if now is not None:
                    self.segments.append(now - baseline)
                    baseline = now
                if path.endswith("/events"):
                    self._events(sock)
                else:
                    sock.sendall(ANSWER)
        sock.close()

    @staticmethod
    def _plain(sock: socket.socket) -> bool:
        """Whether the client begins in plain text: CONNECT to a proxy, not a TLS handshake."""
        first = sock.recv(1, socket.MSG_PEEK)
        return first != b"\x16"

    @staticmethod
    def _events(sock: socket.socket) -> None:
        """Server-sent events, each its own chunk and write, each with the time it was sent."""
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(EVENTS):
            data = f"data: {time.monotonic_ns()}\n\n".encode()
            sock.sendall(b"%x\r\n%b\r\n" % (len(data), data))
            time.sleep(GAP_S)
        sock.sendall(b"0\r\n\r\n")

    @staticmethod
    def _time_upload(sock: socket.socket, reader: Reader, fields: dict[str, str]) -> None:
        """A streamed upload whose pieces hold the times they were sent: answers with the lags, in ms.

        A proxy that buffered the upload sends it with a Content-Length, as a whole.
        """
        chunked = fields.get("transfer-encoding", "").lower() == "chunked"
        lags: list[float] = []
        while piece := reader.chunk() if chunked else reader.body(fields):
            now = time.monotonic_ns()
            lags += [(now - int(sent)) / 1e6 for sent in piece.split()]
            if not chunked:
                break
        answer = json.dumps(lags).encode()
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer))

    def close(self) -> None:
        self._listener.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="An origin that answers at once.")
    parser.add_argument("--tls-cert", type=Path, help="PEM file with certificate and key: speak TLS")
    parser.add_argument("--port", type=int, default=0, help="of 127.0.0.1; the kernel chooses unless it is given")
    options = parser.parse_args()
    tls = None
    if options.tls_cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(options.tls_cert)
    print(json.dumps({"ports": {"origin": Origin(tls, options.port).port}}), flush=True)
    serve_until_told()


if __name__ == "__main__":
    main()
