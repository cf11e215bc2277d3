"""Servers and relays of every kind that the doctor must distinguish."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme
from onewrite_lab.witness import tcpinfo

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\n"


class Listener:
    """Hands each accepted connection to `serve`, in a new thread, or in one of so many `threads`."""

    def __init__(self, serve: Callable[[socket.socket], None], host: str = "127.0.0.1", threads: int = 0) -> None:
        self._serve, self._threads = serve, threads
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, 0), family=family, backlog=64)
        self.port: int = self._socket.getsockname()[1]
        for _ in range(max(1, threads)):
            threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._socket.accept()
                if self._threads:
                    self._serve(sock)
                else:
                    threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class Server:
    """Answers each request; `quick` acknowledges every segment at once, `split` answers in two writes with Nagle on."""

    def __init__(
        self,
        *,
        quick: bool = False,
        split: bool = False,
        close: bool = False,
        think_s: float = 0.0,
        status: bytes = b"200 OK",
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        threads: int = 0,
    ) -> None:
        self.quick, self.split, self.close_each, self.think_s, self.tls = quick, split, close, think_s, tls
        self.head = ANSWER.replace(b"200 OK", status)
        if close:
            self.head = self.head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        self.heads: list[bytes] = []
        listener = Listener(self._serve, host, threads)
        self.port = listener.port
        self.close = listener.close

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/"

    def _serve(self, raw: socket.socket) -> None:
        with raw, contextlib.suppress(OSError, ValueError):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not self.split)
            with self.tls.wrap_socket(raw, server_side=True) if self.tls else raw as sock:
                while self._one_request(sock):
                    pass

    def _one_request(self, sock: socket.socket) -> bool:
        """Read one and answer it; True when the connection goes on."""
        received = b""
        while not _whole(received):
            self._quick(sock)
            data = sock.recv(65536)
            if not data:
                return False
            received += data
        self.heads.append(received.partition(b"\r\n\r\n")[0])
        time.sleep(self.think_s)
        if self.split:
            sock.sendall(self.head)
            sock.sendall(b"ok\n")
        else:
            sock.sendall(self.head + b"ok\n")
        return not self.close_each

    def _quick(self, sock: socket.socket) -> None:
        if self.quick:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def _whole(received: bytes) -> bool:
    head, end, body = received.partition(b"\r\n\r\n")
    if not end:
        return False
    lengths = [line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    return len(body) >= (int(lengths[0]) if lengths else 0)


class ReadsOnce(Server):
    """Takes one segment for the whole request, as small devices do that read once: less is 400, or a reset.

    One read may bring both pieces where the device is slow: every `lucky`-th request in pieces is answered.
    """

    def __init__(self, *, reset: bool = False, lucky: int = 0) -> None:
        super().__init__()
        self._reset, self._lucky = reset, lucky
        self._requests: Counter[tuple[str, int]] = Counter()  # by connection
        self._in_pieces = 0

    def _one_request(self, sock: socket.socket) -> bool:
        received = sock.recv(65536)
        if not received:
            return False
        peer = sock.getpeername()
        self._requests[peer] += 1
        info = tcpinfo.read(sock)
        if info is not None and info.data_segs_in == self._requests[peer] and _whole(received):
            sock.sendall(self.head + b"ok\n")
            return True
        self._in_pieces += 1
        if self._lucky and self._in_pieces % self._lucky == 0:
            while not _whole(received):
                received += sock.recv(65536)
            sock.sendall(self.head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + b"ok\n")
            return False
        if not self._reset:
            sock.sendall(
                ANSWER.replace(b"200 OK", b"400 Bad Request").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + b"ok\n"
            )
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65536):
                pass
        return False


class Relay:
    """Passes bytes on, each piece as it comes, with Nagle on towards the server; `quick` acknowledges the client at once."""

    def __init__(self, port: int, *, quick: bool = True) -> None:
        self._to, self._quick = port, quick
        listener = Listener(self._both_ways)
        self.url = f"http://127.0.0.1:{listener.port}/"
        self.close = listener.close

    def _both_ways(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = socket.create_connection(("127.0.0.1", self._to))
        threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()
        self._pass(client, server, self._quick)

    @staticmethod
    def _pass(source: socket.socket, sink: socket.socket, quick: bool) -> None:
        with source, contextlib.suppress(OSError):
            while True:
                if quick:
                    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                data = source.recv(65536)
                if not data:
                    break
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def dead_port() -> Iterator[int]:
    """A port that refuses connections until the block ends: it is bound, and nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@contextlib.contextmanager
def program(command: list[str], listener: socket.socket, **env: str) -> Iterator[str]:
    """The URL of a server program, which gets a listening socket, so that nobody else can take the port first."""
    with listener:
        port = listener.getsockname()[1]
        child = subprocess.Popen(command, env={**os.environ, **env}, pass_fds=[listener.fileno()], stdout=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        child.terminate()
        child.wait(60)


def installed(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@contextlib.contextmanager
def haproxy(origin: int, setting: str = "") -> Iterator[str]:
    """HAProxy in http mode before the origin, with one more line in its frontend."""
    command, listener = installed("haproxy"), socket.create_server(("127.0.0.1", 0))
    text = f"""
defaults
  mode http
  timeout client 30s
  timeout server 30s
  timeout connect 5s
frontend f
  bind fd@{listener.fileno()}
  {setting}
  default_backend b
backend b
  server s 127.0.0.1:{origin}
"""
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / "haproxy.cfg"
        configuration.write_text(text)
        with program([command, "-db", "-f", str(configuration)], listener) as url:
            yield url


@contextlib.contextmanager
def nginx(origin: int) -> Iterator[str]:
    """nginx as a reverse proxy, as it comes."""
    command, listener = installed("nginx"), socket.create_server(("127.0.0.1", 0))
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / "nginx.conf"
        temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        configuration.write_text(
            f"daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; {temporary} "
            f"keepalive_requests 100000; server {{ listen 127.0.0.1:{listener.getsockname()[1]}; "
            f"location / {{ proxy_pass http://127.0.0.1:{origin}; }} }} }}"
        )
        Path(folder).chmod(0o755)
        # So nginx hands its sockets to the next binary in an upgrade.
        with program([command, "-c", str(configuration), "-p", folder], listener, NGINX=f"{listener.fileno()};") as url:
            yield url


def tls_server(folder: Path, name: str = "127.0.0.1", protocols: list[str] | None = None, threads: int = 0) -> tuple[Server, str]:
    """A server with a certificate for `name`, and the authority's file."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    if protocols:
        context.set_alpn_protocols(protocols)
    ca_file = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    return Server(tls=context, threads=threads), str(ca_file)


Peer = Callable[[], contextlib.AbstractContextManager[str]]


@contextlib.contextmanager
def origin(**how: bool) -> Iterator[str]:
    server = Server(**how)  # type: ignore[arg-type]
    try:
        yield server.url
    finally:
        server.close()


@contextlib.contextmanager
def behind(make: Callable[[int], contextlib.AbstractContextManager[str]], **how: bool) -> Iterator[str]:
    """A proxy before an origin."""
    server = Server(**how)  # type: ignore[arg-type]
    try:
        with make(server.port) as url:
            yield url
    finally:
        server.close()


@contextlib.contextmanager
def nagle_relay(*, quick: bool = True) -> Iterator[str]:
    server = Server()
    relay = Relay(server.port, quick=quick)
    try:
        yield relay.url
    finally:
        relay.close()
        server.close()
