"""Kernel evidence of a wait: TCP_INFO before sending and when the answer begins (04-timing.md)."""

from __future__ import annotations

import socket
from dataclasses import replace

from onewrite_lab.witness import tcpinfo
from onewrite_lab.witness.tcpinfo import TcpInfo

from onewrite_conformance.reference.mutants import broken
from onewrite_conformance.reference.timing import Recorder

__all__ = ["after", "before", "judge"]

LONG_NS = 20_000_000


def before(sock: socket.socket) -> TcpInfo | None:
    info = tcpinfo.read(sock)
    if info is not None and broken("evidence_of_connection"):
        return replace(info, data_segs_out=0, total_retrans=0, rwnd_limited_us=0)
    return info


def after(sock: socket.socket, start: TcpInfo, recorder: Recorder, response_start_ns: int) -> None:
    """Record the evidence and name the cause of a long wait."""
    now = tcpinfo.read(sock)
    ends = [event for event in recorder.events if event["name"] == "request_end"]
    if now is None or not ends:
        return
    wait_ns = response_start_ns - ends[-1]["t_ns"]
    nagle = not sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    hold_ns, cause = judge(start, now, wait_ns, ends[-1]["writes"] > 1 and nagle)
    recorder.kernel[recorder.attempt] = {
        "segments_out": now.data_segs_out - start.data_segs_out,
        "rtt_us": now.rtt_us,
        "min_rtt_us": now.min_rtt_us,
        "retransmits": now.total_retrans - start.total_retrans,
        "send_hold_ns": hold_ns,
    }
    if cause and broken("wrong_cause"):
        cause = "server"
    recorder.cause[recorder.attempt] = cause


def judge(start: TcpInfo, now: TcpInfo, wait_ns: int, may_nagle: bool) -> tuple[int, str | None]:
    """How long bytes were held, in ns, and the cause of the wait by the rule of events.yaml.

    `may_nagle`: there were two writes or more, and TCP_NODELAY was off.
    """
    hold_ns = max(0, wait_ns - now.last_data_sent_ms * 1_000_000)
    if wait_ns < LONG_NS:
        return hold_ns, None
    if hold_ns < LONG_NS:
        return hold_ns, "server"
    if (now.rwnd_limited_us - start.rwnd_limited_us) * 2000 > hold_ns:
        return hold_ns, "peer_window"
    if now.total_retrans > start.total_retrans:
        return hold_ns, "retransmit"
    return hold_ns, "nagle_delayed_ack" if may_nagle else None
