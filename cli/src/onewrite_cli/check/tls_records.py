"""Counts the TLS records in which a client sends its requests, from their headers alone (RFC 8446, 5.1)."""

from __future__ import annotations

__all__ = ["ClientRecords"]

CHANGE_CIPHER_SPEC, HANDSHAKE, APPLICATION_DATA = 20, 22, 23
CLIENT_HELLO = 1
LEAST_HELLO_13 = 128  # bytes: two times 32 of random data, versions, algorithms, a key
ALERT_13 = 2 + 1 + 16  # an alert, its inner type, the tag: close_notify, as TLS 1.3 encrypts it


class ClientRecords:
    """Cuts what the client sends into records, and separates those of requests from those of the handshake.

    In TLS 1.3 the client's Finished has the type of application data: it is the first such record of a client that has
    sent no other handshake message than ClientHello in the clear.
    """

    def __init__(self) -> None:
        self.tls = True  # False once the stream turned out to be something else
        self.tls13 = True
        self.http2_offered = False
        self.application = 0  # records of requests so far
        self.after_finished: bytes | None = None  # what follows the TLS 1.3 Finished in the piece that ended it
        self._finished_seen = False
        self._hello = bytearray()
        self._header = bytearray()
        self._left = 0
        self._kind = 0
        self._first_byte = True
        self._changed = False

    @property
    def ready(self) -> bool:
        """True after the client's side of the handshake."""
        return self.application > 0 or self._finished_seen

    def feed(self, data: bytes) -> int:
        """Return how many records of requests begin in `data`."""
        before = self.application
        self.after_finished = None
        while data and self.tls:
            if self._left == 0:
                data = self._read_header(data)
                continue
            piece, data = data[: self._left], data[self._left :]
            self._left -= len(piece)
            self._inside(piece)
            if self._left == 0 and self._finished_seen and self.application == 0:
                self.after_finished = data
        return self.application - before

    def _read_header(self, data: bytes) -> bytes:
        need = 5 - len(self._header)
        self._header += data[:need]
        if len(self._header) < 5:
            return b""
        self._kind, self._left = self._header[0], int.from_bytes(self._header[3:5], "big")
        if self._header[1] != 3 or self._kind not in (20, 21, 22, 23, 24):
            self.tls = False
        self._header.clear()
        self._first_byte = True
        self._changed = self._changed or self._kind == CHANGE_CIPHER_SPEC
        if self._kind == HANDSHAKE and self._changed and self._left < LEAST_HELLO_13:
            self.tls13 = False  # the encrypted Finished of a resumed TLS 1.2 session: its first byte may be any
        if self._kind == APPLICATION_DATA:
            if self.tls13 and not self._finished_seen:
                self._finished_seen = True
            elif not (self.tls13 and self._left == ALERT_13):
                self.application += 1
        return data[need:]

    def _inside(self, piece: bytes) -> None:
        if self._kind != HANDSHAKE:
            return
        if self._first_byte:
            self._first_byte = False
            if piece[0] != CLIENT_HELLO:
                self.tls13 = False
        if self.tls13:
            self._hello += piece
            self.http2_offered = self.http2_offered or _offers_http2(bytes(self._hello))


def _offers_http2(hello: bytes) -> bool:
    """True if the extension application_layer_protocol_negotiation (16) of a ClientHello lists h2 (RFC 7301)."""
    at = hello.find(b"\x00\x10")
    while at >= 0:
        length = int.from_bytes(hello[at + 2 : at + 4], "big")
        names = int.from_bytes(hello[at + 4 : at + 6], "big")
        if length == names + 2 and 2 < length < 256:
            return b"\x02h2" in hello[at + 6 : at + 4 + length]
        at = hello.find(b"\x00\x10", at + 1)
    return False
