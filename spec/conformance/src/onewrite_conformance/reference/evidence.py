"""What the kernel says about a wait: read before sending, and once more when the answer begins (04-timing.md)."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

from onewrite_conformance.reference.mutants import broken
from onewrite_conformance.reference.timing import Recorder

__all__ = ["Before", "after", "before"]

HOLD_NS = 20_000_000


@dataclass
class Before:
    """Counters at the beginning of a request."""

    segments_out: int
    retransmits: int
    rwnd_limited_us: int


def _raw(sock: socket.socket) -> bytes:
    try:
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except (AttributeError, OSError):
        return b""


def _counters(raw: bytes) -> Before:
    return Before(
        struct.unpack_from("=I", raw, 156)[0],
        struct.unpack_from("=I", raw, 100)[0],
        struct.unpack_from("=Q", raw, 176)[0],
    )


def before(sock: socket.socket) -> Before | None:
    raw = _raw(sock)
    if len(raw) < 184:
        return None
    return Before(0, 0, 0) if broken("evidence_of_connection") else _counters(raw)


def after(sock: socket.socket, start: Before, recorder: Recorder, response_start_ns: int) -> None:
    """Record the evidence and name the cause of a long wait."""
    raw = _raw(sock)
    ends = [event["t_ns"] for event in recorder.events if event["name"] == "request_end"]
    if len(raw) < 184 or not ends:
        return
    now = _counters(raw)
    wait_ns = response_start_ns - ends[-1]
    hold_ns = max(0, wait_ns - struct.unpack_from("=I", raw, 44)[0] * 1_000_000)
    retransmits = now.retransmits - start.retransmits
    limited_ns = (now.rwnd_limited_us - start.rwnd_limited_us) * 1000
    recorder.kernel[recorder.attempt] = {
        "segments_out": now.segments_out - start.segments_out,
        "rtt_us": struct.unpack_from("=I", raw, 68)[0],
        "min_rtt_us": struct.unpack_from("=I", raw, 148)[0],
        "retransmits": retransmits,
        "send_hold_ns": hold_ns,
    }
    cause: str | None = None
    if hold_ns >= HOLD_NS:
        cause = "peer_window" if limited_ns * 2 > hold_ns else "retransmit" if retransmits else "nagle_delayed_ack"
    elif wait_ns >= HOLD_NS:
        cause = "server"
    if cause and broken("wrong_cause"):
        cause = "server"
    recorder.cause[recorder.attempt] = cause
