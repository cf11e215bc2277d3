"""The probe: what it reads of answers of every framing, what it times and counts, and what it calls bad."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from onewrite_lab.certificates import shared
from onewrite_lab.probe import BadAnswer, Exchange, NotHttp, Probe, request_pieces
from onewrite_lab.tap import Answer, Script, Tap

HEAD = b"HTTP/1.1 200 OK\r\n"
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
BODY = b"Content-Length: 3\r\n\r\nok\n"
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n"
ASK = [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"]


@contextmanager
def answering(*pieces: bytes, ends: bool = True) -> Iterator[Probe]:
    done = threading.Event()

    def serve() -> None:
        sock, _ = listener.accept()
        with sock:
            sock.recv(65536)
            for piece in pieces:
                sock.sendall(piece)
            if not ends:
                done.wait(10)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        probe = Probe(listener.getsockname(), timeout_s=0.5)
        try:
            yield probe
        finally:
            done.set()
            probe.close()
            thread.join()


@pytest.mark.parametrize(
    ("pieces", "status", "size", "keep_alive"),
    [
        ((HEAD, BODY), 200, 3, True),
        ((EARLY, EARLY.replace(b"103", b"100") + HEAD, BODY), 200, 3, True),
        ((HEAD, CHUNKS, b"3;a=b\r\nok\n\r\n0\r\nX: y\r\n\r\n"), 200, 3, True),
        ((HEAD, b"Connection: close\r\n", BODY), 200, 3, False),
        ((HEAD, b"\r\nuntil the end"), 200, 13, False),
        ((b"HTTP/1.0 200 OK\r\n", BODY), 200, 3, False),
        ((b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",), 304, 0, True),
    ],
)
def test_each_framing_is_read(pieces: tuple[bytes, ...], status: int, size: int, keep_alive: bool) -> None:
    with answering(*pieces) as probe:
        made = probe.exchange(ASK, "GET")
    assert (made.status, made.size, made.keep_alive) == (status, size, keep_alive)
    assert made.tail_ns >= 0


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (EARLY,),
        (HEAD, b"Content-Length: 4\r\n\r\nok\n"),
        (HEAD, CHUNKS, b"9\r\nok\n"),
        (HEAD, CHUNKS, b"zz\r\nok\n"),
    ],
)
def test_what_is_not_whole_is_bad(pieces: tuple[bytes, ...]) -> None:
    with answering(*pieces) as probe, pytest.raises(BadAnswer):
        probe.exchange(ASK, "GET")


@pytest.mark.parametrize(
    "start", [b"220 mail.example\r\n", b"SSH-2.0", b"\x15\x03\x01\x00\x02", b"HTTP/2.0 200\r\n\r\n"]
)
def test_what_is_not_http_is_known_by_its_first_bytes(start: bytes) -> None:
    with answering(start, ends=False) as probe, pytest.raises(NotHttp, match=r"not an HTTP/1\.1 answer"):
        probe.exchange(ASK, "GET")


@pytest.mark.parametrize(("piece", "words"), [(b"", "no byte of an answer"), (HEAD, "the answer began")])
def test_what_comes_too_late_is_named(piece: bytes, words: str) -> None:
    with answering(piece, ends=False) as probe, pytest.raises(TimeoutError, match=words):
        probe.exchange(ASK, "GET")


def requests(tap: Tap, *, writes: int, nodelay: bool, quick: bool | None = None) -> list[Exchange]:
    url = f"{tap.base}/path?q"
    probe = Probe.to(url, nodelay=nodelay, ca_file=shared().ca_file)
    made = [probe.exchange(request_pieces(url, b"x" * 200, writes=writes), gap_s=0.001, quick=quick) for _ in range(8)]
    probe.close()
    return made


def late(made: list[Exchange], name: str) -> int:
    """How many took half of Linux's shortest delayed ACK; the kernel's account is not a busy machine's delay."""
    return sum((getattr(one, name) or 0) > 20_000_000 for one in made)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_it_splits_and_counts_and_sees_what_nagle_holds(scheme: str) -> None:
    with Tap(scheme=scheme, delay_acks=True) as tap:
        split = requests(tap, writes=2, nodelay=False)
        whole = requests(tap, writes=1, nodelay=True)
        assert {one.request.method + one.request.target for one in tap.exchanges} == {"POST/path?q"}
        assert sorted({one.segments for one in tap.exchanges if one.segments}) == [1, 2]
    assert late(split, "held_ns") >= 6
    assert (late(whole, "held_ns"), {one.held_bytes for one in whole}) == (0, {0})
    # The tickets of TLS may come in a segment before the first answer.
    assert {one.segments for one in whole[1:]} == {1}
    assert all(one.paused_ns >= 1_000_000 and one.total_ns > 0 for one in split)


def test_a_split_answer_waits_for_a_delayed_ack_and_not_for_a_quick_one() -> None:
    with Tap(Script(answers=[Answer(split={"at": "head"}, nagle=True)])) as tap:
        assert late(requests(tap, writes=1, nodelay=True, quick=False), "tail_ns") >= 6
        assert late(requests(tap, writes=1, nodelay=True, quick=True), "tail_ns") <= 1


def test_pieces_of_a_request() -> None:
    whole = b"".join(request_pieces("http://h:1/a?b", b"x" * 10))
    assert whole.startswith(b"POST /a?b HTTP/1.1\r\nHost: h:1\r\n")
    head, *body = request_pieces("http://h:1/a?b", b"x" * 10, writes=4)
    assert (head + b"".join(body), [len(piece) for piece in body]) == (whole, [4, 4, 2])
    assert request_pieces("http://h:1", b"", proxied=True)[0].startswith(b"POST http://h:1/ HTTP/1.1\r\n")
    assert request_pieces("https://h:1", b"", "PUT", proxied=True)[0].startswith(b"PUT / HTTP/1.1\r\n")


def test_through_a_tunnel() -> None:
    with Tap(scheme="https", route="connect") as tap:
        proxy = f"http://127.0.0.1:{tap.proxy_port}"
        probe = Probe.to(tap.base, ca_file=shared().ca_file, proxy=proxy)
        assert probe.exchange(request_pieces(tap.base, b"x", proxied=True)).status == 200
        probe.close()
        assert tap.exchanges[0].via == "connect"
    refusing = Script.of({"proxy": {"status": 407}})
    with Tap(refusing, scheme="https", route="connect") as tap, pytest.raises(BadAnswer, match="407"):
        Probe.to(tap.base, ca_file=shared().ca_file, proxy=f"http://127.0.0.1:{tap.proxy_port}")


def test_a_certificate_of_another_name_is_refused() -> None:
    with (
        Tap(Script.of({"certificate": "wrong_name"}), scheme="https") as tap,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        Probe.to(tap.base, ca_file=shared().ca_file)
