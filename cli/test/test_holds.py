"""What readings of a send queue say of a silence: made-up readings."""

from __future__ import annotations

import socket

import pytest
from onewrite_lab.witness.tcpinfo import TcpInfo

from onewrite_cli.common.sockets import Hold, Sockets

MS = 1_000_000
ENDS = ("127.0.0.1", 1), ("127.0.0.1", 2)
FREE, HELD = TcpInfo(mss=1000), TcpInfo(mss=1000, not_sent=200, unacked=1)


def lost(*readings: tuple[int, TcpInfo], gap_ms: int = 43, nodelay: bool = False) -> Hold | None:
    """Of a silence from 1000 ms on."""
    sockets = Sockets()
    sockets._readings[ENDS] = [(at_ms * MS, one) for at_ms, one in readings]
    sockets._nodelay[ENDS] = nodelay
    held = sockets.lost(ENDS, 990 * MS, [1000 * MS, (1000 + gap_ms) * MS])[1]
    sockets.close()
    return held


def test_what_is_unsent_once_is_so_to_the_end_of_the_silence() -> None:
    for at_ms in (1004, 1020, 1037):
        assert lost((at_ms, HELD)) == Hold(43 * MS, "nagle_delayed_ack")


def test_that_nothing_is_unsent_shows_only_a_reading_near_the_end() -> None:
    assert lost((1004, FREE), (1030, FREE)) == Hold()
    assert lost((1004, FREE), gap_ms=100) is None
    assert lost() is None
    assert lost((1041, HELD)) is None  # the bytes that end the silence may have been leaving


def test_of_a_long_silence_two_readings_are_kept() -> None:
    sockets = Sockets()
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as one:
        for nth in range(1, 8):
            sockets.look((one.getsockname(), one.getpeername()), nth)
    assert sockets.unseen or [len(readings) for readings in sockets._readings.values()] == [2]
    sockets.close()


def test_a_hold_begins_when_nothing_was_unsent_for_the_last_time() -> None:
    assert lost((1004, FREE), (1020, FREE), (1035, HELD), gap_ms=60) == Hold(40 * MS, "nagle_delayed_ack")


@pytest.mark.parametrize(
    ("reading", "nodelay", "cause"),
    [
        (TcpInfo(mss=1000, not_sent=200), False, "cork"),
        (TcpInfo(mss=1000, not_sent=1000, unacked=1), False, "congestion_window"),
        (HELD, True, "congestion_window"),
        (TcpInfo(mss=1000, not_sent=200, unacked=1, total_retrans=1), False, "retransmit"),
        (TcpInfo(mss=1000, not_sent=200, rwnd_limited_us=3900), False, "peer_window"),
    ],
)
def test_causes_from_one_early_reading(reading: TcpInfo, nodelay: bool, cause: str) -> None:
    assert lost((1004, reading), nodelay=nodelay) == Hold(43 * MS, cause)
    assert lost((900, FREE), (1004, reading), nodelay=nodelay) == Hold(43 * MS, cause)
