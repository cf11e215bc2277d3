"""`doctor --stream`: each way of bunching is named, on real sockets."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from conftest import Done, onewrite
from onewrite_cli.doctor.stream import Arrivals, Events, judge_stream
from peers import Listener

MS = 1_000_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
EVENT = b"data: " + b"x" * 192 + b"\n\n"


@contextlib.contextmanager
def source(kind: str, events: int, every_s: float) -> Iterator[str]:
    """Sends events in that rhythm, and holds them as `kind` says."""
    stop = threading.Event()

    def serve(sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, kind != "NAGLE")
            if not sock.recv(65536):
                return
            sock.sendall(HEAD)
            waiting = b""
            for _ in range(events):
                if stop.wait(every_s):
                    return
                if kind in ("BUFFER", "WHOLE"):
                    waiting += EVENT
                    if kind == "BUFFER" and len(waiting) >= 4096:
                        sock.sendall(waiting[:4096])
                        waiting = waiting[4096:]
                else:
                    sock.send(EVENT, socket.MSG_MORE if kind == "CORK" else 0)
            sock.sendall(waiting)

    listener = Listener(serve)
    try:
        yield f"http://127.0.0.1:{listener.port}/"
    finally:
        stop.set()
        listener.close()


def examine(kind: str, events: int, every_s: float) -> Done:
    for _ in range(3):
        with source(kind, events, every_s) as url:
            done = onewrite("doctor", url, "--stream", "-f", "json", "--timeout", "20")
        if done.data["verdict"] == kind:
            break
    return done


@pytest.mark.timed
@pytest.mark.parametrize(
    ("kind", "events", "every_s", "cure"),
    [
        ("streamed", 60, 0.02, ""),
        ("NAGLE", 150, 0.01, "TCP_NODELAY"),
        ("CORK", 150, 0.02, "http-no-delay"),
        ("BUFFER", 300, 0.005, "proxy_buffering off"),
        ("WHOLE", 60, 0.01, "X-Accel-Buffering"),
    ],
)
def test_who_bunches_is_named(kind: str, events: int, every_s: float, cure: str) -> None:
    done = examine(kind, events, every_s)
    assert (done.data["verdict"], done.status) == (kind, int(kind != "streamed")), done.out
    assert cure in " ".join(done.data["cures"])
    assert sum(arm["events"] for arm in done.data["arms"].values()) == events


def arrivals(
    gap_ms: float, count: int, size: int = 200, events: int = 1, *, quick_ms: float = 0, ended: bool = False
) -> Arrivals:
    """One each `gap_ms` with delayed ACKs, and each `quick_ms` with quick ones."""
    made, at_ns = Arrivals(ended=ended, status=200), 0
    for number in range(count):
        quick = number // 4 % 2 == 1
        at_ns += int(((quick and quick_ms) or gap_ms) * MS)
        made.add(at_ns, size, events, quick=quick)
    return made


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_events_are_counted_by_the_standards_line_ends(end: bytes, step: int) -> None:
    lines = [b": comment", b"", b"data: 1", b"", b"id: 2", b"data: a", b"data: b", b"", b"", b"data", b"", b"data: unfinished"]
    stream = end.join(lines)
    events = Events(of_lines=False)
    assert sum(events.count(stream[at : at + step]) for at in range(0, len(stream), step)) == 3


def test_an_event_counts_in_the_piece_that_ends_it() -> None:
    events = Events(of_lines=False)
    pieces = (b"data: 1\r\n\r", b"\ndata: 2\r\n", b"\r\n", b"data: 3\n\ndata: 4\n\n")
    assert [events.count(piece) for piece in pieces] == [1, 0, 1, 2]
    lines = Events(of_lines=True)
    assert [lines.count(piece) for piece in (b'{"n": 1}\n{"n"', b": 2}", b"\n", b"[DONE]\n")] == [1, 0, 1, 0]


def test_a_rhythm_of_the_source_is_no_stall() -> None:
    # An event every 40 ms, or every 200 ms, whatever the ACKs.
    assert judge_stream(arrivals(40, 50), 43 * MS).word == "streamed"
    assert judge_stream(arrivals(200, 50), 43 * MS).word == "streamed"
    assert judge_stream(arrivals(100, 50, 4096), 43 * MS).word == "streamed"


def test_only_the_kind_of_ack_makes_a_stall() -> None:
    assert judge_stream(arrivals(43, 50, quick_ms=10), 43 * MS).word == "NAGLE"
    slower = arrivals(45, 24)
    for number in range(24, 60):  # the source gets faster
        slower.add(slower.times_ns[-1] + 20 * MS, 200, 1, quick=number // 4 % 2 == 1)
    assert judge_stream(slower, 43 * MS).word == "streamed"


def test_several_events_at_a_time_without_a_pattern_are_unknown() -> None:
    assert judge_stream(arrivals(90, 50, events=3), 43 * MS).word == "unknown"


def test_what_has_no_events_is_not_called_streamed() -> None:
    assert judge_stream(arrivals(90, 50, events=0), 43 * MS).word == "unknown"


def test_too_little_is_unknown() -> None:
    assert judge_stream(arrivals(90, 3), 43 * MS).word == "unknown"
    assert judge_stream(arrivals(1, 20, ended=True), 43 * MS).word == "unknown"
    assert judge_stream(Arrivals(), 43 * MS).word == "unknown"


def test_what_is_no_stream_could_not_be_read() -> None:
    def greet(sock: socket.socket) -> None:
        with sock:
            sock.sendall(b"220 mail.example ESMTP\r\n")
            time.sleep(0.1)

    listener = Listener(greet)
    done = onewrite("doctor", f"http://127.0.0.1:{listener.port}/", "--stream", "--timeout", "5")
    listener.close()
    assert done.status == 3
    assert "not an HTTP/1.1 answer" in done.err


def test_the_text_has_the_ladder() -> None:
    with source("WHOLE", 60, 0.01) as url:
        done = onewrite("doctor", url, "--stream", "--timeout", "20")
    assert done.status == 1
    assert done.out.startswith("WHOLE: everything came at the end")
    assert "- nginx: proxy_buffering off" in done.out
