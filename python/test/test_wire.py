"""One request, one write: counted by the kernel of the receiver."""

from __future__ import annotations

import io
import typing

import pytest
import urllib3

import onewrite
from onewrite import _base_version as _base
from tap import Peer, Seen, Tap, mode, reply

ROUNDS = 20


def own(tap: Tap, ca: str, **keywords: typing.Any) -> typing.Any:
    if tap.proxy:
        return onewrite.ProxyManager(tap.url(), ca_certs=ca, **keywords)
    return onewrite.PoolManager(ca_certs=ca, **keywords)


def base(tap: Tap, ca: str, **keywords: typing.Any) -> typing.Any:
    if tap.proxy:
        return urllib3.ProxyManager(tap.url(), ca_certs=ca, **keywords)
    return urllib3.PoolManager(ca_certs=ca, **keywords)


@pytest.fixture(params=["own", "installed"])
def manager(request: pytest.FixtureRequest, authority: typing.Any) -> typing.Iterator[typing.Any]:
    """Makes a manager for a tap: our class, or urllib3's own under install()."""
    if request.param == "installed":
        onewrite.install()
    made = own if request.param == "own" else base
    yield lambda tap, **keywords: made(tap, authority.pem, **keywords)
    onewrite.uninstall()


def target(tap: Tap, route: str, path: str = "/") -> str:
    return f"{'https' if tap.context else 'http'}://127.0.0.1:{tap.port}{path}"


def tapped(make: typing.Any, route: str) -> Tap:
    tls = route in ("https", "connect")
    return make(tls=tls, proxy=route in ("forward", "connect"))


def counts(tap: Tap, tls: bool) -> tuple[int, int | None]:
    seen = tap.seen[-ROUNDS:]
    return mode(one.segments for one in seen), mode(one.records for one in seen) if tls else None


BODIES: dict[str, typing.Callable[[typing.Any], dict[str, typing.Any]]] = {
    "bytes": lambda tmp: {"body": b"x" * 200},
    "text": lambda tmp: {"body": "x" * 200},
    "bytearray": lambda tmp: {"body": bytearray(b"x" * 200)},
    "memoryview": lambda tmp: {"body": memoryview(b"x" * 200)},
    "bytesio": lambda tmp: {"body": io.BytesIO(b"x" * 200), "headers": {"Content-Length": "200"}},
    "stringio": lambda tmp: {"body": io.StringIO("x" * 200), "headers": {"Content-Length": "200"}},
    "file": lambda tmp: {"body": _file(tmp), "headers": {"Content-Length": "200"}},
    "list": lambda tmp: {"body": [b"x" * 100, b"x" * 100], "headers": {"Content-Length": "200"}},
    "chunked bytes": lambda tmp: {"body": b"x" * 200, "chunked": True},
    "multipart": lambda tmp: {"fields": {"a": "x" * 100, "f": ("name", b"x" * 100)}},
    "form": lambda tmp: {"fields": {"a": "x" * 200}, "encode_multipart": False},
    "none": lambda tmp: {},
    "empty": lambda tmp: {"body": b""},
    "15 KiB": lambda tmp: {"body": b"x" * 15 * 1024},
}


def _file(tmp: typing.Any) -> typing.BinaryIO:
    path = tmp / "body"
    path.write_bytes(b"x" * 200)
    return open(path, "rb")


@pytest.mark.parametrize(
    ("kind", "route"),
    [(kind, route) for kind in BODIES for route in ("http", "https")]
    + [(kind, route) for kind in ("bytes", "none", "form") for route in ("forward", "connect")],
)
def test_small_bodies_arrive_in_one_segment(
    kind: str, route: str, manager: typing.Any, tap: typing.Any, tmp_path: typing.Any
) -> None:
    server = tapped(tap, route)
    http = manager(server)
    for _ in range(ROUNDS + 1):
        keywords = BODIES[kind](tmp_path)
        assert http.request("POST", target(server, route), **keywords).data == b"ok"
        if hasattr(keywords.get("body"), "close"):
            keywords["body"].close()
    tls = route in ("https", "connect")
    assert counts(server, tls) == (1, 1 if tls else None)
    if kind not in ("none", "empty", "multipart", "form", "15 KiB"):
        assert server.seen[-1].body == b"x" * 200
    assert server.connections == 1
    http.clear()


@pytest.mark.parametrize("route", ["http", "https"])
@pytest.mark.parametrize("kind", sorted({"bytes", "chunked bytes", "bytesio", "multipart", "form", "empty", "none"}))
def test_bytes_are_those_of_the_base_library(kind: str, route: str, tap: typing.Any, tmp_path: typing.Any) -> None:
    server = tapped(tap, route)
    ca = {"cert_reqs": "CERT_NONE"} if server.context else {}
    urllib3.disable_warnings()
    for http in (urllib3.PoolManager(**ca), onewrite.PoolManager(**ca)):
        for headers in ({}, {"User-Agent": "test"}, {"Accept-Encoding": "gzip"}, {"Host": "other"}):
            keywords = BODIES[kind](tmp_path)
            if kind == "multipart":
                keywords["multipart_boundary"] = "boundary"
            more = {"X-One": "1", "x-two": "zwei", "X-Three": "\xe4", **headers}
            keywords["headers"] = {**more, **keywords.get("headers", {})}
            others = () if "fields" in keywords else ("GET", "DELETE", "OPTIONS", "patch")
            for method in ("POST", "PUT", *others):
                http.request(method, target(server, route, "/a?b=c%20d&e=\xe4"), **keywords)
                if hasattr(keywords.get("body"), "seek"):
                    keywords["body"].seek(0)
        http.clear()
    half = len(server.seen) // 2
    for stock, ours in zip(server.seen[:half], server.seen[half:], strict=True):
        assert ours.head == stock.head
        assert ours.raw == stock.raw


@pytest.mark.parametrize("size", [16384, 20000, 40000, 1_000_000, 10_000_000])
@pytest.mark.parametrize("route", ["http", "https"])
def test_large_bodies_begin_with_the_head_and_arrive_whole(
    size: int, route: str, manager: typing.Any, tap: typing.Any
) -> None:
    body = bytes(range(256)) * (size // 256 + 1)
    server = tapped(tap, route)
    http = manager(server)
    for _ in range(3):
        assert http.request("POST", target(server, route), body=body[:size]).status == 200
        assert server.seen[-1].body == body[:size]
    if route == "https":
        whole = len(server.seen[-1].head) + size
        assert server.seen[-1].records == -(-whole // 16384)  # every record but the last is full
    http.clear()


def test_a_large_body_is_one_write_on_a_plain_socket(tap: typing.Any) -> None:
    server = tap()
    timings: list[onewrite.Timing] = []
    http = onewrite.PoolManager(on_timing=timings.append)
    http.request("POST", server.url(), body=b"x" * 60_000)
    assert [one.attempts[0].writes for one in timings] == [1]


def test_iterators_are_not_waited_for(manager: typing.Any, tap: typing.Any) -> None:
    server = tap()
    order: list[str] = []
    until = Peer.until

    def noted(peer: Peer, mark: bytes) -> bytes:
        found = until(peer, mark)
        if mark == b"\r\n\r\n":
            order.append("head arrived")
            arrived.set()
        return found

    import threading

    arrived = threading.Event()

    def body() -> typing.Iterator[bytes]:
        assert arrived.wait(5), "the head did not come before the first chunk was asked for"
        order.append("first chunk asked for")
        yield b"one"
        yield b"two"

    Peer.until = noted  # type: ignore[method-assign]
    try:
        http = manager(server)
        http.request("POST", server.url(), body=body(), chunked=True)
    finally:
        Peer.until = until  # type: ignore[method-assign]
    assert order[:2] == ["head arrived", "first chunk asked for"]
    assert server.seen[0].raw == b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"


def test_a_file_is_read_no_further_than_one_record_before_the_first_write(tap: typing.Any) -> None:
    class Watched(io.BytesIO):
        pass

    server = tap()
    timings: list[onewrite.Timing] = []
    http = onewrite.PoolManager(on_timing=timings.append)
    http.request("POST", server.url(), body=io.BytesIO(b"x" * 60_000), headers={"Content-Length": "60000"})
    assert server.seen[0].body == b"x" * 60_000
    # head with the first block, then block by block as the base library reads them
    assert timings[0].attempts[0].writes == -(-60_000 // (8192 if _base.IS_V1 else 16384)) - (1 if _base.IS_V1 else 0)


def test_expect_continue_sends_the_head_alone(manager: typing.Any, tap: typing.Any) -> None:
    server = tap()
    http = manager(server)
    for _ in range(ROUNDS):
        http.request("POST", server.url(), body=b"x" * 200, headers={"Expect": "100-continue"})
    assert mode(one.segments for one in server.seen) == 2


@pytest.mark.parametrize("kind", ["bytesio", "file", "bytes", "list"])
def test_retries_and_redirects_send_the_body_again(
    kind: str, manager: typing.Any, tap: typing.Any, tmp_path: typing.Any
) -> None:
    answers = {"/busy": ["503 Busy", "503 Busy", "200 OK"], "/moved": ["307 Temporary Redirect"]}

    def answering(peer: Peer, seen: Seen) -> None:
        left = answers.get(seen.line.split()[1], [])
        status = left.pop(0) if left else "200 OK"
        peer.send(reply(b"", status, "Location: /there"))

    server = tap(answering)
    http = manager(server)
    # urllib3 rewinds a file for a pool's redirect, and not for a manager's.
    pool = http.connection_from_url(server.url())
    retries = urllib3.Retry(3, status_forcelist=[503], allowed_methods=None)
    for send in (
        lambda **keywords: http.request("POST", server.url("/busy"), retries=retries, **keywords),
        lambda **keywords: pool.request("POST", "/moved", **keywords),
    ):
        keywords = BODIES[kind](tmp_path)
        assert send(**keywords).status == 200
        if hasattr(keywords["body"], "close"):
            keywords["body"].close()
    assert [one.line.split()[1] for one in server.seen] == ["/busy", "/busy", "/busy", "/moved", "/there"]
    assert {one.body for one in server.seen} == {b"x" * 200}
    http.clear()


def test_requests_of_many_threads_do_not_mix(manager: typing.Any, tap: typing.Any) -> None:
    import concurrent.futures

    def echo(peer: Peer, seen: Seen) -> None:
        peer.send(reply(seen.body))

    server = tap(echo)
    http = manager(server, maxsize=8, block=True)

    def one(number: int) -> bool:
        body = str(number).encode() * 50
        return bool(http.request("POST", server.url(), body=body).data == body)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(200)))
    assert mode(one.segments for one in server.seen) == 1
    assert server.connections <= 8


@pytest.mark.parametrize("limit", [0, 100, 300, 16384])
def test_coalesce_max_bounds_the_join_and_loses_nothing(limit: int, tap: typing.Any, authority: typing.Any) -> None:
    server = tap(tls=True)
    http = onewrite.PoolManager(ca_certs=authority.pem, coalesce_max=limit)
    for _ in range(ROUNDS):
        http.request("POST", server.url(), body=b"x" * 200)
    assert server.seen[-1].body == b"x" * 200
    assert mode(one.records for one in server.seen) == (1 if limit == 16384 else 2)


def test_partial_writes_lose_nothing(tap: typing.Any) -> None:
    import time

    def slow(peer: Peer, seen: Seen) -> None:
        peer.send(reply(str(len(seen.body)).encode()))

    server = tap(slow)
    body = bytes(range(256)) * 40_000
    pause = Peer.exactly

    def slowly(peer: Peer, size: int) -> bytes:
        time.sleep(0.05)
        return pause(peer, size)

    Peer.exactly = slowly  # type: ignore[method-assign]
    try:
        assert onewrite.PoolManager(timeout=60).request("POST", server.url(), body=body).data == str(len(body)).encode()
    finally:
        Peer.exactly = pause  # type: ignore[method-assign]
    assert server.seen[0].body == body
