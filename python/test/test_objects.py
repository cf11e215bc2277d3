"""Responses and connections are made of stock's objects, on a new connection and on a reused one.

docker-py, guards against requests to inner networks, and programs that take a socket over reach for attributes that
urllib3 and http.client do not document. A method of theirs that somebody has overridden is called for each request.
"""

from __future__ import annotations

import contextlib
import gc
import http.client
import io
import socket
import threading
import typing
from unittest import mock

import pytest
import urllib3
import urllib3.connection

import onewrite
from tap import Listener, Peer, Seen, accepted, reply

WAYS = ["stock", "own", "own with hooks", "installed", "installed with hooks"]


@contextlib.contextmanager
def library(way: str) -> typing.Iterator[typing.Any]:
    """urllib3, or onewrite's classes in its place; hooks make every timing patch take part."""
    hooks: dict[str, typing.Any] = {}
    timings: list[onewrite.Timing] = []
    if "hooks" in way:
        hooks = {"on_timing": timings.append, "listener": Every()}
    if "installed" in way:
        onewrite.install(**hooks)
    try:
        yield With(onewrite if "own" in way else urllib3, hooks if "own" in way else {}, timings)
    finally:
        onewrite.uninstall()


class Every(onewrite.TimingListener):
    def on_event(self, event: onewrite.Event) -> None:
        pass


class With:
    """The classes of a library, the hooks to give them, and the records that came."""

    def __init__(self, module: typing.Any, hooks: dict[str, typing.Any], timings: list[onewrite.Timing]) -> None:
        self.hooks = hooks
        self.timings = timings
        self.HTTPConnection = getattr(module, "HTTPConnection", urllib3.connection.HTTPConnection)
        self.HTTPSConnection = getattr(module, "HTTPSConnection", urllib3.connection.HTTPSConnection)
        self.HTTPConnectionPool = module.HTTPConnectionPool
        self.PoolManager = module.PoolManager

    def manager(self, **keywords: typing.Any) -> typing.Any:
        return self.PoolManager(**self.hooks, **keywords)

    def pool(self, port: int, connection: typing.Any = None, **keywords: typing.Any) -> typing.Any:
        pool = self.HTTPConnectionPool("127.0.0.1", port, **self.hooks, **keywords)
        if connection is not None:
            pool.ConnectionCls = connection
        return pool


# -- attributes ---------------------------------------------------------------------------------------


def types(value: typing.Any, depth: int = 3, seen: tuple[int, ...] = ()) -> typing.Any:
    """The types of *value* and of all that it refers to, by attribute name."""
    cls = type(value)  # while a recorded response is read, onewrite's class stands in front of it
    found: dict[str, typing.Any] = {"": vars(cls).get("_onewrite_behind", cls)}
    if depth and type(value).__module__.partition(".")[0] in ("urllib3", "http", "socket", "io", "_io", "onewrite"):
        names = {"_update_chunk_length", "_decode"} & set(dir(value))  # which hooks replace
        names |= {name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())}
        names |= set(getattr(value, "__dict__", ())) | ({"raw"} & set(dir(value)))
        for name in names - IGNORED:
            held = getattr(value, name, None)
            if id(held) not in seen:
                found[name] = types(held, depth - 1, (*seen, id(value)))
    return found


#: The pool and the connection are of onewrite's classes, where those are used.
IGNORED = {"_pool", "_connection", "pool", "connection", "retries", "_onewrite"}

ANSWERS = {
    "short": reply(b"hello"),
    "long": reply(b"x" * 100_000),
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "without a body": b"HTTP/1.1 204 No Content\r\n\r\n",
    "compressed": reply(b"no gzip", "200 OK", "Content-Encoding: gzip"),
}


@pytest.mark.parametrize("preload", [False, True])
@pytest.mark.parametrize("kind", ANSWERS)
def test_attributes_have_the_types_that_they_have_over_stock(kind: str, preload: bool, tap: typing.Any) -> None:
    if preload and kind == "compressed":
        pytest.skip("it cannot be decoded")
    server = tap(lambda peer, seen: peer.send(ANSWERS[kind] if "/odd" in seen.line else reply()))
    found = {}
    for way in WAYS:
        with library(way) as classes:
            manager = classes.manager(retries=False, maxsize=1)
            for number in range(3):
                response = manager.request("GET", server.url("/odd"), preload_content=preload)
                found[way, number] = types(response)
                response.close()
                if number:
                    manager.request("GET", server.url("/"))
            manager.clear()
    stock = {number: answer for (way, number), answer in found.items() if way == "stock"}
    assert len(stock[0]) > 20
    for (way, number), answer in found.items():
        assert answer == stock[number], (way, number)


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_the_socket_of_a_response(way: str, tls: bool, tap: typing.Any, authority: typing.Any) -> None:
    """As guards against requests to inner networks read the peer's address; also where head and body come apart."""

    def answering(peer: Peer, seen: Seen) -> None:
        head, _, body = reply(b"x" * 1000).partition(b"\r\n\r\n")
        peer.send(head + b"\r\n\r\n" + (body if "/whole" in seen.line else b""))
        if "/apart" in seen.line:
            peer.send(body)

    server = tap(answering, tls=tls)
    with library(way) as classes:
        manager = classes.manager(ca_certs=authority.pem, maxsize=1)
        for path in ("/whole", "/apart", "/whole", "/apart"):
            response = manager.request("GET", server.url(path), preload_content=False)
            assert response.fileno() == response._fp.fileno() > 0
            assert type(response._fp) is http.client.HTTPResponse
            assert type(response._fp.fp) is io.BufferedReader
            assert type(response._fp.fp.raw) is socket.SocketIO
            assert response._fp.fp.raw._sock.getpeername() == ("127.0.0.1", server.port)
            assert response._fp.peek(1)[:1] == b"x"
            assert response.read() == b"x" * 1000
            response.release_conn()
        assert server.connections == 1
        manager.clear()


# -- overridden and patched methods -------------------------------------------------------------------


class ForbiddenError(Exception):
    pass


@pytest.mark.parametrize("way", WAYS)
def test_overridden_methods_of_http_client_are_called_each_time(way: str, tap: typing.Any) -> None:
    server = tap()
    with library(way) as classes:
        calls: list[str] = []

        class Connection(classes.HTTPConnection):  # type: ignore[misc]
            def _validate_method(self, method: str) -> None:
                if method == "DELETE":
                    raise ForbiddenError
                super()._validate_method(method)

            def _validate_path(self, url: str) -> None:
                calls.append("path")
                super()._validate_path(url)

            def _encode_request(self, request: str) -> bytes:
                calls.append("request")
                return typing.cast(bytes, super()._encode_request(request))

        pool = classes.pool(server.port, Connection, retries=False, maxsize=1)
        for _ in range(3):
            pool.request("POST", "/", body=b"x")
            with pytest.raises(ForbiddenError):
                pool.request("DELETE", "/")
        assert calls == ["path", "request"] * 3
        assert {one.line.split()[0] for one in server.seen} == {"POST"}
        pool.close()


@pytest.mark.parametrize("way", WAYS)
def test_what_a_subclass_or_an_object_replaces_is_called(way: str, tap: typing.Any) -> None:
    server = tap()
    calls: list[str] = []

    class Response(http.client.HTTPResponse):
        def begin(self) -> None:
            super().begin()
            calls.append("begin")

    with library(way) as classes:

        class Connection(classes.HTTPConnection):  # type: ignore[misc]
            response_class = Response

        class Pool(classes.HTTPConnectionPool):  # type: ignore[misc]
            ConnectionCls = Connection

            def _make_request(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
                calls.append("make")
                return super()._make_request(*args, **kwargs)

        derived, plain = Pool("127.0.0.1", server.port, **classes.hooks), classes.pool(server.port)
        for pool in (derived, plain):
            pool.request("POST", "/", body=b"x")
        below = plain._make_request  # on the objects, as mocks of others have it
        plain._make_request = lambda *args, **kwargs: (calls.append("make"), below(*args, **kwargs))[1]
        plain.pool.queue[-1].response_class = Response
        for pool in (derived, plain):
            calls.clear()
            for _ in range(2):
                pool.request("POST", "/", body=b"x")
            assert calls == ["make", "begin"] * 2
            pool.close()
        assert all(timing.wait_ns and timing.receive_ns for timing in classes.timings)


@pytest.mark.parametrize("way", WAYS)
def test_a_mock_of_a_connection_gets_urllib3s_calls(way: str) -> None:
    conn = mock.Mock(spec=urllib3.connection.HTTPConnection)
    with library(way) as classes, classes.HTTPConnectionPool("localhost", **classes.hooks) as pool:
        answer = pool._make_request(conn, "POST", "/", body=b"x", response_conn=conn)
    assert [name for name, *_ in conn.method_calls] == ["request", "getresponse"]
    assert answer is conn.getresponse.return_value


@pytest.mark.parametrize("way", WAYS)
def test_a_tunnel_that_new_conn_has_set(way: str, tap: typing.Any) -> None:
    """The Host of each request is the tunnel's."""
    server = tap(proxy=True)
    with library(way) as classes:

        class Pool(classes.HTTPConnectionPool):  # type: ignore[misc]
            def _new_conn(self) -> typing.Any:
                conn = super()._new_conn()
                conn.set_tunnel("inner.example", 8080)
                return conn

        pool = Pool("127.0.0.1", server.port, maxsize=1, **classes.hooks)
        for _ in range(3):
            pool.request("POST", "/", body=b"x")
        assert [one.header("Host") for one in server.seen] == ["inner.example:8080"] * 3
        assert len(server.connects) == 1
        pool.close()


# -- docker -------------------------------------------------------------------------------------------


class Daemon:
    """Answers as dockerd does: JSON, an archive in chunks, and streams that follow 101 or a 200 without a length."""

    def __init__(self, listener: socket.socket, context: typing.Any = None) -> None:
        self.listener = listener
        self.context = context
        self.seen: list[bytes] = []
        self.failures: list[BaseException] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        for sock in accepted(self.listener):
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            if self.context is not None:
                sock = self.context.wrap_socket(sock, server_side=True)
            with sock, sock.makefile("rb") as file:
                while self._one(sock, file):
                    pass
        except OSError:
            pass
        except BaseException as error:
            self.failures.append(error)

    def _one(self, sock: socket.socket, file: typing.Any) -> bool:
        line = file.readline()
        if not line:
            return False
        length = 0
        while (header := file.readline()) != b"\r\n":
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        file.read(length)
        self.seen.append(line)
        path = line.split()[1].partition(b"?")[0]
        if path.endswith((b"/start", b"/attach")):
            sock.sendall(
                b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
                b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
            )
            # docker-py loses what comes in one read with the head, and waits for what is in the TLS layer's buffer:
            # the client speaks first, and a frame is two records.
            for answer in (b"hello", None):
                said = file.read(4)
                sock.sendall(b"\x01\x00\x00\x00\x00\x00\x00" + bytes([len(answer or said)]))
                sock.sendall(answer or said)
            return False
        if path.endswith(b"/archive"):
            sock.sendall(
                b"HTTP/1.1 200 OK\r\nX-Docker-Container-Path-Stat: eyJuYW1lIjoiYSJ9\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n4\r\ntarr\r\n3\r\ned!\r\n0\r\n\r\n"
            )
        elif path.endswith(b"/exec"):
            sock.sendall(reply(b'{"Id": "e"}', "201 Created", "Content-Type: application/json"))
        else:
            sock.sendall(reply(b'{"Id": "c", "Config": {"Tty": false}}', "200 OK", "Content-Type: application/json"))
        return True


def raw(sock: typing.Any) -> typing.Any:
    """The socket below what docker-py returns, as its users reach for it."""
    return getattr(sock, "_sock", sock)


@pytest.mark.filterwarnings("ignore:.*unclosed.*", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("route", ["tcp", "tls", "unix"])
@pytest.mark.parametrize("way", ["stock", "installed", "installed with hooks"])
def test_docker(way: str, route: str, authority: typing.Any, tmp_path: typing.Any) -> None:
    exchange_with_docker(pytest.importorskip("docker"), way, route, authority, tmp_path)
    gc.collect()  # docker-py leaves sockets to the collector, over stock as well


def exchange_with_docker(docker: typing.Any, way: str, route: str, authority: typing.Any, tmp_path: typing.Any) -> None:
    listener = Listener(path=tmp_path / "docker") if route == "unix" else Listener()
    daemon = Daemon(listener, authority.context if route == "tls" else None)
    keywords: dict[str, typing.Any] = {}
    base = f"unix://{tmp_path / 'docker'}"
    if route != "unix":
        base = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    if route == "tls":
        keywords["tls"] = docker.tls.TLSConfig(ca_cert=authority.pem, verify=True)
    with library(way):
        client = docker.APIClient(base, version="1.44", **keywords)
        client.trust_env = False
        for _ in range(2):  # the second time on a connection that has carried a request
            assert client.inspect_container("c")["Id"] == "c"
            data, stat = client.get_archive("c", "/a")
            assert (b"".join(data), stat) == (b"tarred!", {"name": "a"})
            identifier = client.exec_create("c", "cat", stdin=True)["Id"]
            streams = [
                lambda identifier=identifier: client.exec_start(identifier, socket=True),
                lambda: client.attach_socket("c", params={"stdin": 1, "stdout": 1, "stream": 1}),
            ]
            for stream in streams:
                client.inspect_container("c")
                file = stream()
                sock = raw(file)
                assert isinstance(file, socket.SocketIO if route != "tls" else socket.socket)
                frames = docker.utils.socket.frames_iter(file, tty=False)
                sock.sendall(b"ping")
                assert next(frames) == (1, b"hello")
                sock.sendall(b"pong")
                assert next(frames) == (1, b"pong")
                assert list(frames) == []
                file.close()
        client.close()
    listener.close()
    assert not daemon.failures
    assert len([line for line in daemon.seen if b"/attach" in line]) == 2
