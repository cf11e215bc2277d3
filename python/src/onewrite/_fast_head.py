"""A response head read by one strict regular expression, or by the standard parser.

The grammar is narrower than RFC 9112, 2 to 5: a status line of HTTP/1.0 or 1.1, header lines of
``token ":" value`` with printable ASCII and tabs, no folding, at most a hundred lines, the whole head
in the buffer after one read. What does not match is still in the buffer when the standard parser comes.
"""

from __future__ import annotations

import http.client
import re
import typing

from . import _moments, _record
from ._timing import Attempt

_LINE = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[ \t]*(?:[\x21-\x7e][\x20-\x7e\t]*)?\r\n"
match_head = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2}) ([\x20-\x7e]*)\r\n((?:" + _LINE + rb")*)\r\n").match
match_lines = re.compile(r"([^:\r\n]+):[ \t]*([^\r\n]*)\r\n").findall

#: http.client refuses more header lines than this, the empty one aside; so it is asked.
MOST_LINES = 99
#: The largest size that a read of a chunk can be asked for.
LARGEST = 2**63 - 1

#: Header lines: name and value.
Items = list[tuple[str, str]]


def parse(data: bytes) -> tuple[int, int, str, Items, int] | None:
    """(version, status, reason, headers, length of the head) of a plain head at the start of *data*, or None."""
    found = match_head(data)
    if found is None:
        return None
    version, status, reason, lines = found.groups()
    items = match_lines(lines.decode("ascii"))
    if len(items) > MOST_LINES:
        return None
    return (11 if version == b"1" else 10, int(status), reason.decode("ascii").strip(), items, found.end())


def _interim(data: bytes) -> bool:
    """Whether *data* begins an interim response that is not plain, or has not come whole."""
    return data[:7] == b"HTTP/1." and data[8:10] == b" 1" and data[9:12] != b"101" and data[10:12].isdigit()


def message(items: Items) -> http.client.HTTPMessage:
    """The message that email.parser would make of *items*."""
    made = http.client.HTTPMessage()
    made._headers = list(items)  # type: ignore[attr-defined]
    made._payload = ""  # type: ignore[attr-defined]
    return made


def fields_of(items: Items) -> dict[str, list[str]]:
    """Header lines as HTTPHeaderDict keeps them: lower-case name to name and values."""
    fields: dict[str, list[str]] = {}
    for name, value in items:
        lower = name.lower()
        if lower in fields:
            fields[lower].append(value)
        else:
            fields[lower] = [name, value]
    return fields


class Response(http.client.HTTPResponse):
    """http.client's response whose plain heads are parsed the short way."""

    # None until the head has come in the short way.
    _items: Items | None = None
    #: As HTTPHeaderDict keeps them: lower-case name to name and values.
    _fields: dict[str, list[str]]
    _attempt: Attempt | None = None
    _conn: typing.Any = None
    #: When the bytes that are in the buffer were read, where that was before the response was made.
    _read_at = 0
    _message: http.client.HTTPMessage | None = None

    @property
    def headers(self) -> typing.Any:
        """The head as a message, made when someone asks for it."""
        if self._message is None and self._items is not None:
            self._message = message(self._items)
        return self._message

    @headers.setter
    def headers(self, value: typing.Any) -> None:
        self._message = value

    msg = headers

    def begin(self) -> None:
        """Read the head: see :meth:`http.client.HTTPResponse.begin`."""
        file = self.fp
        if self._items is not None or self._message is not None:
            return
        if "_read_status" in self.__dict__ or self.debuglevel > 0 or not hasattr(file, "peek"):
            super().begin()
            return
        attempt = self._attempt
        while True:
            data = file.peek(1)
            if attempt is not None:
                t_ns = self._read_at or _record.now()
                self._read_at = 0
            found = parse(data)
            if found is None:
                if not _interim(data):
                    self._read_at = t_ns if attempt is not None else 0
                    break
                status = super()._read_status()[1]  # type: ignore[misc]
                http.client._read_headers(file)  # type: ignore[attr-defined]
                if attempt is not None:
                    _moments.informational(attempt, status)
                continue
            version, status, reason, items, end = found
            if status >= 200 or status == 101:
                file.read(end)
                if attempt is not None:
                    _moments.response_start(self._conn, attempt, t_ns)
                self._take(version, status, reason, items)
                return
            # Interim (RFC 9110, 15.2): http.client skips 100 only and takes 103 for the final answer.
            file.read(end)
            if attempt is not None:
                _moments.informational(attempt, status)
        super().begin()

    def _read_status(self) -> typing.Any:
        attempt = self._attempt
        if attempt is None:
            return super()._read_status()  # type: ignore[misc]
        self.fp.peek(1)
        t_ns = self._read_at or _record.now()
        self._read_at = 0
        found = super()._read_status()  # type: ignore[misc]
        if found[1] == 100:
            _moments.informational(attempt, 100)
        else:
            _moments.response_start(self._conn, attempt, t_ns)
        return found

    def _take(self, version: int, status: int, reason: str, items: Items) -> None:
        """What http.client's begin sets, from *items*."""
        self.version = version
        self.code = self.status = status
        self.reason = reason
        self._items = items
        self._fields = fields = fields_of(items)
        first = {lower: values[1] for lower, values in fields.items()}
        encoding = first.get("transfer-encoding")
        self.chunked = bool(encoding) and encoding.lower() == "chunked"  # type: ignore[union-attr]
        if self.chunked:
            self.chunk_left = None
        connection = first.get("connection", "").lower()
        if version == 11:
            self.will_close = "close" in connection
        else:
            self.will_close = not (
                first.get("keep-alive")
                or "keep-alive" in connection
                or "keep-alive" in first.get("proxy-connection", "").lower()
            )
        self.length = None
        length = first.get("content-length")
        if length and not self.chunked:
            try:
                number = int(length)
            except ValueError:
                number = -1
            self.length = number if number >= 0 else None
        if status in (204, 304) or 100 <= status < 200 or self._method == "HEAD":  # type: ignore[attr-defined]
            self.length = 0
        if not self.will_close and not self.chunked and self.length is None:
            self.will_close = True

    def _read_next_chunk_size(self) -> int:
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]
        if not 0 <= size <= LARGEST:
            # As http.client does it for a size that is no number: a read of it would raise bare
            # ValueError or OverflowError.
            self._close_conn()  # type: ignore[attr-defined]
            raise ValueError(f"chunk size {size} is out of range")
        return size
