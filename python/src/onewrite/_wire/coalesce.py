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
    """Counts what a Writer has written, and takes the time of its first write."""

    bytes_sent: int
    request_start: int
    writes: int

    def first_write(self) -> None:
        """The first bytes are about to be written."""


class Link:
    """What a connection carries: how its requests are written. A seam adds what else it keeps."""

    __slots__ = ("held", "limit", "room", "sock", "watch", "writing")

    def __init__(self) -> None:
        #: The socket whose TCP_NODELAY was checked, until the connection is closed.
        self.sock: typing.Any = None
        self.watch: typing.Any = None
        #: The pieces that wait; None where nothing is held.
        self.held: list[bytes] | None = None
        #: The Writer, while a request is written; True until there is a connection.
        self.writing: typing.Any = None
        #: Up to how many bytes are joined, and how many of them are left; 0 holds nothing.
        self.limit = self.room = 0

    def send(self, data: typing.Any, *flags: typing.Any) -> None:
        """Send *data* now."""
        watch: Watch | None = self.watch
        if watch is None:
            self.sock.sendall(data, *flags)
            return
        if not watch.request_start:
            watch.first_write()
        self.sock.sendall(data, *flags)
        watch.bytes_sent += len(data) if type(data) is bytes else max(_nbytes(data), 0)
        watch.writes += 1

    def flush(self) -> None:
        """Send what is held. What comes later is held again."""
        held = self.held
        if not held:
            return
        self.held = []
        self.room = self.limit
        watch: Watch | None = self.watch
        if watch is None:
            self.sock.sendall(b"".join(held))
        else:
            self.send(b"".join(held))

    def abandon(self) -> None:
        """The base library raised: send what it has written by now, as it would have been sent without a Writer."""
        try:
            self.flush()
        except Exception:
            self.held = None

    def send_many(self, held: list[bytes], data: typing.Any) -> None:
        """Send the pieces *held* and *data* with as few writes as the socket allows."""
        watch: Watch | None = self.watch
        if watch is not None and not watch.request_start:
            watch.first_write()
        with memoryview(data) as whole, whole.cast("B") as view:
            size = sum(map(len, held)) + view.nbytes
            writes = _send_vector(self.sock, held, view) or _send_records(self.sock, held, view, self.limit)
        if watch is not None:
            watch.bytes_sent += size
            watch.writes += writes


class Writer:
    """Stands in for a socket while requests are written.

    What changes is in the link: CPython finds the attributes of a class with a ``__getattr__`` slowly.
    """

    __slots__ = ("_link", "_sock")

    def __init__(self, link: Link, sock: typing.Any) -> None:
        self._link = link
        #: Another thread may close the connection, and *link* has none then.
        self._sock = sock

    def sendall(self, data: typing.Any, *flags: typing.Any) -> None:
        """Send *data* as the socket does, or hold it."""
        link = self._link
        held = link.held
        if held is None:
            link.send(data, *flags)
            return
        if type(data) is bytes and not flags:
            size = len(data)
            # With Expect the body waits for the server, and the head leaves alone.
            fits = size <= link.room if held else b"\nexpect:" not in data.lower()
        elif held and type(data) in _COPIED and not flags:
            size = _nbytes(data)
            fits = 0 <= size <= link.room
        else:
            size, fits = -1, False
        if fits:
            held.append(data if type(data) is bytes else bytes(data))
            link.room -= size
        elif held and size >= 0:
            link.held = None
            link.send_many(held, data)
        else:
            link.flush()
            link.held = None
            link.send(data, *flags)

    # The rest is the socket's.

    def settimeout(self, value: typing.Any) -> None:
        """Set the socket's timeout."""
        self._sock.settimeout(value)

    def __getattr__(self, name: str) -> typing.Any:
        self._link.flush()
        return getattr(self._sock, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance() says of a Writer what it says of the socket
        return type(self._sock)


def _nbytes(data: typing.Any) -> int:
    """Return the size of *data* in bytes; -1 where it has none or is not contiguous: the socket raises for that."""
    try:
        with memoryview(data) as view:
            return view.nbytes if view.c_contiguous else -1
    except Exception:  # a class of the user, or closed meanwhile
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
