"""A driver over a bare blocking socket: the lowest cost a library can reach, and the stall without a library.

Speaks version 1 of the driver protocol (spec/conformance/PROTOCOL.md), as much as the bench needs: open, load,
close. Client `control` has Nagle on and makes two writes; `onewrite` has TCP_NODELAY and makes one. The adapter
options `nagle` and `split` choose any other of the four combinations, `gap_us` and `pieces` how it splits.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import ssl
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Connection", "How", "main"]


@dataclass(frozen=True)
class How:
    """How a client sends. `gap_us` passes between the head and the body, which goes in `pieces` writes.

    `quickack` sets TCP_QUICKACK before each read (Linux): the server's split answer does not wait for an ACK then.
    """

    nagle: bool
    split: bool
    gap_us: int
    pieces: int
    quickack: bool
    authority: str | None
    proxy: str | None
    timeout_s: float = 30


class Connection:
    """One kept-alive connection. Redials when the peer has closed it."""

    def __init__(self, url: str, how: How) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        self._context = ssl.create_default_context(cafile=how.authority) if parts.scheme == "https" else None
        self._proxy = urlsplit(how.proxy) if how.proxy else None
        self._path = parts.path + (f"?{parts.query}" if parts.query else "") or "/"
        if self._proxy is not None and self._context is None:
            self._path = f"http://{parts.netloc}{self._path}"
        self._how = how
        self._sock: socket.socket | None = None
        self._buffer = bytearray()
        self.closes = False

    def connect(self) -> socket.socket:
        first = (self._host, self._port)
        if self._proxy is not None:
            first = (self._proxy.hostname or "", self._proxy.port or 80)
        sock = socket.create_connection(first, timeout=self._how.timeout_s)
        if not self._how.nagle:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._context is not None:
            if self._proxy is not None:
                self._tunnel(sock)
            sock = self._context.wrap_socket(sock, server_hostname=self._host)
        self._sock = sock
        self._buffer.clear()
        return sock

    def post(self, method: str, body: bytes) -> int:
        """Send one request and read its answer; return the status."""
        sock = self._sock or self.connect()
        head = (
            f"{method} {self._path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        if self._how.split:
            sock.sendall(head)
            if self._how.gap_us:
                time.sleep(self._how.gap_us / 1e6)
            step = -(-len(body) // self._how.pieces) or 1
            for start in range(0, len(body), step):
                sock.sendall(body[start : start + step])
        else:
            sock.sendall(head + body)
        return self._read_answer(sock)

    def _tunnel(self, sock: socket.socket) -> None:
        place = f"{self._host}:{self._port}"
        sock.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            piece = sock.recv(1)  # the next byte after the answer belongs to TLS
            if not piece:
                raise ConnectionError("the proxy closed the connection")
            answer += piece
        if answer[9:12] != b"200":
            raise ConnectionError(f"the proxy answered {answer[9:12].decode('latin-1')}")

    def _read_answer(self, sock: socket.socket) -> int:
        """Read one final answer to its end; return the status. Then `closes` says whether the connection is kept."""
        status = 100
        while status < 200 and status != 101:
            while (end := self._buffer.find(b"\r\n\r\n")) < 0:
                self._fill(sock)
            head = bytes(self._buffer[:end]).lower()
            del self._buffer[: end + 4]
            status = int(head[9:12])
        self.closes = b"\r\nconnection: close" in head or (
            head.startswith(b"http/1.0") and b"\r\nconnection: keep-alive" not in head
        )
        at = head.find(b"\r\ncontent-length:")
        if b"\r\ntransfer-encoding: chunked" in head:
            while (size := int(self._line(sock).split(b";", 1)[0], 16)) > 0:
                self._drop(sock, size + 2)
            while self._line(sock):
                pass
        elif at >= 0:
            self._drop(sock, int(head[at + 17 :].split(b"\r\n", 1)[0]))
        elif status not in (101, 204, 304):
            self.closes = True
        if self.closes:
            self.close()
        return status

    def _line(self, sock: socket.socket) -> bytes:
        while (end := self._buffer.find(b"\r\n")) < 0:
            self._fill(sock)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _drop(self, sock: socket.socket, size: int) -> None:
        while len(self._buffer) < size:
            self._fill(sock)
        del self._buffer[:size]

    def _fill(self, sock: socket.socket) -> None:
        if self._how.quickack:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        data = sock.recv(65536)
        if not data:
            self.close()
            raise ConnectionError("the peer closed the connection")
        self._buffer += data

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None


class RawClient:
    def __init__(self, options: dict[str, Any], nagle: bool, split: bool) -> None:
        extra = options.get("adapter") or {}
        self._how = How(
            nagle=bool(extra.get("nagle", nagle)),
            split=bool(extra.get("split", split)),
            gap_us=int(extra.get("gap_us", 0)),
            pieces=int(extra.get("pieces", 1)),
            quickack=bool(extra.get("quickack", False)),
            authority=options.get("tls_ca"),
            proxy=options.get("proxy"),
        )
        self._keepalive = options.get("keepalive", True)
        self._pools: dict[str, list[Connection]] = {}

    def load(self, command: dict[str, Any]) -> dict[str, Any]:
        connections = int(command.get("connections") or 1)
        pool = self._pools.setdefault(command["url"], [])
        while len(pool) < connections:
            pool.append(Connection(command["url"], self._how))
        run = _Load(command, self._keepalive)
        threads = [threading.Thread(target=run.caller, args=(connection,)) for connection in pool[:connections]]
        run.started = time.monotonic_ns()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return run.reply()

    def close(self) -> None:
        for pool in self._pools.values():
            for connection in pool:
                connection.close()


class _Load:
    """One load command, shared by its callers."""

    def __init__(self, command: dict[str, Any], keepalive: bool) -> None:
        body = command.get("body") or {}
        self._body = (body.get("fill") or "x").encode() * int(body.get("size") or 0)
        self._method = command.get("method") or "POST"
        self._warmup = int(command.get("warmup") or 0)
        self._count = command.get("count")
        self._seconds = command.get("seconds")
        self._rate = float(command["rate"]) if command.get("mode") == "open" else None
        self._keepalive = keepalive
        self._expect = command.get("expect")
        self._taken = 0
        self._lock = threading.Lock()
        self.started = 0
        self._latencies: list[int] = []
        self._service: list[int] = []
        self._errors = 0
        self._error_sample: str | None = None

    def _take(self) -> int | None:
        """The number of the next request, or None when there is none left."""
        with self._lock:
            number = self._taken
            elapsed = (time.monotonic_ns() - self.started) / 1e9
            if self._rate is not None and self._seconds is not None:
                over = number / self._rate >= float(self._seconds)
            elif self._count is not None:
                over = number >= int(self._count) + self._warmup
            else:
                over = elapsed >= float(self._seconds or 0)
            if over:
                return None
            self._taken += 1
            return number

    def caller(self, connection: Connection) -> None:
        while (number := self._take()) is not None:
            due = time.monotonic_ns()
            if self._rate is not None:
                due = self.started + int(number / self._rate * 1e9)
                time.sleep(max(0.0, (due - time.monotonic_ns()) / 1e9))
            sent = time.monotonic_ns()
            try:
                status = connection.post(self._method, self._body)
                right = status == self._expect if self._expect else 200 <= status < 300
                problem = None if right else f"status {status}"
            except (OSError, ValueError) as error:
                connection.close()
                problem = str(error)
            done = time.monotonic_ns()
            if not self._keepalive:
                connection.close()
            with self._lock:
                if problem is not None:
                    self._errors += 1
                    self._error_sample = self._error_sample or problem
                elif number >= self._warmup:
                    self._latencies.append((done - due) // 1000)
                    self._service.append((done - sent) // 1000)

    def reply(self) -> dict[str, Any]:
        return {
            "latencies_us": self._latencies,
            "service_us": self._service,
            "errors": self._errors,
            "error_sample": self._error_sample,
            "started_mono_ns": self.started,
            "ended_mono_ns": time.monotonic_ns(),
        }


def main() -> None:
    client = "stock"
    clients: dict[int, RawClient] = {}
    for line in sys.stdin:
        command = json.loads(line)
        name = command.get("cmd")
        reply: dict[str, Any] = {}
        if name == "hello":
            client = command["client"]
            reply = {
                "protocol": 1,
                "client": client,
                "adapter": "raw",
                "version": None,
                "base": {"name": "socket", "version": platform.python_version()},
                "runtime": f"CPython {platform.python_version()}",
                "pid": os.getpid(),
                "apis": ["socket"],
                "capabilities": ["load", "concurrency", "shared_clock"],
            }
        elif name == "open":
            bad = client == "control"
            reply = {"client_id": len(clients) + 1}
            clients[reply["client_id"]] = RawClient(command.get("options") or {}, bad, bad)
        elif name == "load":
            reply = clients[command["client_id"]].load(command)
        elif name == "close":
            clients.pop(command["client_id"]).close()
            reply = {"ok": True}
        elif name == "bye":
            reply = {"ok": True}
        else:
            reply = {"skipped": f"the raw driver has no {name}"}
        print(json.dumps({"seq": command["seq"], **reply}), flush=True)
        if name == "bye":
            return


if __name__ == "__main__":
    main()
