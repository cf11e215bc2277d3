"""Early answers, timeouts and block sizes are those of urllib3."""

from __future__ import annotations

import io
import socket
import threading
import typing

import pytest
import urllib3

import onewrite
from onewrite import _base_version as _base
from tap import Peer, Seen, listening, reply

WAYS = ["stock", "own", "own with hooks", "installed", "installed with hooks"]
Make = typing.Callable[..., typing.Any]


@pytest.fixture(params=WAYS)
def make(request: pytest.FixtureRequest) -> typing.Iterator[Make]:
    """Makes a manager; ``make.timings`` are its records, None without hooks."""
    timings: list[onewrite.Timing] | None = [] if "hooks" in request.param else None
    hooks: dict[str, typing.Any] = {} if timings is None else {"on_timing": timings.append}
    if request.param.startswith("installed"):
        onewrite.install(**hooks)
    if request.param.startswith("own"):

        def made(**keywords: typing.Any) -> typing.Any:
            return onewrite.PoolManager(**hooks, **keywords)
    else:

        def made(**keywords: typing.Any) -> typing.Any:
            return urllib3.PoolManager(**keywords)

    made.timings = timings  # type: ignore[attr-defined]
    yield made
    onewrite.uninstall()


class Hasty:
    """Answers as soon as it has the head and closes without reading the body, which resets the connection."""

    def __init__(self) -> None:
        self.done = 0
        self.listener = listening(self._answer)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def _answer(self, sock: socket.socket) -> None:
        while b" /warm " in head(sock):
            sock.sendall(reply())
        sock.sendall(reply(b"too large", "413 Content Too Large", "Connection: close"))
        self.done += 1
        sock.shutdown(socket.SHUT_WR)  # an end before the reset: EPIPE, which every urllib3 forgives


def head(sock: socket.socket) -> bytes:
    """A request's head; bytes read behind it are dropped."""
    return Peer(sock, 1, None).until(b"\r\n\r\n")


#: Far more than the socket buffers of both sides hold.
LARGE = 30_000_000
BODIES: dict[str, typing.Callable[[], dict[str, typing.Any]]] = {
    "bytes": lambda: {"body": b"x" * LARGE},
    "file": lambda: {"body": io.BytesIO(b"x" * LARGE), "headers": {"Content-Length": str(LARGE)}},
    "chunks": lambda: {"body": (b"x" * 1_000_000 for _ in range(LARGE // 1_000_000)), "chunked": True},
}


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("kind", BODIES)
def test_an_early_answer_is_heard(kind: str, warm: bool, make: Make) -> None:
    """Sending fails because the server does not read the body, and its answer is returned all the same."""
    server = Hasty()
    http = make(retries=False)
    for _ in range(3):
        if warm:
            assert http.request("GET", server.url + "/warm").data == b"ok"
        response = http.request("POST", server.url + "/", **BODIES[kind]())
        assert (response.status, response.data) == (413, b"too large")
    assert server.done == 3
    timings = make.timings  # type: ignore[attr-defined]
    if timings is not None:
        early = [one for one in timings if one.method == "POST"]
        assert [(one.outcome, one.status) for one in early] == [("ok", 413)] * 3
        assert all((one.attempts[0].bytes_sent or 0) <= LARGE * 1.01 for one in early)
    http.clear()
    server.listener.close()


@pytest.mark.parametrize("body", [None, b"x" * 200])
@pytest.mark.parametrize("framed", [True, False])
def test_a_caller_may_ask_for_connect(framed: bool, body: bytes | None, make: Make, tap: typing.Any) -> None:
    """http.client reads the answer as that of any method: without a length its body ends with the connection."""

    def answer(peer: Peer, seen: Seen) -> None:
        peer.send(reply() if framed else b"HTTP/1.1 200 Connection established\r\n\r\nok")
        if not framed:
            raise EOFError

    server = tap(answer)
    http = make(retries=False)
    for _ in range(2):
        response = http.request("CONNECT", server.url("/x"), body=body, timeout=20)
        assert (response.status, response.data) == (200, b"ok")
    assert [(seen.line, seen.body) for seen in server.seen] == [("CONNECT /x HTTP/1.1", body or b"")] * 2
    assert server.connections == (1 if framed else 2)
    http.clear()


class Counting(io.BytesIO):
    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.sizes: list[int | None] = []

    def read(self, size: int | None = -1) -> bytes:
        self.sizes.append(size)
        return super().read(size)


#: urllib3 1.26 has no such option.
BLOCK_SIZES = [None] if _base.IS_V1 else [None, 1000, 16384, 65536]


@pytest.mark.parametrize("blocksize", BLOCK_SIZES)
def test_blocks_are_as_large_as_asked_for(blocksize: int | None, make: Make, tap: typing.Any) -> None:
    server = tap()
    keywords = {} if blocksize is None else {"blocksize": blocksize}
    expected = None
    for http in (urllib3.PoolManager(**keywords), make(**keywords)):
        for _ in range(2):
            body = Counting(b"x" * 100_000)
            http.request("POST", server.url(), body=body, headers={"Content-Length": "100000"})
            assert server.seen[-1].body == b"x" * 100_000
            expected = expected or body.sizes
            assert body.sizes == expected
        http.clear()


class Silent:
    """Answers *answers* requests, then neither reads nor writes."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.over = threading.Event()
        self.listener = listening(self._answer)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"

    def _answer(self, sock: socket.socket) -> None:
        for _ in range(self.answers):
            head(sock)
            sock.sendall(reply())
        self.over.wait(60)

    def close(self) -> None:
        self.over.set()
        self.listener.close()


@pytest.mark.parametrize("warm", [0, 1])
@pytest.mark.parametrize("size", [0, LARGE])
@pytest.mark.parametrize("limit", [0.1, urllib3.Timeout(connect=0.1, read=0.1)])
def test_time_limits_end_a_request(limit: typing.Any, size: int, warm: int, make: Make) -> None:
    """The server does not read a large body, or does not answer a small one."""
    server = Silent(warm)
    http = make(retries=False)
    for _ in range(warm):
        assert http.request("GET", server.url, timeout=20).data == b"ok"
    with pytest.raises(urllib3.exceptions.HTTPError) as raised:
        http.request("POST", server.url, body=b"x" * size, timeout=limit)
    if size:
        assert type(raised.value) is urllib3.exceptions.ProtocolError
        assert isinstance(raised.value.args[1], TimeoutError)
    else:
        assert type(raised.value) is urllib3.exceptions.ReadTimeoutError
    timings = make.timings  # type: ignore[attr-defined]
    if timings is not None:
        assert (timings[-1].error_kind, timings[-1].error_phase) == ("timeout", "send" if size else "wait")
    http.clear()
    server.close()
