"""Network streams in which the head of a request waits for its body.

httpcore writes once for each event of h11: the head, every piece of the body, the end of the message. A head and the
pieces of a body that is at hand wait here for that end, and leave in one write. Everything else passes at once:
bodies that may block, the CONNECT of a tunnel, HTTP/2, what follows an upgrade.
"""

from __future__ import annotations

import ssl
import typing

from .._timing.connection import Connection
from .exchange import Exchange, current

#: The last write of a message: nothing where its length was announced.
_ENDS = (b"", b"0\r\n\r\n")


class _HoldingStream:
    """What both kinds of stream share: the bytes that are held."""

    def __init__(self, stream: typing.Any, limit: int, connection: Connection) -> None:
        self._stream = stream
        self._limit = limit
        #: The connection as the records know it; the same before and after start_tls().
        self.connection = connection
        self._pieces: list[bytes] = []
        self._size = 0
        self._joining = self._ended = False
        self._timeout: float | None = None

    def _due(self, data: bytes, timeout: float | None) -> tuple[bytes | memoryview, ...]:
        """What to write now, of the bytes that are held and of *data*."""
        if not self._joining:
            exchange = current.get()
            if exchange is None or exchange.stream is not None or not data.startswith(exchange.opening):
                return (data,)
            if not data.endswith(b"\r\n\r\n"):
                return (data,)
            exchange.acquired(self)
            self._joining, self._ended = exchange.may_wait and self._limit > 0, False
            if not self._joining:
                return (data,)
        elif data in _ENDS:
            self._joining, self._ended = False, True
            return self._joined(data)
        self._timeout = timeout
        if self._size + len(data) < self._limit:
            self._pieces.append(data)
            self._size += len(data)
            return ()
        return self._joined(data)

    def _joined(self, data: bytes) -> tuple[bytes | memoryview, ...]:
        """The held bytes and *data*: joined up to the limit, the rest uncopied."""
        waiting = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        room = max(self._limit - len(waiting), 0)
        if len(data) <= room:
            return (waiting + data,)
        view = memoryview(data)
        return (waiting + view[:room], view[room:])

    def _overdue(self) -> tuple[bytes | memoryview, ...]:
        """The bytes that are still held when the caller reads before the end of the message."""
        self._joining = False
        return self._joined(b"") if self._pieces else ()

    def _noting(self) -> Exchange | None:
        """The exchange to report to, if it is recorded."""
        exchange = current.get()
        return exchange if exchange is not None and exchange.stream is self and exchange.attempt is not None else None

    def __repr__(self) -> str:
        return repr(self._stream)  # httpcore logs it

    def get_extra_info(self, info: str) -> typing.Any:
        """As the stream below."""
        return self._stream.get_extra_info(info)


class Stream(_HoldingStream):
    """A blocking network stream (httpcore's NetworkStream)."""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write *buffer*, or hold it."""
        self._write(self._due(buffer, timeout), timeout)

    def _write(self, due: tuple[bytes | memoryview, ...], timeout: float | None) -> None:
        exchange = self._noting() if due else None
        for data in due:
            if exchange is not None and data:
                exchange.sending()
            self._stream.write(data, timeout)
            if exchange is not None and data:
                exchange.sent(len(data), self._ended and data is due[-1])

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Write what is held, then read."""
        if self._joining:
            self._write(self._overdue(), self._timeout)
        exchange = self._noting()
        if exchange is not None:
            exchange.awaiting()
        data: bytes = self._stream.read(max_bytes, timeout)
        if exchange is not None:
            exchange.received(data)
        return data

    def close(self) -> None:
        """Close; held bytes are not sent."""
        self._stream.close()
        self.connection.closed()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> Stream:
        """The same over TLS."""
        return Stream(self._stream.start_tls(ssl_context, server_hostname, timeout), self._limit, self.connection)


class AsyncStream(_HoldingStream):
    """A network stream of asyncio or trio (httpcore's AsyncNetworkStream)."""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write *buffer*, or hold it."""
        await self._write(self._due(buffer, timeout), timeout)

    async def _write(self, due: tuple[bytes | memoryview, ...], timeout: float | None) -> None:
        exchange = self._noting() if due else None
        for data in due:
            if exchange is not None and data:
                exchange.sending()
            await self._stream.write(data, timeout)
            if exchange is not None and data:
                exchange.sent(len(data), self._ended and data is due[-1])

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Write what is held, then read."""
        if self._joining:
            await self._write(self._overdue(), self._timeout)
        exchange = self._noting()
        if exchange is not None:
            exchange.awaiting()
        data: bytes = await self._stream.read(max_bytes, timeout)
        if exchange is not None:
            exchange.received(data)
        return data

    async def aclose(self) -> None:
        """Close; held bytes are not sent."""
        await self._stream.aclose()
        self.connection.closed()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> AsyncStream:
        """The same over TLS."""
        stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return AsyncStream(stream, self._limit, self.connection)
