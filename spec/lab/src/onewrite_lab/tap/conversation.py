"""One connection of the tap: greeting, tunnel, handshake, then requests and their answers."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable
from typing import Protocol

from onewrite_lab.tap.answers import Answer, Script, expand
from onewrite_lab.tap.channel import Channel, Piece, drop_incoming, restore_incoming
from onewrite_lab.tap.exchange import Arrival, Exchange
from onewrite_lab.tap.http1 import RequestParser

__all__ = ["Conversation"]

IDLE_S = 60.0  # a silent connection is given up after this time
STOP_S = 0.25  # how quickly a connection notices that the tap was closed


class Host(Protocol):
    """The part of the tap that a conversation uses."""

    script: Script
    scheme: str
    stop: threading.Event
    timers: list[threading.Timer]
    on_request: Callable[[Exchange], None] | None
    on_hello: Callable[[Arrival], None] | None

    @property
    def names(self) -> dict[str, str]: ...
    def next_exchange(self, arrival: Arrival, via: str) -> Exchange: ...
    def answer_for(self, exchange: Exchange) -> Answer: ...
    def trace(self, arrival: Arrival, text: str) -> None: ...


class Conversation:
    """One connection, from accept to close."""

    def __init__(self, tap: Host, channel: Channel, arrival: Arrival) -> None:
        self.tap, self.channel, self.arrival = tap, channel, arrival
        self.script = tap.script
        self.baseline: int | None = 0  # data segments at the end of the last request
        self.carry = b""
        self.fresh_tls = False
        self.exchange: Exchange | None = None  # the current one, from its first byte on

    def run(self) -> None:
        if not self._meet():
            return
        if self.arrival.via == "connect" and not self._tunnel():
            return
        if self.tap.scheme == "https":
            try:
                self._handshake()
            except (OSError, ssl.SSLError) as error:
                self.arrival.failure = f"TLS: {error}"
                self.tap.trace(self.arrival, f"TLS handshake failed: {error}")
                return
        while self._one_request():
            pass

    def _meet(self) -> bool:
        """Greet the connection as `accept` says; True when it is to be served."""
        how = self.script.accept[min(self.arrival.index, len(self.script.accept) - 1)]
        self.tap.trace(self.arrival, f"accepted, client port {self.arrival.peer_port} ({how})")
        if how == "serve":
            return True
        if how == "hang":
            self.tap.stop.wait(IDLE_S)
            return False
        # Once the client has sent something: before that, its own connect would race with what comes.
        self._receive()
        if how == "reset":
            self.channel.reset()
            return False
        if how == "garbage":
            self.channel.send(b"\x00\x01\x02 this is neither TLS nor HTTP \xff\xfe\r\n\r\n" * 4)
        # Without lingering the client's TLS alert would be answered by an RST, which races with its error message.
        self.channel.close(linger_s=0.3)
        return False

    def _handshake(self) -> None:
        from onewrite_lab.certificates import shared  # a plain tap starts without it

        context = shared().context(self.script.certificate, self.script.tls_max)
        on_hello = self.tap.on_hello
        self.channel.start_tls(context, IDLE_S, None if on_hello is None else lambda: on_hello(self.arrival))
        self.arrival.tls_version = self.channel.tls_version
        self.baseline = self.channel.handshake_segments
        self.fresh_tls = True
        self.tap.trace(self.arrival, f"{self.channel.tls_version} handshake done, {self.baseline} segments so far")

    # -- CONNECT ------------------------------------------------------------------------------------------

    def _tunnel(self) -> bool:
        """Answer CONNECT; True when the tunnel stands."""
        parser = RequestParser()
        while not parser.head_done:
            piece = self._receive()
            if piece is None or not piece.data:
                return False
            parser.feed(piece.data)
        request = parser.request
        self.arrival.tunnel = request.wire
        script = self.script.proxy
        time.sleep(script.get("delay_ms", 0) / 1000)
        self.tap.trace(self.arrival, f"{request.method} {request.target}")
        status = script.get("status", 200) if request.method == "CONNECT" else 405
        then = script.get("then", "keep")
        info = self.channel.info()
        self.baseline = info.data_segs_in if info else None
        lines = [f"HTTP/1.1 {status} {'Connection established' if status == 200 else 'Refused'}"]
        lines += [f"{name}: {value}" for name, value in script.get("headers", ())]
        if status != 200:
            lines.append("Content-Length: 0")
        self.channel.send(("\r\n".join(lines) + "\r\n\r\n").encode())
        if then == "close" or status != 200:
            self.channel.close(linger_s=0.2)
        return status == 200 and then == "keep"

    # -- one request and its answer -----------------------------------------------------------------------

    def _receive(self) -> Piece | None:
        """The next piece; None when the tap stops or the connection idles too long."""
        deadline = time.monotonic() + IDLE_S
        while not self.tap.stop.is_set() and time.monotonic() < deadline:
            piece = self.channel.receive(STOP_S)
            if piece is not None:
                return piece
        return None

    def _one_request(self) -> bool:
        """Read a request and answer it; True when the connection goes on."""
        parser = RequestParser()
        exchange = self.exchange = None
        answer: Answer | None = None
        records: list[int] = []
        answered = paused = False
        self.hinted = False
        while not parser.done:
            if self.carry:
                piece: Piece | None = Piece(self.carry, time.monotonic_ns())
                self.carry = b""
            else:
                piece = self._receive()
            if piece is None:
                return False
            if not piece.data:
                if exchange is not None:
                    self.tap.trace(self.arrival, "the client closed before the request was complete")
                return False
            records.append(len(piece.data))
            if exchange is None:
                exchange = self.exchange = self.tap.next_exchange(self.arrival, self.arrival.via)
                exchange.request = parser.request
                exchange.first_piece = piece.data
                exchange.first_ns = piece.t_ns
                exchange.first_record_bytes = len(piece.data) if self.channel.tls else None
            exchange.reads.append((piece.t_ns, len(piece.data)))
            self.tap.trace(self.arrival, f"> {len(piece.data)} bytes {_shown(piece.data)}")
            rest = parser.feed(piece.data)
            if parser.head_done and answer is None:
                answer = self.tap.answer_for(exchange)
                exchange.answer = answer
                if exchange.request.expects_continue and answer.continue_ and not parser.done:
                    time.sleep(answer.continue_delay_ms / 1000)
                    self.channel.send(b"HTTP/1.1 100 Continue\r\n\r\n")
                    self.tap.trace(self.arrival, "< 100 Continue")
            if answer is not None and not parser.done:
                if answer.interim and not self.hinted and _due(answer.interim_when, exchange):
                    self._hint(answer)
                if answer.stop_reading and not paused:
                    paused = self._pause(answer.stop_reading, exchange)
                if not answered and _due(answer.when, exchange):
                    answered = True
                    if not self.respond(exchange, answer):
                        return self._end(answer, exchange, complete=False)
            if rest:
                exchange.extra += len(rest)
                self.carry = rest
        if exchange is None or answer is None:
            return False
        self._complete(exchange, records, early=answered)
        if self.tap.on_request is not None:
            self.tap.on_request(exchange)
        if not answered and not self.respond(exchange, answer):
            return False
        return self._end(answer, exchange, complete=True)

    def _pause(self, how: dict[str, int], exchange: Exchange) -> bool:
        if exchange.request.wire_bytes < how["after_bytes"]:
            return False
        self.tap.trace(self.arrival, f"not reading for {how['for_ms']} ms")
        self.tap.stop.wait(how["for_ms"] / 1000)
        return True

    def _complete(self, exchange: Exchange, records: list[int], *, early: bool) -> None:
        """Take the counts of a whole request, before anything is answered."""
        exchange.complete = True
        info = self.channel.info()
        exchange.complete_ns = time.monotonic_ns()
        exchange.records = len(records) if self.channel.tls else None
        exact = info is not None and self.channel.consumed_all(info)
        if info is not None and exact:
            if self.baseline is not None:
                exchange.segments = info.data_segs_in - self.baseline
            elif self.fresh_tls:
                # The end of the handshake and the request were read together. The client's Finished is a flight
                # of one segment (RFC 8446 2); two segments or fewer are one of each.
                since_hello = info.data_segs_in - self.channel.hello_segments
                exchange.segments = 1 if since_hello <= 2 else None
        # Bytes that the kernel has and we have not read: one may be the client's FIN, and on TLS they may be an alert.
        # After an early answer the client may already have begun the next request.
        if info is not None and not self.carry and not early and not self.channel.tls:
            unread = info.bytes_received - self.channel.raw_in
            exchange.extra = max(exchange.extra, unread if unread > 1 else 0)
        self.baseline = info.data_segs_in if info is not None and exact else None
        self.fresh_tls = False
        counts = f"{exchange.segments} segments" + (f", {exchange.records} records" if self.channel.tls else "")
        self.tap.trace(self.arrival, f"request {exchange.number} complete: {counts}")

    def respond(self, exchange: Exchange, answer: Answer) -> bool:
        """Send the answer; False when the connection broke."""
        tap, channel = self.tap, self.channel
        head, rest = answer.message(exchange.request.method, tap.names)
        try:
            if not self.hinted:
                self._hint(answer)
            if answer.delay_ms:
                tap.stop.wait(answer.delay_ms / 1000)
            if answer.drop_next_ms:
                self._drop(answer.drop_next_ms)
            channel.nagle(answer.nagle)
            pieces = _pieces(answer, head, rest)
            exchange.answer_ns = time.monotonic_ns()
            for index, piece in enumerate(pieces):
                if index:
                    gap = (answer.trickle or answer.split or {}).get("gap_ms", 0)
                    tap.stop.wait(gap / 1000)
                exchange.last_write_ns = time.monotonic_ns()
                channel.send(piece)
                tap.trace(self.arrival, f"< {len(piece)} bytes {_shown(piece)}")
        except (OSError, ssl.SSLError) as error:
            self.arrival.failure = f"while answering: {error}"
            tap.trace(self.arrival, f"broken {self.arrival.failure}")
            exchange.answered_ns = time.monotonic_ns()
            return False
        exchange.answered_ns = time.monotonic_ns()
        return True

    def _hint(self, answer: Answer) -> None:
        """Send the interim answers."""
        self.hinted = True
        for status in answer.interim:
            self.channel.send(f"HTTP/1.1 {status} {_interim(status)}\r\n\r\n".encode())
            self.tap.trace(self.arrival, f"< {status}")
            self.tap.stop.wait(answer.interim_gap_ms / 1000)

    def _drop(self, milliseconds: int) -> None:
        drop_incoming(self.channel.sock)
        timer = threading.Timer(milliseconds / 1000, restore_incoming, [self.channel.sock])
        timer.daemon = True
        self.tap.timers.append(timer)
        timer.start()
        self.tap.trace(self.arrival, f"incoming packets are lost for {milliseconds} ms")

    def _end(self, answer: Answer, exchange: Exchange, *, complete: bool) -> bool:
        """What follows the answer; True when the connection goes on."""
        then = answer.follows
        if then == "keep" and not complete:
            # Early answer, and no more is read: the rest of the request would be taken for the next one.
            then = "close"
        if then != "keep" and answer.then_after_ms:
            self.tap.stop.wait(answer.then_after_ms / 1000)
        if then == "keep":
            return True
        self.tap.trace(self.arrival, f"then: {then}")
        if then == "close":
            self.channel.close(linger_s=0.0 if complete else 0.3)
        elif then == "reset":
            self.channel.reset()
        elif then == "hang":
            self.tap.stop.wait(IDLE_S)
        elif then == "unsolicited":
            self.channel.send(expand(answer.unsolicited, self.tap.names).encode("latin-1"))
        exchange.followed = True
        return then == "unsolicited"


def _due(when: str | dict[str, int], exchange: Exchange) -> bool:
    """Whether it is time for an answer that does not wait for the whole request."""
    return when == "head" or (isinstance(when, dict) and exchange.request.body_bytes >= when["body_bytes"])


def _pieces(answer: Answer, head: bytes, rest: bytes) -> list[bytes]:
    """The answer as it is written."""
    whole = head + rest
    if answer.truncate is not None:
        whole = whole[: answer.truncate]
    if answer.split is not None:
        at = len(head) if answer.split["at"] == "head" else int(answer.split["at"])
        return [piece for piece in (whole[:at], whole[at:]) if piece]
    if answer.trickle is not None:
        step = answer.trickle["bytes"]
        return [whole[at : at + step] for at in range(0, len(whole), step)]
    return [whole] if whole else []


def _interim(status: int) -> str:
    return {100: "Continue", 102: "Processing", 103: "Early Hints"}.get(status, "Interim")


def _shown(data: bytes, most: int = 160) -> str:
    text = repr(data[:most])[1:]
    return text + (f" … {len(data) - most} more" if len(data) > most else "")
