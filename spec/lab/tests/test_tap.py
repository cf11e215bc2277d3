"""The tap counts what a client does. The clients here are bare sockets, so their writes are known."""

from __future__ import annotations

import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from onewrite_lab.certificates import shared
from onewrite_lab.tap.answers import Script
from onewrite_lab.tap.server import Tap
from onewrite_lab.witness import tcpinfo

HEAD = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\n"
BODY = b"x" * 200
REQUESTS = 30


def connected(tap: Tap, *, nodelay: bool = True) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", tap.port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(nodelay))
    if tap.scheme == "http":
        return sock
    context = ssl.create_default_context(cafile=shared().ca_file)
    secure = context.wrap_socket(sock, server_hostname="localhost", do_handshake_on_connect=False)
    try:
        secure.do_handshake()
    except BaseException:
        secure.close()
        raise
    return secure


def eventually(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.005)
    return holds()


def answer(sock: socket.socket, ends: bytes = b"ok") -> bytes:
    data = b""
    while not data.endswith(ends):
        piece = sock.recv(65536)
        if not piece:
            break
        data += piece
    return data


def counts(tap: Tap, *writes: bytes, requests: int = REQUESTS) -> Counter[tuple[int | None, int | None]]:
    """Segments, without those that this side's kernel sent twice, and records."""
    totals = [0]
    with connected(tap) as sock:
        for _ in range(requests):
            for data in writes:
                sock.sendall(data)
            answer(sock)
            info = tcpinfo.read(sock)
            totals.append(0 if info is None else info.total_retrans)
    twice = [after - before for before, after in pairwise(totals)]
    return Counter(
        (exchange.segments and exchange.segments - again, exchange.records)
        for exchange, again in zip(tap.exchanges, twice, strict=False)
    )


@pytest.mark.parametrize(("scheme", "records"), [("http", None), ("https", 1)])
def test_one_write_is_one_segment(scheme: str, records: int | None) -> None:
    with Tap(scheme=scheme) as tap:
        assert counts(tap, HEAD + BODY).most_common(1)[0][0] == (1, records)


@pytest.mark.parametrize(("scheme", "records"), [("http", None), ("https", 2)])
def test_two_writes_are_two_segments(scheme: str, records: int | None) -> None:
    with Tap(scheme=scheme) as tap:
        assert counts(tap, HEAD, BODY).most_common(1)[0][0] == (2, records)


def test_two_records_in_one_segment_are_told_apart() -> None:
    context = ssl.create_default_context(cafile=shared().ca_file)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    secure = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with Tap(scheme="https") as tap, socket.create_connection(("127.0.0.1", tap.port)) as sock:
        while True:
            try:
                secure.do_handshake()
                break
            except ssl.SSLWantReadError:
                sock.sendall(outgoing.read())
                incoming.write(sock.recv(65536))
        # The client's Finished, head and body leave in one segment of three records; two of them are the request's.
        secure.write(HEAD)
        secure.write(BODY)
        sock.sendall(outgoing.read())
        assert eventually(lambda: bool(tap.exchanges) and tap.exchanges[0].answered_ns > 0)
        assert (tap.exchanges[0].records, tap.exchanges[0].segments) == (2, 1)


def test_tls_12() -> None:
    with Tap(Script.of({"tls_max": "1.2"}), scheme="https") as tap:
        assert counts(tap, HEAD + BODY).most_common(1)[0][0] == (1, 1)
        assert tap.arrivals[0].tls_version == "TLSv1.2"


def test_exact_bytes_and_faults() -> None:
    with Tap() as tap:
        counts(tap, HEAD + BODY, requests=1)
        assert tap.exchanges[0].request.wire == HEAD + BODY
        assert tap.exchanges[0].request.problems == []
    with Tap() as tap:
        counts(tap, HEAD.replace(b"Host: a", b"Ho st: a") + BODY, requests=1)
        assert len(tap.exchanges[0].request.problems) == 2  # no valid name, and no Host


def test_bytes_behind_the_request_are_seen() -> None:
    with Tap(Script.of({"answers": [{"delay_ms": 30}]})) as tap:
        counts(tap, HEAD + BODY + b"more", requests=1)
        assert tap.exchanges[0].extra == 4


def test_small_segments() -> None:
    with Tap(Script.of({"mss": 1448})) as tap:
        body = b"x" * 5000
        seen = counts(tap, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n" + body)
        assert seen.most_common(1)[0][0][0] == 4


def test_early_answer_is_sent_before_the_body() -> None:
    script = Script.of({"answers": [{"when": "head", "status": 413, "then": "close"}]})
    with Tap(script) as tap, connected(tap) as sock:
        sock.sendall(HEAD)
        assert b"413" in answer(sock)
        sock.sendall(BODY)
        assert eventually(lambda: tap.exchanges[0].complete)


def test_split_interim_and_delay() -> None:
    script = {"answers": [{"interim": [103], "delay_ms": 20, "split": {"at": "head", "gap_ms": 30}}]}
    with Tap(Script.of(script)) as tap, connected(tap) as sock:
        started = time.monotonic_ns()
        sock.sendall(HEAD + BODY)
        data = answer(sock)
        assert data.startswith(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        assert data.count(b"HTTP/1.1") == 2
        exchange = tap.exchanges[0]
        assert eventually(lambda: exchange.answered_ns > 0)
        assert exchange.answer_ns - exchange.complete_ns >= 19_000_000
        assert exchange.last_write_ns - exchange.answer_ns >= 29_000_000
        assert time.monotonic_ns() - started >= 49_000_000


def test_expect_continue() -> None:
    head = HEAD.replace(b"Host: a", b"Host: a\r\nExpect: 100-continue")
    with Tap() as tap, connected(tap) as sock:
        sock.sendall(head)
        assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(BODY)
        answer(sock)
        assert tap.exchanges[0].segments == 2


@pytest.mark.parametrize(("then", "ends"), [("close", "end"), ("reset", "reset"), ("unsolicited", "poison")])
def test_what_follows_an_answer(then: str, ends: str) -> None:
    with Tap(Script.of({"answers": [{"then": then}]})) as tap, connected(tap) as sock:
        sock.sendall(HEAD + BODY)
        data, seen = b"", ""
        while not seen:
            try:
                piece = sock.recv(65536)
            except ConnectionResetError:
                seen = "reset"
                break
            data += piece
            seen = "end" if not piece else "poison" if data.endswith(b"poison") else ""
        assert seen == ends
        # A reset may overtake the answer; it is not lost otherwise.
        assert then == "reset" or b"ok" in data


def test_lost_packets_are_sent_again() -> None:
    script = Script.of({"answers": [{"drop_next_ms": 300}, {}]})
    with Tap(script) as tap, connected(tap) as sock:
        started = time.monotonic()
        for _ in range(2):
            sock.sendall(HEAD + BODY)
            answer(sock)
        assert time.monotonic() - started >= 0.3


def test_a_server_that_stops_reading_closes_the_window() -> None:
    script = Script.of({"rcvbuf": 4096, "answers": [{"stop_reading": {"after_bytes": 1, "for_ms": 150}}]})
    with Tap(script) as tap, connected(tap) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        started = time.monotonic()
        sock.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300000)
        assert time.monotonic() - started > 0.1


def test_connect_proxy_and_forward_proxy() -> None:
    with Tap(scheme="https", route="connect") as tap:
        with socket.create_connection(("127.0.0.1", tap.proxy_port)) as sock:
            sock.sendall(b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n")
            assert answer(sock, b"\r\n\r\n").startswith(b"HTTP/1.1 200")
            context = ssl.create_default_context(cafile=shared().ca_file)
            with context.wrap_socket(sock, server_hostname="localhost") as secure:
                for _ in range(3):
                    secure.sendall(HEAD + BODY)
                    answer(secure)
        assert [(exchange.via, exchange.segments) for exchange in tap.exchanges[1:]] == [("connect", 1)] * 2
    with Tap(route="forward") as tap, socket.create_connection(("127.0.0.1", tap.proxy_port)) as sock:
        sock.sendall(b"GET http://a/p?q HTTP/1.1\r\nHost: a\r\n\r\n")
        answer(sock)
        assert (tap.exchanges[0].via, tap.exchanges[0].request.path) == ("forward", "/p?q")


@pytest.mark.parametrize(
    ("certificate", "why"),
    [("wrong_name", "Hostname mismatch"), ("untrusted", "unable to get local issuer")],
)
def test_bad_certificates_are_bad(certificate: str, why: str) -> None:
    with (
        Tap(Script.of({"certificate": certificate}), scheme="https") as tap,
        pytest.raises(ssl.SSLCertVerificationError, match=why),
    ):
        connected(tap)


def test_unanswered_and_refused() -> None:
    with Tap(Script.of({"target": "refused"})) as tap:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", tap.port))
        with pytest.raises(OSError, match="in use"):  # nobody else gets the port meanwhile
            socket.create_server(("127.0.0.1", tap.port))
    with Tap(Script.of({"target": "unanswered"})) as tap, pytest.raises(TimeoutError):
        socket.create_connection(("127.0.0.1", tap.port), timeout=0.2)


def test_by_path_and_the_nth_answer() -> None:
    script = Script.of({"answers": [{"status": 201}, {"status": 202}], "by_path": {"/a": {"redirect": "{base}/b"}}})
    with Tap(script) as tap, connected(tap) as sock:
        seen = []
        for path in (b"/x", b"/a", b"/x", b"/x"):
            sock.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: a\r\n\r\n")
            seen.append(answer(sock).split()[1])
        assert seen == [b"201", b"302", b"202", b"202"]
