"""Servers with one fault each that makes a client wait, whatever the client does."""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import threading
import time
from collections.abc import Callable

from origin import ANSWER
from wire import Reader

__all__ = ["drop_all", "lossy", "serve", "slow", "splitting", "stop_dropping"]

_SO_ATTACH_FILTER, _SO_DETACH_FILTER, _SO_MEMINFO, _MEMINFO_DROPS = 26, 27, 55, 8

Answer = Callable[[socket.socket, int], None]


def drop_all(sock: socket.socket) -> None:
    """Make the kernel drop every segment that arrives for this socket: a one-instruction filter, no root needed."""
    program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(program)))


def stop_dropping(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)


def dropped(sock: socket.socket) -> int:
    """How many segments for this socket were dropped."""
    return int(struct.unpack_from("=I", sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 36), 4 * _MEMINFO_DROPS)[0])


def lose_one(sock: socket.socket, timeout_s: float = 2) -> None:
    """Drop the next segment, then no more."""
    before = dropped(sock)
    drop_all(sock)

    def watch() -> None:
        deadline = time.monotonic() + timeout_s
        with contextlib.suppress(OSError):
            while dropped(sock) == before and time.monotonic() < deadline:
                time.sleep(0.0001)  # lets the other threads of this process run
        stop_dropping(sock)

    threading.Thread(target=watch, daemon=True).start()


def serve(answer: Answer, *, nodelay: bool = True) -> int:
    """A keep-alive server on a port of the kernel's choice that answers in the given way: its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def connection(sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
        reader, number = Reader(sock), 0
        with contextlib.suppress(OSError, EOFError, ValueError):
            while True:
                _, fields = reader.head()
                reader.body(fields)
                number += 1
                answer(sock, number)
        sock.close()

    def accept() -> None:
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=connection, args=(sock,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return int(listener.getsockname()[1])


def slow(sock: socket.socket, number: int) -> None:
    """Needs 45 ms for every answer."""
    time.sleep(0.045)
    sock.sendall(ANSWER)


def splitting(sock: socket.socket, number: int) -> None:
    """Writes head and body of its answer apart; with Nagle on, the client's delayed ACK holds the body."""
    head, _, body = ANSWER.partition(b"\r\n\r\n")
    sock.sendall(head + b"\r\n\r\n")
    sock.sendall(body)


def lossy(sock: socket.socket, number: int) -> None:
    """Loses one segment of every fourth request, its first. The client must pause 30 ms between requests."""
    sock.sendall(ANSWER)
    if number % 4 == 3:
        time.sleep(0.02)  # a pure ACK of this answer must not be what is lost
        lose_one(sock)
