"""Reads HTTP/1.1 requests by RFC 9112, and lists the faults of each.

The parser is lenient enough to go on after a fault and strict enough to name each: the tap must be able to
answer a malformed request, and the judge must be able to fail it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["Request", "RequestParser", "header_values"]

# RFC 9110 5.6.2 (token), RFC 9112 3 (request line), RFC 9110 5.5 (field value: VCHAR, obs-text, SP, HTAB).
TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
# A client that has met an HTTP/1.0 server may go on in HTTP/1.0 (RFC 9112 2.3).
REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+) HTTP/1\.[01]\Z")
FIELD_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*\Z")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?\Z")

MAX_HEAD = 1 << 20


def header_values(headers: list[tuple[str, str]], name: str) -> list[str]:
    """All values of a header, by name without regard to case."""
    wanted = name.lower()
    return [value for key, value in headers if key.lower() == wanted]


@dataclass
class Request:
    """One request as it arrived. The sizes of the body stay where its bytes are no longer kept."""

    method: str = ""
    target: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    framing: str = "none"  # none, length, chunked
    head: bytes = b""
    body_wire: bytearray = field(default_factory=bytearray)
    body: bytearray = field(default_factory=bytearray)
    wire_bytes: int = 0  # of the body and its chunk framing
    body_bytes: int = 0
    chunks: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def values(self, name: str) -> list[str]:
        return header_values(self.headers, name)

    @property
    def path(self) -> str:
        """The path of the target, whatever its form."""
        match = re.match(r"https?://[^/?#]*(.*)", self.target, re.I)
        return (match.group(1) or "/") if match else self.target

    @property
    def expects_continue(self) -> bool:
        return any(value.lower() == "100-continue" for value in self.values("expect"))

    def add(self, wire: bytes, body: bytes = b"") -> None:
        """More of the body: as it came, and without its chunk framing."""
        self.body_wire += wire
        self.body += body
        self.wire_bytes += len(wire)
        self.body_bytes += len(body)

    def forget_body(self) -> None:
        """Free the bytes that have come."""
        self.body_wire.clear()
        self.body.clear()

    @property
    def wire(self) -> bytes:
        return self.head + bytes(self.body_wire)


class RequestParser:
    """Feed it bytes; it fills `request` and moves through the states head, body, done.

    `feed` returns the bytes that it did not use: what came behind the end of the request.
    """

    def __init__(self) -> None:
        self.request = Request()
        self.state = "head"
        self._buffer = bytearray()
        self._left = 0
        self._chunk_state = "size"

    @property
    def started(self) -> bool:
        return bool(self._buffer) or self.state != "head"

    @property
    def done(self) -> bool:
        return self.state == "done"

    @property
    def head_done(self) -> bool:
        return self.state != "head"

    def feed(self, data: bytes) -> bytes:
        if self.state == "done":
            return data
        if self.state == "head":
            self._buffer += data
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > MAX_HEAD:
                    self.request.problems.append("head longer than 1 MiB")
                    self.state = "done"
                return b""
            head = bytes(self._buffer[: end + 4])
            data = bytes(self._buffer[end + 4 :])
            self._buffer.clear()
            self._parse_head(head)
        if self.state == "body":
            return self._length(data) if self.request.framing == "length" else self._chunked(data)
        return data

    def _parse_head(self, head: bytes) -> None:
        request = self.request
        request.head = head
        problems = request.problems
        lines = head[:-4].split(b"\r\n")
        first = REQUEST_LINE.match(lines[0])
        if first is None:
            problems.append(f"request line {lines[0][:120]!r} is not method SP target SP HTTP/1.1")
            words = lines[0].split(b" ")
            request.method = words[0].decode("latin-1")
            request.target = words[1].decode("latin-1") if len(words) > 1 else ""
        else:
            request.method, request.target = first.group(1).decode(), first.group(2).decode("latin-1")
        for line in lines[1:]:
            name, colon, value = line.partition(b":")
            value = value.strip(b" \t")
            if not colon or not TOKEN.match(name):
                problems.append(f"header line {line[:120]!r} has no valid name")
            elif not FIELD_VALUE.match(value):
                problems.append(f"header line {line[:120]!r} carries a control character")
            request.headers.append((name.decode("latin-1"), value.decode("latin-1")))
        hosts = request.values("host")
        if len(hosts) != 1:
            problems.append(f"{len(hosts)} Host headers")
        lengths, codings = request.values("content-length"), request.values("transfer-encoding")
        if lengths and codings:
            problems.append("Content-Length and Transfer-Encoding together")
        if len(lengths) > 1:
            problems.append(f"{len(lengths)} Content-Length headers")
        if codings:
            if [coding.lower() for coding in codings] != ["chunked"]:
                problems.append(f"Transfer-Encoding is {codings}")
            request.framing = "chunked"
        elif lengths:
            request.framing = "length"
            if re.fullmatch(r"[0-9]+", lengths[0]):
                self._left = int(lengths[0])
            else:
                problems.append(f"Content-Length {lengths[0]!r} is not a number")
        if request.framing == "none" or (request.framing == "length" and self._left == 0):
            self.state = "done"
        else:
            self.state = "body"

    def _length(self, data: bytes) -> bytes:
        piece, rest = data[: self._left], data[self._left :]
        self.request.add(piece, piece)
        self._left -= len(piece)
        if self._left == 0:
            self.state = "done"
        return rest

    def _chunked(self, data: bytes) -> bytes:
        request = self.request
        self._buffer += data
        while True:
            if self._chunk_state == "data":
                if not self._chunk_data():
                    return b""
                continue
            end = self._buffer.find(b"\r\n")
            if end < 0:
                if len(self._buffer) > MAX_HEAD:  # no chunks at all
                    request.problems.append("a chunk size line longer than 1 MiB")
                    self.state = "done"
                return b""
            line = bytes(self._buffer[:end])
            request.add(line + b"\r\n")
            del self._buffer[: end + 2]
            if self._chunk_state == "trailer":
                if line:
                    continue
                self.state = "done"
                rest = bytes(self._buffer)
                self._buffer.clear()
                return rest
            size = CHUNK_SIZE.match(line)
            if size is None:
                request.problems.append(f"chunk size line {line[:60]!r}")
                self.state = "done"
                return b""
            self._left = int(size.group(1), 16)
            if self._left == 0:
                self._chunk_state = "trailer"
            else:
                request.chunks.append(self._left)
                self._chunk_state = "data"

    def _chunk_data(self) -> bool:
        """Read the rest of one chunk and its CR LF; False when there is not enough yet."""
        piece = bytes(self._buffer[: self._left])
        del self._buffer[: len(piece)]
        self.request.add(piece, piece)
        self._left -= len(piece)
        if self._left or len(self._buffer) < 2:
            return False
        if self._buffer[:2] != b"\r\n":
            self.request.problems.append("a chunk does not end in CR LF")
        self.request.add(bytes(self._buffer[:2]))
        del self._buffer[:2]
        self._chunk_state = "size"
        return True
