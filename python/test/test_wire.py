"""One request, one write: counted by the kernel of the receiver."""

from __future__ import annotations

import copy
import io
import socket
import typing

import pytest
import urllib3

import onewrite
from tap import Peer, Seen, Tap, mode, reply, waiting_for_a_body

ROUNDS = 20


@pytest.fixture
def manager(library: typing.Any, authority: typing.Any) -> typing.Callable[[Tap], typing.Any]:
    """Makes a manager for a tap."""

    def make(tap: Tap) -> typing.Any:
        if tap.proxy:
            return library.ProxyManager(tap.url(), ca_certs=authority.pem)
        return library.PoolManager(ca_certs=authority.pem)

    return make


def target(tap: Tap, route: str, path: str = "/") -> str:
    return f"{'https' if tap.context else 'http'}://127.0.0.1:{tap.port}{path}"


def tapped(make: typing.Any, route: str) -> Tap:
    tls = route in ("https", "connect")
    return make(tls=tls, proxy=route in ("forward", "connect"))


def counts(tap: Tap, tls: bool) -> tuple[int, int | None]:
    seen = tap.seen[-ROUNDS:]
    return mode(one.segments for one in seen), mode(one.records for one in seen) if tls else None


BODIES: dict[str, typing.Callable[[], dict[str, typing.Any]]] = {
    "bytes": lambda: {"body": b"x" * 200},
    "text": lambda: {"body": "x" * 200},
    "bytearray": lambda: {"body": bytearray(b"x" * 200)},
    "memoryview": lambda: {"body": memoryview(b"x" * 200)},
    "bytesio": lambda: {"body": io.BytesIO(b"x" * 200), "headers": {"Content-Length": "200"}},
    "list": lambda: {"body": [b"x" * 100, b"x" * 100], "headers": {"Content-Length": "200"}},
    "chunked bytes": lambda: {"body": b"x" * 200, "chunked": True},
    "multipart": lambda: {"fields": {"a": "x" * 100, "f": ("name", b"x" * 100)}},
    "form": lambda: {"fields": {"a": "x" * 200}, "encode_multipart": False},
    "none": dict,
    "empty": lambda: {"body": b""},
    "15 KiB": lambda: {"body": b"x" * 15 * 1024},
}


@pytest.mark.parametrize(
    ("kind", "route"),
    [(kind, "http") for kind in BODIES]
    + [(kind, route) for kind in ("bytes", "none", "form") for route in ("https", "forward", "connect")],
)
def test_small_bodies_arrive_in_one_segment(kind: str, route: str, manager: typing.Any, tap: typing.Any) -> None:
    server = tapped(tap, route)
    http = manager(server)
    for _ in range(ROUNDS + 1):
        keywords = BODIES[kind]()
        assert http.request("POST", target(server, route), **keywords).data == b"ok"
        if hasattr(keywords.get("body"), "close"):
            keywords["body"].close()
    tls = route in ("https", "connect")
    assert counts(server, tls) == (1, 1 if tls else None)
    if kind not in ("none", "empty", "multipart", "form", "15 KiB"):
        assert server.seen[-1].body == b"x" * 200
    assert server.connections == 1
    http.clear()


@pytest.mark.parametrize("size", [16384, 40000, 10_000_000])
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


def test_iterators_are_not_waited_for(library: typing.Any) -> None:
    waited: list[bool] = []
    with waiting_for_a_body() as (url, arrived, bodies):

        def body() -> typing.Iterator[bytes]:
            waited.append(arrived.wait(5))
            yield b"one"
            yield b"two"

        library.PoolManager().request("POST", url, body=body(), chunked=True)
    assert waited == [True], "the head came before the first chunk was asked for"
    assert bodies == [b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"]


def test_expect_continue_sends_the_head_alone(manager: typing.Any, tap: typing.Any) -> None:
    server = tap()
    http = manager(server)
    for _ in range(ROUNDS):
        http.request("POST", server.url(), body=b"x" * 200, headers={"Expect": "100-continue"})
    assert mode(one.segments for one in server.seen) == 2


def test_a_copy_of_a_manager_joins_too(tap: typing.Any) -> None:
    server = tap()
    with copy.copy(onewrite.PoolManager()) as http:
        for _ in range(20):
            assert http.request("POST", server.url(), body=b"x" * 200).status == 200
    assert mode(one.segments for one in server.seen) == 1


@pytest.mark.parametrize("kind", ["bytesio", "bytes", "list"])
def test_retries_and_redirects_send_the_body_again(kind: str, manager: typing.Any, tap: typing.Any) -> None:
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
        keywords = BODIES[kind]()
        assert send(**keywords).status == 200
        if hasattr(keywords["body"], "close"):
            keywords["body"].close()
    assert [one.line.split()[1] for one in server.seen] == ["/busy", "/busy", "/busy", "/moved", "/there"]
    assert {one.body for one in server.seen} == {b"x" * 200}
    http.clear()


def test_partial_writes_lose_nothing(library: typing.Any, tap: typing.Any) -> None:
    """The kernel takes neither the whole head nor the whole body at once."""
    server = tap()
    body = bytes(range(256)) * 4000
    http = library.PoolManager(socket_options=[(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)], timeout=20)
    http.request("POST", server.url(), body=body, headers={"X-Long": "y" * 60_000})
    (seen,) = server.seen
    assert seen.header("X-Long") == "y" * 60_000
    assert seen.body == body
    http.clear()
