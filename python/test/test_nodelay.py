"""TCP_NODELAY is on wherever urllib3 connects, unless the user's own socket options name it."""

from __future__ import annotations

import enum
import gc
import socket
import ssl
import typing

import pytest
import urllib3
import urllib3.connection

import onewrite
from tap import listening, reply

KEEPALIVE = (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
OFF = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
ON = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def option(pool: typing.Any, level: int, name: int) -> int:
    conn = pool.pool.queue[-1]
    return int(conn.sock.getsockopt(level, name))


def nodelay(manager: typing.Any, url: str) -> int:
    return option(manager.connection_from_url(url), socket.IPPROTO_TCP, socket.TCP_NODELAY)


Given = dict[str, typing.Any]
GIVEN: list[tuple[Given, int]] = [
    ({}, 1),
    ({"socket_options": []}, 1),
    ({"socket_options": None}, 1),
    ({"socket_options": [KEEPALIVE]}, 1),
    ({"socket_options": [KEEPALIVE, OFF]}, 0),
    ({"socket_options": [ON]}, 1),
]


class Number(int):
    """setsockopt() takes its value, and calls no method."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = int.__hash__
    __str__ = __format__ = __repr__ = __bool__ = __eq__  # type: ignore[assignment]


class Index:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


Members = enum.IntEnum("Members", {"OFF": 0, "NODELAY": socket.TCP_NODELAY, "TCP": socket.IPPROTO_TCP})


@pytest.mark.parametrize(("of", "off"), [*((int, off) for off in range(7)), (Number, 0), (Index, 1), (Members, 3)])
def test_an_option_off_is_obeyed_whatever_its_class(of: typing.Any, off: int, tap: typing.Any) -> None:
    server = tap()
    onewrite.install(on_timing=str)
    value = (Number(0), Index(0), False, Members(0), b"\0" * 4, bytearray(4), memoryview(bytes(4)))[off]
    options = [ON, (of(socket.IPPROTO_TCP), of(socket.TCP_NODELAY), value)]
    with urllib3.HTTPConnectionPool("127.0.0.1", server.port, socket_options=options) as pool:
        assert pool.request("POST", "/", body=b"x").data == b"ok"
        assert option(pool, socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # urllib3 leaves its socket open
@pytest.mark.parametrize("options", [[(1,)], [(6, 1, "x")], [("a", "b", "c")], 5, [None], [(6, 1, Number)]])
def test_options_that_are_none_get_the_error_of_stock(options: typing.Any, tap: typing.Any) -> None:
    server = tap()
    errors: list[typing.Any] = []
    for installed in (False, True):
        if installed:
            onewrite.install(on_timing=str)
        pool = urllib3.HTTPConnectionPool("127.0.0.1", server.port, socket_options=options)
        with pytest.raises(Exception) as error:  # noqa: PT011
            pool.request("POST", "/", body=b"x", retries=False)
        errors.append((error.type, str(error.value)))
        del error
        gc.collect()
    assert errors[0] == errors[1]


@pytest.mark.parametrize("tunnelled", [False, True])
@pytest.mark.parametrize(("given", "expected"), GIVEN)
def test_socket_options_keep_it_on_unless_they_name_it(
    given: Given, expected: int, tunnelled: bool, library: typing.Any, tap: typing.Any, authority: typing.Any
) -> None:
    server = tap(tls=tunnelled, proxy=tunnelled)
    url = f"{'https' if tunnelled else 'http'}://127.0.0.1:{server.port}/"
    keywords = {"ca_certs": authority.pem, **given}
    manager = library.ProxyManager(server.url(), **keywords) if tunnelled else library.PoolManager(**keywords)
    for number in range(2):  # the second connection replaces the first
        manager.request("POST", url, body=b"x")
        assert len(server.connects) == tunnelled * (number + 1)
        assert bool(nodelay(manager, url)) == bool(expected)
        if not number:
            manager.connection_from_url(url).pool.queue[-1].close()
    if KEEPALIVE in (given.get("socket_options") or ()):
        assert option(manager.connection_from_url(url), socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    manager.clear()


def test_the_users_list_is_left_as_it_was(tap: typing.Any) -> None:
    options = [KEEPALIVE]
    onewrite.PoolManager(socket_options=options).request("GET", tap().url())
    assert options == [KEEPALIVE]


def test_unix_sockets_are_left_alone(tmp_path: typing.Any) -> None:
    got: list[bytes] = []
    onewrite.install(quickack=True)

    def answer(sock: socket.socket) -> None:
        got.append(sock.recv(65536))
        sock.sendall(reply())

    listener = listening(answer, tmp_path / "socket")

    class Unix(urllib3.connection.HTTPConnection):
        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(str(tmp_path / "socket"))

    class Pool(urllib3.HTTPConnectionPool):
        ConnectionCls = Unix

    assert Pool("localhost").request("POST", "/", body=b"body").data == b"ok"
    assert got[0].endswith(b"\r\n\r\nbody")
    listener.close()


def test_connections_made_before_install_get_it(tap: typing.Any) -> None:
    server = tap()
    manager = urllib3.PoolManager(socket_options=[])
    manager.request("GET", server.url())
    assert not nodelay(manager, server.url())
    onewrite.install()
    manager.request("GET", server.url())
    assert nodelay(manager, server.url())
    assert server.connections == 1
    manager.clear()


def test_it_is_on_before_the_handshake_and_a_connector_that_sets_it_to_0_is_obeyed(
    tap: typing.Any, authority: typing.Any
) -> None:
    server = tap(tls=True)
    onewrite.install()
    seen: list[int] = []

    class Watched(ssl.SSLContext):
        def wrap_socket(self, sock: socket.socket, *args: typing.Any, **kwargs: typing.Any) -> ssl.SSLSocket:
            seen.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            return super().wrap_socket(sock, *args, **kwargs)

    context = Watched(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.pem)
    context.check_hostname = False  # 1.26 gives an address no name

    class Slow(urllib3.connection.HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            sock = super()._new_conn()
            sock.setsockopt(*OFF)
            return sock

    for cls, expected in ((urllib3.connection.HTTPSConnection, 1), (Slow, 0)):
        with urllib3.HTTPSConnectionPool("127.0.0.1", server.port, ssl_context=context, socket_options=[]) as pool:
            pool.ConnectionCls = cls
            assert pool.request("POST", "/", body=b"x").data == b"ok"
            assert bool(option(pool, socket.IPPROTO_TCP, socket.TCP_NODELAY)) == bool(expected)
    assert seen == [1, 0]


@pytest.mark.parametrize("hooked", [False, True])
def test_a_socket_of_the_user_may_refuse_to_have_options(hooked: bool) -> None:
    class Socket:
        def __init__(self) -> None:
            self.sent = b""

        def sendall(self, data: bytes) -> None:
            self.sent += data

        def settimeout(self, value: object) -> None:
            pass

        def getsockopt(self, *given: object) -> int:
            raise NotImplementedError

        setsockopt = getsockopt

    onewrite.install(on_timing=str if hooked else None, quickack=True)
    conn = urllib3.connection.HTTPConnection("127.0.0.1", 80)
    sock: typing.Any = Socket()
    conn.sock = sock
    conn.request("POST", "/", body=b"xyz")
    assert sock.sent.endswith(b"\r\n\r\nxyz")
    assert conn.sock is sock
