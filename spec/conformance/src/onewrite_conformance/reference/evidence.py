"""What the kernel says about a wait: read before sending, and once more when the answer begins (04-timing.md)."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

from onewrite_conformance.reference.mutants import broken
from onewrite_conformance.reference.timing import Recorder

__all__ = ["Counters", "after", "before", "judge"]

LONG_NS = 20_000_000


@dataclass
class Counters:
    """What the kernel has counted for a connection since it was made."""

    segments_out: int
    retransmits: int
    rwnd_limited_us: int


def _raw(sock: socket.socket) -> bytes:
    try:
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except (AttributeError, OSError):
        return b""


def _counters(raw: bytes) -> Counters:
    return Counters(
        struct.unpack_from("=I", raw, 156)[0],
        struct.unpack_from("=I", raw, 100)[0],
        struct.unpack_from("=Q", raw, 176)[0],
    )


def before(sock: socket.socket) -> Counters | None:
    raw = _raw(sock)
    if len(raw) < 184:
        return None
    return Counters(0, 0, 0) if broken("evidence_of_connection") else _counters(raw)


def after(sock: socket.socket, start: Counters, recorder: Recorder, response_start_ns: int) -> None:
    """Record the evidence and name the cause of a long wait."""
    raw = _raw(sock)
    ends = [event for event in recorder.events if event["name"] == "request_end"]
    if len(raw) < 184 or not ends:
        return
    now = _counters(raw)
    wait_ns = response_start_ns - ends[-1]["t_ns"]
    last_data_sent_ms = struct.unpack_from("=I", raw, 44)[0]
    nagle = not sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    hold_ns, cause = judge(start, now, wait_ns, last_data_sent_ms, ends[-1]["writes"] > 1 and nagle)
    recorder.kernel[recorder.attempt] = {
        "segments_out": now.segments_out - start.segments_out,
        "rtt_us": struct.unpack_from("=I", raw, 68)[0],
        "min_rtt_us": struct.unpack_from("=I", raw, 148)[0],
        "retransmits": now.retransmits - start.retransmits,
        "send_hold_ns": hold_ns,
    }
    if cause and broken("wrong_cause"):
        cause = "server"
    recorder.cause[recorder.attempt] = cause


def judge(
    start: Counters, now: Counters, wait_ns: int, last_data_sent_ms: int, may_nagle: bool
) -> tuple[int, str | None]:
    """How long bytes were held, in ns, and the cause of the wait by the rule of events.yaml.

    `may_nagle`: there were two writes or more, and TCP_NODELAY was off.
    """
    hold_ns = max(0, wait_ns - last_data_sent_ms * 1_000_000)
    if wait_ns < LONG_NS:
        return hold_ns, None
    if hold_ns < LONG_NS:
        return hold_ns, "server"
    if (now.rwnd_limited_us - start.rwnd_limited_us) * 2000 > hold_ns:
        return hold_ns, "peer_window"
    if now.retransmits > start.retransmits:
        return hold_ns, "retransmit"
    return hold_ns, "nagle_delayed_ack" if may_nagle else None
