"""How long the kernel held written bytes, and why, from readings of the writer's socket."""

from __future__ import annotations

import time
from dataclasses import dataclass

from onewrite_lab.witness import SocketReading, connections

__all__ = ["COSTS_TIME", "IN_WORDS", "Hold", "Holds", "cause_of", "pause_s", "sockets_of"]

OFTEN_S, SELDOM_S, LONG_S = 0.01, 0.02, 0.3
LEFT_NS, UNSEEN_NS = 5_000_000, 35_000_000
#: The causes that the writing process can end.
COSTS_TIME = ("nagle_delayed_ack", "cork")
IN_WORDS = {"nagle_delayed_ack": "Nagle's algorithm", "cork": "MSG_MORE or TCP_CORK"}


def sockets_of(roots: list[int], peer_port: int) -> list[SocketReading]:
    """The connections of these processes and their children. Raises WitnessError, ProcessLookupError when all have ended."""
    readings: list[SocketReading] = []
    gone: ProcessLookupError | None = None
    for root in roots:
        try:
            readings += connections(root, peer_port)
        except ProcessLookupError as error:
            gone = error
    if gone and len(roots) == 1:
        raise gone
    return readings


def pause_s(silent_s: float) -> float:
    """The pause until the next reading of a socket that has been silent for `silent_s`."""
    return OFTEN_S if silent_s < LONG_S else SELDOM_S


def cause_of(held: SocketReading, before: SocketReading, elapsed_us: float) -> str:
    """Why bytes are unsent. `elapsed_us` lies between both readings. The order is that of TIME-26."""
    if (held.rwnd_limited_us - before.rwnd_limited_us) * 2 > elapsed_us:
        return "peer_window"
    if held.total_retrans > before.total_retrans:
        return "retransmit"
    if not held.unacked:
        return "cork"
    return "congestion_window" if held.nodelay or held.not_sent >= held.mss else "nagle_delayed_ack"


@dataclass(frozen=True)
class Hold:
    """`cause` is a result of `cause_of`, or empty if nothing was held."""

    ns: int = 0
    cause: str = ""


class Holds:
    """The readings of one socket."""

    def __init__(self) -> None:
        self._readings: list[tuple[int, SocketReading]] = []

    def note(self, reading: SocketReading) -> None:
        self._readings.append((time.monotonic_ns(), reading))

    def ended(self, since_ns: int, until_ns: int) -> Hold | None:
        """The hold at the end of this silence; None without a reading near its end.

        Readings within the last 5 ms do not count: the bytes that end the silence may have left already.
        """
        within = [(at_ns, one) for at_ns, one in self._readings if since_ns <= at_ns < until_ns - LEFT_NS]
        if not within or until_ns - within[-1][0] > UNSEEN_NS:
            return None
        begun_ns, before = since_ns or within[0][0], within[0][1]
        for at_ns, reading in within:
            if not reading.not_sent:
                begun_ns, before = at_ns, reading
        last = within[-1][1]
        return Hold(until_ns - begun_ns, cause_of(last, before, (until_ns - begun_ns) / 1000)) if last.not_sent else Hold()
