"""A streamed body that breaks ends the record with the error that its reader got, and when the reader got it."""

from __future__ import annotations

import typing
import zlib

import pytest
import urllib3

import onewrite
import onewrite.requests
from onewrite import _base_version
from tap import Peer, Seen, reply

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n"
DEFLATED = zlib.compress(b"x" * 100_000)
BROKEN = {
    "shorter than its length": (OK + b"Content-Length: 100\r\n\r\nhalf", "closed"),
    "ends in a chunk": (CHUNKED + b"\r\n64\r\nhalf", "closed"),
    "ends between chunks": (CHUNKED + b"\r\n4\r\nhalf\r\n", "closed"),
    "a chunk size that is none": (CHUNKED + b"\r\n4\r\nhalf\r\nzz\r\n", "protocol"),
    "chunks that cannot be decoded": (
        CHUNKED + b"Content-Encoding: gzip\r\n\r\n4\r\nhalf\r\n4\r\nhalf\r\n",
        "protocol",
    ),
    "cannot be decoded": (OK + b"Content-Encoding: gzip\r\nContent-Length: 100\r\n\r\n" + b"x" * 50, "protocol"),
}


def answers(answer: bytes) -> typing.Callable[[Peer, Seen], None]:
    def answering(peer: Peer, seen: Seen) -> None:
        peer.send(answer)
        raise EOFError

    return answering


def read_by_urllib3(http: typing.Any, url: str) -> None:
    response = http.request("GET", url, preload_content=False)
    with pytest.raises(urllib3.exceptions.HTTPError):
        for _ in response.stream(16, decode_content=True):
            pass


@pytest.mark.parametrize("how", ["own", "installed", "requests"])
@pytest.mark.parametrize("kind", BROKEN)
def test_the_record_has_the_error(kind: str, how: str, tap: typing.Any) -> None:
    answer, error_kind = BROKEN[kind]
    if _base_version.IS_V1 and kind == "shorter than its length":
        pytest.skip("urllib3 1.26 takes a body that ends early for a whole one")
    server = tap(answers(answer))
    timings: list[onewrite.Timing] = []
    if how == "requests":
        requests = pytest.importorskip("requests")
        session = requests.Session()
        session.trust_env = False
        session.mount("http://", onewrite.requests.Adapter(on_timing=timings.append))
        response = session.get(server.url(), stream=True)
        with pytest.raises(requests.RequestException):
            list(response.iter_content(16))
    elif how == "own":
        read_by_urllib3(onewrite.PoolManager(on_timing=timings.append), server.url())
    else:
        onewrite.install(on_timing=timings.append)
        read_by_urllib3(urllib3.PoolManager(), server.url())
    assert [(one.outcome, one.error_kind, one.error_phase) for one in timings] == [("error", error_kind, "receive")]
    assert timings[0].status == 200
    assert timings[0].receive_ns > 0, "it lasts until the attempt's end"
    assert timings[0].attempts[0].outcome == "error"


@pytest.mark.parametrize("how", ["closed", "closed in an except clause"])
@pytest.mark.parametrize("body", [OK + b"Content-Length: 100\r\n\r\nhalf", CHUNKED + b"\r\n4\r\nhalf\r\n"])
def test_a_body_that_is_given_up_is_no_error(body: bytes, how: str, tap: typing.Any) -> None:
    server = tap(answers(body))
    timings: list[onewrite.Timing] = []
    http = onewrite.PoolManager(on_timing=timings.append)
    response = http.request("GET", server.url(), preload_content=False)
    next(response.stream(4))
    if how == "closed":
        response.close()
    else:
        try:
            int("not a number")
        except ValueError:
            response.close()
    assert [one.outcome for one in timings] == ["ok"]


def test_a_body_that_is_read_to_its_end_is_no_error(tap: typing.Any) -> None:
    packed = reply(DEFLATED, "200 OK", "Content-Encoding: deflate")
    server = tap(lambda peer, seen: peer.send(packed))
    timings: list[onewrite.Timing] = []
    http = onewrite.PoolManager(on_timing=timings.append)
    response = http.request("GET", server.url(), preload_content=False)
    assert b"".join(response.stream(1000)) == b"x" * 100_000
    assert [(one.outcome, one.attempts[0].bytes_received) for one in timings] == [("ok", len(DEFLATED))]
    http.clear()
