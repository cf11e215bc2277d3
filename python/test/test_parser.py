"""The strict parser gives what the standard one gives, or leaves the head to it."""

from __future__ import annotations

import typing

import pytest
import urllib3
from hypothesis import given, settings
from hypothesis import strategies as st

import heads
import onewrite
from onewrite._urllib3 import head, pool
from tap import Peer, Seen, reply

pytestmark = pytest.mark.skipif(pool.OFF is not None, reason="this urllib3 has no seam")


def test_generated_heads() -> None:
    count, short = heads.run(5000, seed=1)
    assert count / 10 < short < count * 0.9, "both ways are taken"


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=12), st.text(max_size=20)), max_size=5),
    st.binary(max_size=8),
    st.sampled_from(["GET", "HEAD"]),
)
def test_any_heads(fields: list[tuple[str, str]], rest: bytes, method: str) -> None:
    lines = [f"{name}: {value}".encode("utf-8", "surrogatepass") for name, value in fields]
    heads.same(b"HTTP/1.1 200 OK\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + rest, method)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=100))
def test_any_bytes(data: bytes) -> None:
    heads.same(b"HTTP/1.1 200 OK\r\nA: b\r\n" + data, "GET")


@pytest.mark.parametrize("count", [99, 100, 101])
def test_as_many_lines_as_the_standard_parser_takes(count: int) -> None:
    heads.same(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * count + b"\r\n", "GET")


@pytest.mark.parametrize(
    "data",
    [b"HTTP/1.1 200 OK\r\nA: b\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n b\r\n\r\n", b"HTTP/1.1 200 OK\r\nA\r\n\r\n"],
)
def test_left_to_the_standard_parser(data: bytes) -> None:
    assert head.read(data, "GET") is None


@pytest.mark.parametrize("size", [b"-5", b"ffffffffffffffffff", b"8000000000000000", b"5x", b""])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("how", ["own", "installed"])
def test_chunk_sizes_out_of_range_end_as_in_urllib3(how: str, stream: bool, size: bytes, tap: typing.Any) -> None:
    """The same error after the same number of requests."""

    def answer(peer: Peer, seen: Seen) -> None:
        if seen.line.startswith("GET"):
            peer.send(reply())
        else:
            peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\nhello\r\n")
            raise EOFError

    found = []
    for library in ("stock", how):
        server = tap(answer)
        if library == "installed":
            onewrite.install()
        http = (onewrite if library == "own" else urllib3).PoolManager()
        try:
            http.request("GET", server.url())
            with pytest.raises(Exception) as caught:  # noqa: PT011 - bare ValueError and OverflowError among them
                list(http.request("PUT", server.url(), retries=2, preload_content=not stream).stream())
        finally:
            onewrite.uninstall()
        found.append((type(caught.value), len(server.seen)))
        http.clear()
        caught = None  # type: ignore[assignment]
    assert found[0] == found[1]
