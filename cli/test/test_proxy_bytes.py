"""The checking proxy passes on bytes as they come; here it runs within the test's own process."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from conftest import wait_for
from onewrite_cli.check.proxy import Proxy
from onewrite_cli.check.watched import WatchedOrigin
from onewrite_cli.common.sockets import Sockets
from peers import ANSWER, Listener, Server

REST = b"\r\nHost: here\r\nX-Raw: caf\xc3\xa9 \xff\r\n\r\n"
OK_2 = b"Content-Length: 2\r\n\r\nok"


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    sockets = Sockets()
    secure = WatchedOrigin("https", sockets)
    made = Proxy(secure, sockets)
    yield made
    made.close()
    secure.close()
    sockets.close()


def connected(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def status_of(proxy: Proxy, line: bytes, rest: bytes = REST) -> bytes:
    """The status line that a request line gets."""
    with connected(proxy) as sock:
        sock.sendall(line + rest)
        answer = b""
        while b"\r\n\r\n" not in answer and (piece := sock.recv(4096)):
            answer += piece
    return answer.split(b"\r\n")[0]


def test_a_folded_field_goes_whole(proxy: Proxy) -> None:
    server = Server()
    line = b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nX-A: 1\r\n kept\r\nProxy-Connection: a,\r\n\tgone" % server.port
    status_of(proxy, line)
    server.close()
    assert b"X-A: 1\r\n kept\r\nHost: here" in server.heads[0]


def test_targets_and_fields_go_as_they_came(proxy: Proxy) -> None:
    server = Server()
    base = b"http://127.0.0.1:%d" % server.port
    targets = [b"/a?", b"/caf\xc3\xa9?q=\xff", b"/a b", b"/#x", b"/%7e/..//;p?#", b"/?", b"/"]
    lines = [*(b"GET %s%s HTTP/1.1" % (base, target) for target in targets), b"GET %s?q HTTP/1.1" % base]
    lines += [b"OPTIONS %s HTTP/1.1" % base, b"OPTIONS %s/ HTTP/1.1" % base]
    assert {status_of(proxy, line) for line in lines} == {b"HTTP/1.1 200 OK"}
    server.close()
    got = [head.split(b"\r\n")[0] for head in server.heads]
    assert got[:8] == [b"GET %s HTTP/1.1" % one for one in (*targets, b"/?q")]
    assert got[8:] == [b"OPTIONS * HTTP/1.1", b"OPTIONS / HTTP/1.1"]
    assert all(b"X-Raw: caf\xc3\xa9 \xff" in head for head in server.heads)


@pytest.mark.parametrize(
    "line",
    [
        b"CONNECT h:abc HTTP/1.1", b"CONNECT h:99999 HTTP/1.1", b"CONNECT h HTTP/1.1", b"CONNECT [::1 HTTP/1.1",
        b"CONNECT :443 HTTP/1.1",
        b"GET http://h:99999/ HTTP/1.1", b"GET http://[::1/ HTTP/1.1", b"GET http:///x HTTP/1.1", b"GET /x HTTP/1.1",
        b"GET ftp://h/ HTTP/1.1", b"GET http://h:0/ HTTP/1.1", b"GET http://caf\xc3\xa9/ HTTP/1.1", b"nonsense", b"\x16\x03\x01",
        b"GET http://h/ HTTP/1.1\n", b"CONNECT h:443 HTTP/1.1\n",
    ],
)  # fmt: skip
def test_what_cannot_be_parsed_gets_400(line: bytes, proxy: Proxy) -> None:
    assert status_of(proxy, line) == b"HTTP/1.1 400 Bad Request"


def test_a_name_that_is_too_long_gets_502(proxy: Proxy) -> None:
    assert status_of(proxy, b"GET http://%s.test/ HTTP/1.1" % (b"a" * 64)) == b"HTTP/1.1 502 Bad Gateway"
    assert len(proxy.unreachable) == 1


def test_what_comes_behind_connect_is_passed_on(proxy: Proxy) -> None:
    got: list[bytes] = []

    def serve(sock: socket.socket) -> None:
        with sock:
            sock.settimeout(5)
            got.append(sock.recv(100))

    listener = Listener(serve)
    line = b"CONNECT 127.0.0.1:%d HTTP/1.1" % listener.port
    assert status_of(proxy, line, b"\r\n\r\nbehind") == b"HTTP/1.1 200 Connection established"
    wait_for(lambda: got)
    listener.close()
    assert got == [b"behind"]


@pytest.mark.parametrize("early", [True, False])
def test_what_an_upstream_says_early_is_passed_on(early: bool, proxy: Proxy) -> None:
    """An answer that ends the connection before the request is read, and an interim answer."""

    def serve(sock: socket.socket) -> None:
        with sock:
            sock.recv(1)
            if early:
                sock.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                sock.shutdown(socket.SHUT_WR)
            else:
                sock.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n" + ANSWER + b"ok\n")
            time.sleep(0.2)

    listener = Listener(serve)
    line = b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nContent-Length: 3" % listener.port
    answer = status_of(proxy, line)
    listener.close()
    assert answer == (b"HTTP/1.1 413 Content Too Large" if early else b"HTTP/1.1 103 Early Hints")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: v\r\n" % number for number in range(150)) + OK_2,
        b"HTTP/1.1 200 OK\r\nX-Long: %s\r\n" % (b"a" * 100_000) + OK_2,
        b"HTTP/1.1 200 OK\r\nX-Raw:  caf\xc3\xa9 \xff \r\nX-Empty:\r\nX-Space : 1\r\nno colon\r\nX-A: 1\r\n folded\r\n" + OK_2,
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n" + OK_2,
        b"HTTP/1.1 200 OK\r\nTrailer: X-T\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX-T: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nbroken",
        b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n",
        b"ICY 200 OK\r\n\r\nmusic",
    ],
    ids=["fields", "long", "odd", "interim", "chunked", "bad-chunk", "short", "lengths", "304", "not-http"],
)
def test_answers_and_their_end_go_as_they_came(answer: bytes, proxy: Proxy) -> None:
    def serve(sock: socket.socket) -> None:
        with sock:
            sock.recv(4096)
            sock.sendall(answer)

    listener, got = Listener(serve), b""
    with connected(proxy) as sock:
        sock.sendall(b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: here\r\n\r\n" % listener.port)
        while piece := sock.recv(4096):
            got += piece
    listener.close()
    assert got == answer


def test_a_client_may_end_its_side_before_the_answer(proxy: Proxy) -> None:
    def serve(sock: socket.socket) -> None:
        with sock:
            sock.recv(4096)
            time.sleep(0.1)
            sock.sendall(ANSWER + b"ok\n")

    listener = Listener(serve)
    with connected(proxy) as sock:
        sock.sendall(b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: here\r\n\r\n" % listener.port)
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(4096).endswith(b"ok\n")
    listener.close()


def test_each_host_of_a_connection_has_its_own_upstream(proxy: Proxy) -> None:
    servers = Server(), Server(close=True), Server()
    with connected(proxy) as sock:
        for server in servers:
            sock.sendall(b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc" % server.port)
            answer = b""
            while not answer.endswith(b"ok\n"):
                answer += sock.recv(4096)
            if server is servers[1]:  # its end is the end of the connection, as it would be without the proxy
                assert sock.recv(4096) == b""
                break
    for server in servers:
        server.close()
    assert [len(server.heads) for server in servers] == [1, 1, 0]
