"""The sockets of other processes: how long the kernel held written bytes, and TCP_NODELAY at each connection's first bytes.

The send queue comes from NETLINK_SOCK_DIAG, which touches no process. Only TCP_NODELAY needs a duplicate of the descriptor,
once per connection. A reading that fails skips a rule. It never raises into the traffic.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from onewrite_lab.witness import AVAILABLE, Diag, End, Owners, SocketReading
from onewrite_lab.witness.tcpinfo import TcpInfo

__all__ = ["COSTS_TIME", "FIRST_S", "IN_WORDS", "LOOK_S", "Ends", "Hold", "Sockets", "cause_of"]

START_S = 10.0  # the most that a reading waits until the process that made the connection is known
FIRST_S, LOOK_S = 0.004, 0.015  # until the first reading of a silent connection, and between two
LEFT_NS, UNSEEN_NS = 5_000_000, 40_000_000
NOT_FOUND = "no process of the command owns the connections (a container or another user?)"
#: The causes that the writing process can end.
COSTS_TIME = ("nagle_delayed_ack", "cork")
IN_WORDS = {"nagle_delayed_ack": "Nagle's algorithm", "cork": "MSG_MORE or TCP_CORK"}
Ends = tuple[End, End]  # of a connection: of the process under test, of the tool
Account = TcpInfo | SocketReading


def cause_of(held: Account, before: Account, elapsed_us: float, *, nodelay: bool) -> str:
    """Why bytes are unsent. `elapsed_us` lies between both readings. The order is that of the contract (TIME-26)."""
    if (held.rwnd_limited_us - before.rwnd_limited_us) * 2 > elapsed_us:
        return "peer_window"
    if held.total_retrans > before.total_retrans:
        return "retransmit"
    if not held.unacked:
        return "cork"
    return "congestion_window" if nodelay or held.not_sent >= held.mss else "nagle_delayed_ack"


@dataclass(frozen=True)
class Hold:
    """`cause` is a result of `cause_of`, or empty if nothing was held."""

    ns: int = 0
    cause: str = ""


class Sockets:
    """Those of the command while it runs. `fault` says why TCP_NODELAY could not be read, `unseen` why holds could not."""

    def __init__(self, roots: Callable[[], list[int]] | None = None) -> None:
        self._roots = roots
        self._known = threading.Event()
        self._known.set()
        self._owners = Owners()
        self._nodelay: dict[Ends, bool] = {}
        self._readings: dict[Ends, list[tuple[int, TcpInfo]]] = defaultdict(list)
        self.fault: str | None = None if AVAILABLE else "reading another process's sockets needs Linux"
        self.unseen: str | None = None
        self._diag: Diag | None = None
        try:
            self._diag = Diag()
        except OSError as error:
            self.unseen = f"the kernel's send queues cannot be read here: {error}"

    def close(self) -> None:
        if self._diag is not None:
            self._diag.close()

    def starting(self) -> None:
        """The command is about to be started: its first request may come before its pid is known here."""
        self._known.clear()

    def started(self, roots: Callable[[], list[int]] | None) -> None:
        """Its processes are these and their children; None when it has ended."""
        self._roots = roots
        self._known.set()

    def look(self, ends: Ends, nth: int = 1) -> int | None:
        """Note the send queue of the other side's socket; return the socket's inode, or None where it is not seen.

        Of the looks in one silence, of which this is the `nth`, the last two are enough while nothing is unsent.
        """
        try:
            found = self._diag.find(*ends) if self._diag else None
        except OSError as error:
            self.unseen = str(error)
            return None
        if found is None:
            return None
        readings = self._readings[ends]
        readings.append((time.monotonic_ns(), found.info))
        if nth > 2 and not any(one.not_sent for _, one in readings[-3:]):
            del readings[-3]
        return found.inode

    def read_nodelay(self, ends: Ends) -> tuple[int, bool] | None:
        """The process that holds the other side's socket, and its TCP_NODELAY; None where they cannot be read."""
        inode = self.look(ends)
        self._known.wait(START_S)
        if not AVAILABLE or self._roots is None:
            return None
        try:
            found = self._owners.nodelay(self._roots(), inode) if inode else None
            self.fault = self.fault if found else self.unseen or NOT_FOUND
        except Exception as error:
            found, self.fault = None, str(error) or type(error).__name__
        if found is not None:
            self._nodelay[ends] = found[1]
        return found

    @property
    def may_be_found(self) -> bool:
        """False where TCP_NODELAY can never be read."""
        return self.fault in (None, NOT_FOUND)

    @property
    def any_read(self) -> bool:
        return bool(self._nodelay)

    def nodelay(self, ends: Ends) -> bool | None:
        """Its reading; None where it was never read."""
        return self._nodelay.get(ends)

    def lost(self, ends: Ends, since_ns: int, times_ns: Sequence[int]) -> tuple[int, Hold | None]:
        """The longest silence between the pieces of a message, and the longest hold.

        Bytes can also be held before the first piece, from `since_ns` on. None where the socket was not read in the silence.
        """
        first = self._held(ends, since_ns, times_ns[0]) or Hold()
        gap_ns, since_ns = max(((b - a, a) for a, b in pairwise(times_ns)), default=(0, 0))
        between = self._held(ends, since_ns, since_ns + gap_ns) if gap_ns else Hold()
        held = first if between is None or first.ns > between.ns else between
        return gap_ns, None if between is None and not first.ns else held

    def _held(self, ends: Ends, since_ns: int, until_ns: int) -> Hold | None:
        """The hold at the end of this silence; None where no reading shows whether there was one.

        What was unsent at any time of a silence was so to its end, or it would have come. That nothing was unsent shows only a
        reading near the end. Readings within the last 5 ms do not count: the bytes that end the silence may have left already.
        """
        known = [one for one in self._readings[ends] if one[0] < until_ns - LEFT_NS]
        within = [one for one in known if one[0] >= since_ns]
        if not within or (not within[-1][1].not_sent and until_ns - within[-1][0] > UNSEEN_NS):
            return None
        last_ns, last = within[-1]
        if not last.not_sent:
            return Hold()
        begun_ns = max((at_ns for at_ns, one in within if not one.not_sent), default=since_ns or within[0][0])
        before_ns, before = next(((at_ns, one) for at_ns, one in reversed(known[:-1]) if not one.not_sent), (begun_ns, TcpInfo()))
        elapsed_us = (last_ns - max(before_ns, begun_ns)) / 1000
        return Hold(until_ns - begun_ns, cause_of(last, before, elapsed_us, nodelay=bool(self.nodelay(ends))))
