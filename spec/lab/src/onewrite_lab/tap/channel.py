"""One accepted connection of the tap: bytes in and out, plain or TLS, with the kernel's counts beside them.

TLS runs over memory buffers, so the raw bytes pass through here. They are cut into records before they are
decrypted, one at a time. So the records of the handshake are separate from those that carry a request: in TLS 1.3
the client's Finished has the type of application data.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from onewrite_lab.witness import tcpinfo

__all__ = ["Channel", "Piece", "drop_incoming", "restore_incoming"]

_SO_ATTACH_FILTER = 26
_SO_DETACH_FILTER = 27


@dataclass
class Piece:
    """Bytes that came together: one read of a plain socket, or one TLS record."""

    data: bytes
    t_ns: int


class Channel:
    """Plain until `start_tls`."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.peer_port: int = sock.getpeername()[1]
        self.local_port: int = sock.getsockname()[1]
        self.tls = False
        self.tls_version: str | None = None
        self.raw_in = 0  # bytes taken from the kernel
        self._object: ssl.SSLObject | None = None
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._raw = bytearray()  # bytes taken from the kernel that are not yet a whole record
        # (data segments, at the moment when exactly the handshake had been consumed); None when that moment was missed
        self.handshake_segments: int | None = None
        self.hello_segments = 0
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    # -- the kernel's view --------------------------------------------------------------------------------

    def info(self) -> tcpinfo.TcpInfo | None:
        return tcpinfo.read(self.sock)

    def consumed_all(self, info: tcpinfo.TcpInfo) -> bool:
        """Whether all bytes that had arrived at that snapshot have been read."""
        # bytes_received counts the peer's FIN as one byte.
        return not self._raw and info.bytes_received - self.raw_in in (0, 1)

    # -- reading ------------------------------------------------------------------------------------------

    def receive(self, timeout: float | None) -> Piece | None:
        """Return the next piece, an empty piece at the end of the stream, or None when the time ran out.

        Raises OSError when the connection broke, ssl.SSLError when TLS did.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            if self._object is not None:
                record = self._next_record()
                if record is not None:
                    plain = self._decrypt(record)
                    if plain is None:
                        return Piece(b"", time.monotonic_ns())
                    if plain:
                        return Piece(plain, time.monotonic_ns())
                    continue
            data = self._read_raw(deadline)
            if data is None:
                return None
            if not data:
                return Piece(b"", time.monotonic_ns())
            if self._object is None:
                return Piece(data, time.monotonic_ns())
            self._raw += data

    def _read_raw(self, deadline: float | None) -> bytes | None:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        readable, _, _ = select.select([self.sock], [], [], wait)
        if not readable:
            return None
        data = self.sock.recv(1 << 18)
        self.raw_in += len(data)
        return data

    def _next_record(self) -> bytes | None:
        if len(self._raw) < 5:
            return None
        length = 5 + int.from_bytes(self._raw[3:5], "big")
        if len(self._raw) < length:
            return None
        record = bytes(self._raw[:length])
        del self._raw[:length]
        return record

    def _decrypt(self, record: bytes) -> bytes | None:
        """The plaintext of one record; b"" when it carried no request bytes, None at close_notify."""
        assert self._object is not None
        self._incoming.write(record)
        try:
            return self._object.read(1 << 18) or None
        except ssl.SSLWantReadError:
            self._flush()
            return b""
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return None

    # -- TLS ----------------------------------------------------------------------------------------------

    def start_tls(self, context: ssl.SSLContext, timeout: float, on_hello: Callable[[], None] | None = None) -> None:
        """Serve a handshake; `on_hello` is called when its first bytes have come, before they are answered.

        Raises ssl.SSLError, OSError, TimeoutError.
        """
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        deadline = time.monotonic() + timeout
        while True:
            try:
                self._object.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush()
                info = self.info()
                if info is not None and self.consumed_all(info):
                    self.hello_segments = info.data_segs_in
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    self._flush()  # the alert
                raise
            record = self._next_record()
            while record is None:
                data = self._read_raw(deadline)
                if data is None:
                    raise TimeoutError("no TLS handshake in time")
                if not data:
                    raise ConnectionResetError("the client closed during the TLS handshake")
                if on_hello is not None:
                    on_hello()
                    on_hello = None
                self._raw += data
                record = self._next_record()
            self._incoming.write(record)
        info = self.info()
        if info is not None and self.consumed_all(info):
            self.handshake_segments = info.data_segs_in
        self._flush()
        self.tls = True
        self.tls_version = self._object.version()

    def _flush(self) -> None:
        data = self._outgoing.read()
        if data:
            self.sock.sendall(data)

    # -- writing and ending -------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Send in one write."""
        if self._object is None:
            self.sock.sendall(data)
        else:
            view = memoryview(data)
            while view:
                view = view[self._object.write(view) :]
            self._flush()

    def nagle(self, on: bool) -> None:
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0 if on else 1)

    def reset(self) -> None:
        """End the connection with RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self, *, linger_s: float = 0.0) -> None:
        """End the connection with FIN; `linger_s` reads on for so long, so that unread bytes make no RST."""
        try:
            if self._object is not None and self.tls:
                # unwrap() sends close_notify and then wants the peer's, which is not waited for.
                with contextlib.suppress(ssl.SSLError):
                    self._object.unwrap()
                self._flush()
            self.sock.shutdown(socket.SHUT_WR)
            if linger_s:
                deadline = time.monotonic() + linger_s
                while self._read_raw(deadline):
                    pass
        except OSError:
            pass
        self.sock.close()


def drop_incoming(sock: socket.socket) -> None:
    """Lose every packet that comes for this socket: a classic BPF program of one instruction, `return 0`."""
    import ctypes

    program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    prog = struct.pack("HxxxxxxP", 1, ctypes.addressof(program))
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, prog)


def restore_incoming(sock: socket.socket) -> None:
    """Undo `drop_incoming`."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)
