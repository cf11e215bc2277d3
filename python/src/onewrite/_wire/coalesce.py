"""Head and body to the kernel in one write.

http.client and urllib3 hand the head and each piece of the body to ``send`` one by one. The pieces are held
until they can leave together:

- up to ``coalesce_max`` bytes they are joined, one write on any socket: one segment where it fits,
  one TLS record;
- more than that on a plain socket is one ``sendmsg`` of the pieces, nothing is copied;
- more than that on anything else fills the first TLS record and sends the rest from a view.

Only bodies that cannot block are held (see ``body.kind``).
"""

from __future__ import annotations

import socket
import typing

#: A body read in pieces is held until this much is at hand: one full TLS record.
HOLD_LIMIT = 16384

Piece = bytes | memoryview


def write(sock: typing.Any, pieces: list[Piece], coalesce_max: int) -> int:
    """Send *pieces*, bytes and views of bytes; return the number of writes it took.

    Errors are those of the socket's own ``sendall``; a timeout of the socket holds for each write.
    """
    if len(pieces) == 1:
        sock.sendall(pieces[0])
        return 1
    if sum(map(len, pieces)) <= coalesce_max:
        sock.sendall(b"".join(pieces))
        return 1
    # gevent's and the standard library's own class have a sendmsg that honours timeouts; SSLSocket's
    # raises, eventlet's GreenSocket and Windows have none.
    if type(sock) is socket.socket and hasattr(sock, "sendmsg") and len(pieces) <= 16:
        return _write_vector(sock, pieces)
    return _write_records(sock, pieces, coalesce_max)


def _write_vector(sock: socket.socket, pieces: list[Piece]) -> int:
    views = [memoryview(piece) for piece in pieces]
    sent = sock.sendmsg(views)
    writes = 1
    for view in views:
        if sent >= view.nbytes:
            sent -= view.nbytes
            continue
        # The kernel's buffer was full: the rest goes the ordinary way, which waits for room.
        sock.sendall(view[sent:] if sent else view)
        sent = 0
        writes += 1
    return writes


def _write_records(sock: typing.Any, pieces: list[Piece], record: int) -> int:
    """Fill the first record across pieces; send what is left from views, each record as full as can be."""
    writes = 0
    pending = bytearray()
    for piece in pieces:
        view = memoryview(piece)
        if pending or view.nbytes < record:
            room = max(record - len(pending), 0)
            if pending and not room:
                sock.sendall(pending)
                writes, pending, room = writes + 1, bytearray(), record
            pending += view[:room]
            view = view[room:]
            if len(pending) >= record and view.nbytes:
                sock.sendall(pending)
                writes, pending = writes + 1, bytearray()
        if view.nbytes >= record:
            sock.sendall(view)
            writes += 1
        elif view.nbytes:
            pending += view
    if pending:
        sock.sendall(pending)
        writes += 1
    return writes
