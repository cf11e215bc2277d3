"""Head and body to the kernel in one write.

A Writer stands in for a connection's socket while the base library writes one request. It holds the pieces that the
base library writes and sends them together:

- up to ``coalesce_max`` bytes are joined: one write on any socket, one segment where it fits, one TLS record;
- more than that on a plain socket is one ``sendmsg`` of the pieces, and nothing is copied;
- more than that on any other socket fills the first TLS record, and the rest is sent from a view.

Held is only what cannot change: bytes, or a copy that is made at once. Any other use of the socket sends first what is
held.
"""

from __future__ import annotations

import _socket
import array
import ssl
import typing

_COPIED: frozenset[type] = frozenset((bytearray, memoryview, array.array))
_Plain = _socket.socket


class Watch(typing.Protocol):
    """Has the time of the first write, and counts what a Writer has written."""

    bytes_sent: int
    writes: int

    def before_write(self) -> None:
        """Bytes are about to be written."""


class Writer:
    """Stands in for a socket while one request is written."""

    __slots__ = ("_limit", "_room", "_watch", "held", "sock")

    def __init__(self, sock: typing.Any, limit: int, watch: Watch | None) -> None:
        """Join up to *limit* bytes; 0 holds nothing."""
        self.sock = sock
        self._limit = self._room = limit
        self._watch = watch
        self.held: list[bytes] | None = [] if limit else None

    def sendall(self, data: typing.Any, *flags: typing.Any) -> None:
        """Send *data* as the socket does, or hold it."""
        held = self.held
        if held is not None:
            size = -1
            if type(data) is bytes and not flags:
                size = len(data)
            elif type(data) in _COPIED and not flags:
                size = _nbytes(data)
            # With Expect the body waits for the server, and the head leaves alone.
            if size >= 0 and (size <= self._room if held else type(data) is bytes and b"\nexpect:" not in data.lower()):
                held.append(bytes(data))
                self._room -= size
                return
            if held and size >= 0:
                self.held = None
                self._send_many(held, data)
                return
            self.flush()
            self.held = None
        self._send(data, *flags)

    def _send(self, data: typing.Any, *flags: typing.Any) -> None:
        watch = self._watch
        if watch is not None:
            watch.before_write()
        self.sock.sendall(data, *flags)
        if watch is not None:
            watch.bytes_sent += len(data) if type(data) is bytes else _nbytes(data)
            watch.writes += 1

    def flush(self) -> None:
        """Send what is held. What comes later is held again."""
        held = self.held
        if held:
            self.held = []
            self._room = self._limit
            self._send(b"".join(held))

    def abandon(self) -> None:
        """The base library raised: send what it has written by now, as it would have been sent without a Writer."""
        try:
            self.flush()
        except Exception:
            self.held = None

    def _send_many(self, held: list[bytes], data: typing.Any) -> None:
        watch = self._watch
        if watch is not None:
            watch.before_write()
        with memoryview(data) as whole, whole.cast("B") as view:
            size = sum(map(len, held)) + view.nbytes
            writes = _send_vector(self.sock, held, view) or _send_records(self.sock, held, view, self._limit)
        if watch is not None:
            watch.bytes_sent += size
            watch.writes += writes

    # The rest is the socket's.

    def settimeout(self, value: typing.Any) -> None:
        """Set the socket's timeout."""
        self.sock.settimeout(value)

    def __getattr__(self, name: str) -> typing.Any:
        self.flush()
        return getattr(self.sock, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance() says of a Writer what it says of the socket
        return type(self.sock)


def _nbytes(data: typing.Any) -> int:
    """Return the size of *data* in bytes; -1 where it has none or is not contiguous: the socket raises for that."""
    try:
        with memoryview(data) as view:
            return view.nbytes if view.c_contiguous else -1
    except TypeError:
        return -1


def _send_vector(sock: typing.Any, held: list[bytes], view: memoryview) -> int:
    """Send all by sendmsg; return the number of writes, 0 where *sock* has send methods of its class.

    Such a class (a counter, gevent's, TLS) gets all bytes by its sendall.
    """
    cls = type(sock)
    if not held or len(held) > 15 or not hasattr(cls, "sendmsg"):
        return 0
    if cls.sendmsg is not _Plain.sendmsg or cls.sendall is not _Plain.sendall or cls.send is not _Plain.send:
        return 0
    if hasattr(sock, "__dict__") and not {"send", "sendall", "sendmsg"}.isdisjoint(vars(sock)):
        return 0
    sent = sock.sendmsg([*held, view])
    writes = 1
    for piece in held:
        if sent < len(piece):
            sock.sendall(piece[sent:])
            writes += 1
        sent = max(sent - len(piece), 0)
    if sent < view.nbytes:
        with view[sent:] as rest:
            sock.sendall(rest)
        writes += 1
    return writes


def _send_records(sock: typing.Any, held: list[bytes], view: memoryview, limit: int) -> int:
    """Send the first *limit* bytes joined and the rest from a view; return the number of writes."""
    head = b"".join(held)
    room = max(limit - len(head), 0)
    with view[:room] as first:
        sock.sendall(head + first)
    with view[room:] as rest:
        # A class of the user may keep what it gets, or rely on its type.
        sock.sendall(rest if type(sock) is ssl.SSLSocket else bytes(rest))
    return 2
