"""A server for tests that sees what arrives: bytes, TCP data segments, TLS records, TCP_NODELAY aside.

One thread per connection, a plain loop over a real socket. Segments are read from the kernel
(TCP_INFO, tcpi_data_segs_in) when a request is complete, before it is answered.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import select
import socket
import ssl
import struct
import threading
import time
import typing

DATA_SEGS_IN = 152


def segments_in(sock: socket.socket) -> int:
    return struct.unpack_from("=I", sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160), DATA_SEGS_IN)[0]


def until(condition: typing.Callable[[], object]) -> None:
    """Wait until *condition* holds."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.0005)


def until_readable(http: typing.Any, url: str) -> None:
    """Wait until something, or the end, has come on the idle connection to *url*, if there is one."""
    socks = [conn.sock for conn in http.connection_from_url(url).pool.queue if conn is not None and conn.sock]
    assert all(select.select([sock], [], [], 20)[0] for sock in socks)


class Listener(socket.socket):
    """Listens on *host*, on a free port, or on the Unix socket *path*."""

    def __init__(self, host: str = "127.0.0.1", path: object = None) -> None:
        super().__init__(socket.AF_UNIX if path else socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.bind(str(path) if path else (host, 0))
        self.listen(128)

    def close(self) -> None:
        # Else a thread stays in accept(), and may accept for the socket that gets this one's number.
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)
        super().close()


def accepted(listener: socket.socket) -> typing.Iterator[socket.socket]:
    """The connections of *listener*, until it is closed."""
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        yield sock


def listening(handle: typing.Callable[[socket.socket], object], path: object = None) -> socket.socket:
    """A listener on a free port, or on the Unix socket *path*: *handle* gets its connections one by one."""
    listener = Listener(path=path)

    def serve() -> None:
        for sock in accepted(listener):
            with sock, contextlib.suppress(OSError, EOFError):
                handle(sock)

    threading.Thread(target=serve, daemon=True).start()
    return listener


@contextlib.contextmanager
def waiting_for_a_body() -> typing.Iterator[tuple[str, threading.Event, list[bytes]]]:
    """A server's URL, an event that is set when a head has come, and the chunked bodies that came, as they came."""
    arrived, bodies = threading.Event(), list[bytes]()

    def answer(sock: socket.socket) -> None:
        peer = Peer(sock, 1, None)
        peer.until(b"\r\n\r\n")
        arrived.set()
        bodies.append(peer.until(b"0\r\n\r\n"))
        peer.send(reply())

    with listening(answer) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/", arrived, bodies


@dataclasses.dataclass
class Seen:
    """One request as it arrived."""

    head: bytes
    body: bytes
    segments: int
    records: int
    connection: int
    raw: bytes = b""

    @property
    def line(self) -> str:
        return self.head.split(b"\r\n", 1)[0].decode("latin-1")

    def header(self, name: str) -> str | None:
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.lower().encode():
                return value.strip().decode("latin-1")
        return None


class Peer:
    """One accepted connection, plain or TLS, read record by record."""

    def __init__(self, sock: socket.socket, number: int, context: ssl.SSLContext | None) -> None:
        self.sock = sock
        self.number = number
        self.buffer = bytearray()
        self.records = 0
        # The kernel's count when the last request was complete; after the answer it may include the next request.
        self.segments = 0
        self.tls: ssl.SSLObject | None = None
        self._wire = b""
        if context is not None:
            self.start_tls(context)

    def start_tls(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._push()
                self._feed()
        self.tls = tls
        self.segments = segments_in(self.sock)
        self._push()

    def _push(self) -> None:
        data = self._outgoing.read()
        if data:
            self.sock.sendall(data)

    def _feed(self) -> None:
        """One TLS record to the TLS machine: its header says how long it is (RFC 8446, 5.1)."""
        while len(self._wire) < 5 or len(self._wire) < 5 + struct.unpack_from("!H", self._wire, 3)[0]:
            data = self.sock.recv(65536)
            if not data:
                raise EOFError
            self._wire += data
        end = 5 + struct.unpack_from("!H", self._wire, 3)[0]
        if self.tls is not None:
            self.records += 1
        self._incoming.write(self._wire[:end])
        self._wire = self._wire[end:]

    def recv(self) -> bytes:
        if self.tls is None:
            return self.sock.recv(1 << 20)
        while True:
            try:
                return self.tls.read(1 << 20)
            except ssl.SSLWantReadError:
                self._feed()
            except ssl.SSLZeroReturnError:
                return b""

    def send(self, data: bytes) -> None:
        if self.tls is None:
            self.sock.sendall(data)
            return
        self.tls.write(data)
        self._push()

    def _more(self) -> None:
        data = self.recv()
        if not data:
            raise EOFError
        self.buffer += data

    def until(self, mark: bytes) -> bytes:
        while (at := self.buffer.find(mark)) < 0:
            self._more()
        return self.exactly(at + len(mark))

    def exactly(self, size: int) -> bytes:
        while len(self.buffer) < size:
            self._more()
        found = bytes(self.buffer[:size])
        del self.buffer[:size]
        return found


Answer = typing.Callable[[Peer, Seen], None]


def reply(body: bytes = b"ok", status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def ok(peer: Peer, seen: Seen) -> None:
    peer.send(reply())


class Tap:
    """Serves until closed. A proxy answers CONNECT, and is the origin behind the tunnel as well."""

    def __init__(
        self,
        answer: Answer = ok,
        context: ssl.SSLContext | None = None,
        proxy: bool = False,
        host: str = "127.0.0.1",
    ) -> None:
        self.answer = answer
        self.context = context
        self.proxy = proxy
        self.seen: list[Seen] = []
        self.connects: list[bytes] = []
        self.errors: list[BaseException] = []
        self.connections = 0
        self._open: set[socket.socket] = set()
        self.host = f"[{host}]" if ":" in host else host
        self.listener = Listener(host)
        self.port: int = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def url(self, path: str = "/") -> str:
        return f"{'https' if self.context and not self.proxy else 'http'}://{self.host}:{self.port}{path}"

    def _accept(self) -> None:
        for sock in accepted(self.listener):
            self.connections += 1
            self._open.add(sock)
            threading.Thread(target=self._serve, args=(sock, self.connections), daemon=True).start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            peer = Peer(sock, number, None if self.proxy else self.context)
            while True:
                self._one(peer)
        except (EOFError, OSError):
            pass
        except BaseException as error:
            self.errors.append(error)
        finally:
            sock.close()
            self._open.discard(sock)

    def _one(self, peer: Peer) -> None:
        segments, records = peer.segments, peer.records
        head = peer.until(b"\r\n\r\n")
        if self.proxy and head.startswith(b"CONNECT "):
            self.connects.append(head)
            peer.segments = segments_in(peer.sock)
            peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            if self.context is not None:
                peer.start_tls(self.context)
            return
        seen = Seen(head, b"", 0, 0, peer.number)
        if "chunked" in (seen.header("Transfer-Encoding") or ""):
            raw = b""
            while True:
                line = peer.until(b"\r\n")
                size = int(line.split(b";")[0], 16)
                chunk = peer.exactly(size)
                raw += line + chunk + peer.until(b"\r\n")
                seen.body += chunk
                if not size:
                    break
            seen.raw = raw
        else:
            seen.body = seen.raw = peer.exactly(int(seen.header("Content-Length") or 0))
        peer.segments = segments_in(peer.sock)
        seen.segments = peer.segments - segments
        seen.records = peer.records - records
        self.seen.append(seen)
        self.answer(peer, seen)

    def wait_until_closed(self) -> None:
        """Wait until every connection is closed, after an answer that closes it."""
        until(lambda: not self._open)

    def close(self) -> None:
        self.listener.close()
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def mode(values: typing.Iterable[int]) -> int:
    """The most frequent value: a retransmission or a tail-loss probe may add to a single one."""
    return collections.Counter(values).most_common(1)[0][0]
