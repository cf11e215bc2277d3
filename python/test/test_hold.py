"""A head that waits for its body is never lost, overtaken or sent twice, whatever stands around it."""

from __future__ import annotations

import contextlib
import copy
import functools
import http.client
import io
import pickle
import socket
import subprocess
import sys
import threading
import typing
import weakref

import pytest
import urllib3
import urllib3.connection

import onewrite
from onewrite import _base_version, _coalesce
from tap import Peer, Seen, mode, reply, until

HTTPConnection = urllib3.connection.HTTPConnection
BODY = b"x" * 200


def body_of(response: typing.Any) -> bytes:
    """The body of what getresponse() returns: http.client's response in urllib3 1.26."""
    return response.data if hasattr(response, "data") else response.read()  # type: ignore[no-any-return]


def pool_of(cls: type, port: int) -> urllib3.HTTPConnectionPool:
    pool = urllib3.HTTPConnectionPool("127.0.0.1", port, retries=False)
    pool.ConnectionCls = cls  # type: ignore[assignment]
    return pool


# -- classes of the user --------------------------------------------------------------------------------


class OwnSetattr(HTTPConnection):
    """It knows its attributes, and refuses any other."""

    def __setattr__(self, name: str, value: object) -> None:
        assert "onewrite" not in name
        super().__setattr__(name, value)


class OwnConnect(HTTPConnection):
    def connect(self) -> None:
        self.sock = socket.create_connection((self.host, self.port or 80))


class OldSuper(HTTPConnection):
    def connect(self) -> None:
        super(type(self), self).connect()


class OwnRequest(HTTPConnection):
    def request(self, method: str, url: str, *args: typing.Any, **kwargs: typing.Any) -> None:
        super().request(method, url, *args, **kwargs)


@pytest.mark.parametrize("cls", [OwnSetattr, OwnConnect, OldSuper, OwnRequest])
def test_a_class_of_the_user_sends_one_segment(cls: type, tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    server = tap()
    pool = pool_of(cls, server.port)
    for _ in range(20):
        assert pool.request("POST", "/", body=BODY).data == b"ok"
        assert type(pool.pool.queue[-1]) is cls  # type: ignore[union-attr]
    assert mode(one.segments for one in server.seen) == 1
    assert [record.writes for record in recorded] == [1] * 20
    assert pool.pool.queue[-1].sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)  # type: ignore[union-attr]


class WritesBehindSend(HTTPConnection):
    def send(self, data: typing.Any) -> None:
        if data == BODY:
            self.sock.sendall(data)  # type: ignore[attr-defined]
        else:
            super().send(data)


class WritesBehindTheHead(HTTPConnection):
    def endheaders(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        super().endheaders(*args, **kwargs)
        self.sock.sendall(BODY[:100])  # type: ignore[attr-defined]

    def send(self, data: typing.Any) -> None:
        super().send(data if data != BODY else BODY[100:])


class Below(http.client.HTTPConnection):
    sizes: typing.ClassVar[list[int]] = []

    def send(self, data: typing.Any) -> None:
        self.sizes.append(len(data))
        super().send(data)


class HasOneBelow(HTTPConnection, Below):
    """Its send() is behind that of urllib3's class."""


def test_a_send_behind_that_of_urllib3s_class_is_called(tap: typing.Any) -> None:
    onewrite.install()
    assert pool_of(HasOneBelow, tap().port).request("POST", "/", body=BODY).data == b"ok"
    assert Below.sizes[-1] == len(BODY)


class KeepsThingsWithItsSocket(HTTPConnection):
    sent: typing.ClassVar[weakref.WeakKeyDictionary[socket.socket, int]] = weakref.WeakKeyDictionary()

    def _new_conn(self) -> socket.socket:
        return type("Mine", (socket.socket,), {})(fileno=super()._new_conn().detach())

    def send(self, data: typing.Any) -> None:
        if self.sock is not None:
            self.sock.sent = len(data)
            self.sent[self.sock] = len(data)
        super().send(data)


@pytest.mark.parametrize("cls", [WritesBehindSend, WritesBehindTheHead, KeepsThingsWithItsSocket])
def test_a_class_that_may_write_by_itself_holds_nothing(cls: type, tap: typing.Any) -> None:
    server = tap()
    onewrite.install(on_timing=str)
    pool = pool_of(cls, server.port)
    for _ in range(3):
        assert pool.request("POST", "/", body=BODY).data == b"ok"
    assert [one.body for one in server.seen] == [BODY] * 3


def test_a_socket_of_the_user_gets_what_urllib3_passes(tap: typing.Any) -> None:
    class Typed(socket.socket):
        def sendall(self, data: typing.Any, flags: int = 0) -> None:
            assert type(data) is bytes
            super().sendall(data, flags)

    class Connection(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return Typed(fileno=super()._new_conn().detach())

    server = tap()
    onewrite.install()
    assert pool_of(Connection, server.port).request("POST", "/", body=b"y" * 100_000).status == 200
    assert server.seen[0].body == b"y" * 100_000


# -- ways out of a request ------------------------------------------------------------------------------


def test_a_tunnel_that_is_opened_within_the_request(tap: typing.Any) -> None:
    """http.client connects, and waits for the answer to CONNECT, in the send() of the head."""
    server = tap(proxy=True)
    onewrite.install()
    conn = HTTPConnection("127.0.0.1", server.port, timeout=5)
    conn.set_tunnel("far.test", 80)
    conn.request("POST", "/", body=BODY)
    assert body_of(conn.getresponse()) == b"ok"
    assert [one.body for one in server.seen] == [BODY]
    conn.close()


@pytest.mark.skipif(_base_version.IS_1, reason="its request() takes no such body")
@pytest.mark.parametrize("body", [["a", "\ud800"], [b"a", 5]])
def test_what_urllib3_wrote_before_its_error_is_sent(body: typing.Any) -> None:
    arrived = []
    for _ in range(2):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            conn = HTTPConnection("127.0.0.1", listener.getsockname()[1])
            with pytest.raises((UnicodeEncodeError, TypeError)):
                conn.request("POST", "/", body=body, headers={"User-Agent": "u", "Host": "h"}, chunked=True)
            conn.close()
            with listener.accept()[0] as sock:
                arrived.append(b"".join(iter(functools.partial(sock.recv, 1000), b"")))
        onewrite.install()
    assert arrived[0] == arrived[1]


@pytest.mark.parametrize("keyword", [{"chunked": True}, {"preload_content": False}, {"unknown": 1}])
def test_a_keyword_is_refused_where_urllib3_refuses_it(tap: typing.Any, keyword: dict[str, object]) -> None:
    errors = []
    for _ in range(2):
        conn = HTTPConnection("127.0.0.1", tap().port, timeout=5)
        try:
            conn.request("POST", "/", body=BODY, headers={}, **keyword)  # type: ignore[arg-type]
            errors.append(None)
        except TypeError as error:
            errors.append(type(error))
        conn.close()
        onewrite.install()
    assert errors == [TypeError if _base_version.IS_1 or "unknown" in keyword else None] * 2


def test_a_socket_that_breaks_raises_the_error_of_urllib3() -> None:
    class Broken:
        def settimeout(self, _: object) -> None: ...
        def close(self) -> None: ...
        def sendall(self, _: object) -> None:
            raise BrokenPipeError(32, "gone")

    onewrite.install(on_timing=str)
    conn = HTTPConnection("127.0.0.1", 1)
    conn.sock = Broken()  # type: ignore[assignment]
    with pytest.raises(BrokenPipeError, match="gone"):
        conn.request("POST", "/", body=BODY)
    link = conn._onewrite  # type: ignore[attr-defined]
    assert link.held is None
    assert not _coalesce.holding


def test_a_head_that_was_left_in_a_connection_is_not_sent_with_the_next(tap: typing.Any) -> None:
    """As a KeyboardInterrupt between two instructions could leave it."""
    server = tap()
    onewrite.install()
    conn = HTTPConnection("127.0.0.1", server.port, timeout=5)
    conn.request("POST", "/", body=BODY)
    conn.getresponse().read()
    conn._onewrite.held = b"POST /old HTTP/1.1\r\n\r\n"  # type: ignore[attr-defined]
    conn.request("POST", "/new", body=BODY)
    assert body_of(conn.getresponse()) == b"ok"
    assert [one.line for one in server.seen] == ["POST / HTTP/1.1", "POST /new HTTP/1.1"]
    conn.close()


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda conn: pickle.loads(pickle.dumps(conn))])
def test_a_copy_of_a_connection_is_one_of_its_own(make: typing.Any, tap: typing.Any) -> None:
    server = tap()
    onewrite.install(on_timing=str)
    conn = HTTPConnection("127.0.0.1", server.port, timeout=5)
    conn.request("POST", "/", body=BODY)
    conn.getresponse().read()
    conn.close()
    conn._HTTPConnection__response = None  # type: ignore[attr-defined]
    twin = make(conn)
    for one in (twin, conn):
        one.request("POST", "/", body=BODY)
    assert [body_of(one.getresponse()) for one in (twin, conn)] == [b"ok", b"ok"]
    assert twin._onewrite is not conn._onewrite  # type: ignore[attr-defined]
    for one in (twin, conn):
        one.close()


def test_a_bytesio_with_a_read_of_its_own_and_one_that_is_used_up(tap: typing.Any) -> None:
    server = tap()
    onewrite.install()
    own = io.BytesIO(b"abc")
    heads_before = []
    read = own.read
    own.read = lambda *args: (heads_before.append(not _coalesce.holding), read(*args))[1]  # type: ignore[method-assign]
    http = urllib3.PoolManager()
    http.request("POST", server.url(), body=own)
    assert all(heads_before)
    refused = io.BytesIO(b"abc")
    with pytest.raises(urllib3.exceptions.HTTPError):
        http.request("POST", "http://127.0.0.1:1/", body=refused, retries=False)
    assert refused.tell() == 0


def test_memory_of_the_caller_that_is_filled_again(tap: typing.Any) -> None:
    server = tap()
    onewrite.install()
    body = bytearray(b"a" * 300)
    http = urllib3.PoolManager()
    for letter in b"ab":
        body[:] = bytes([letter]) * 300
        http.request("POST", server.url(), body=body)
        body.append(0)  # BufferError, were a view on it left
        del body[-1]
    assert [one.body[:1] for one in server.seen] == [b"a", b"b"]


def test_memory_of_the_caller_is_free_after_an_error() -> None:
    onewrite.install()
    body = bytearray(32 << 20)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        http = urllib3.PoolManager(retries=False)
        with pytest.raises(urllib3.exceptions.HTTPError) as kept:
            http.request("POST", f"http://127.0.0.1:{deaf.getsockname()[1]}/", body=body, timeout=0.5)
        body.append(0)
    assert kept.value.__traceback__


# -- who else is there ----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["onewrite", "tracer"])
@pytest.mark.parametrize("owner", [HTTPConnection, http.client.HTTPConnection])
def test_a_wrapper_of_send_and_request_in_any_order(
    first: str, owner: typing.Any, tap: typing.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def wrap(name: str) -> None:
        below = getattr(owner, name)

        @functools.wraps(below)
        def wrapper(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            calls.append(name)
            return below(self, *args, **kwargs)

        monkeypatch.setattr(owner, name, wrapper, raising=False)

    steps = {"onewrite": lambda: onewrite.install(on_timing=str), "tracer": lambda: (wrap("send"), wrap("request"))}
    server = tap()
    for name in (first, *(steps.keys() - {first})):
        steps[name]()
    http_ = urllib3.PoolManager()
    for _ in range(20):
        assert http_.request("POST", server.url(), body=BODY).data == b"ok"
    assert mode(one.segments for one in server.seen) == 1
    assert "send" in calls
    onewrite.uninstall()
    for _ in range(20):
        assert http_.request("POST", server.url(), body=BODY).data == b"ok"
    assert mode(one.segments for one in server.seen[20:]) == 2
    monkeypatch.undo()
    onewrite.install()
    onewrite.uninstall()
    assert "send" not in vars(HTTPConnection)
    assert onewrite.status()["patches"] == []


def test_uninstall_while_threads_send_loses_nothing(tap: typing.Any) -> None:
    server = tap()
    stop = threading.Event()
    errors: list[BaseException] = []

    def send() -> None:
        try:
            with urllib3.PoolManager() as manager:
                while not stop.is_set():
                    assert manager.request("POST", server.url(), body=BODY).data == b"ok"
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=send) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for _ in range(60):
            onewrite.install()
            onewrite.uninstall()
    finally:
        stop.set()
        sys.setswitchinterval(interval)
    for thread in threads:
        thread.join()
    assert errors == []
    assert {one.body for one in server.seen} == {BODY}


def test_uninstall_waits_for_a_head_that_is_held(tap: typing.Any) -> None:
    server = tap()
    onewrite.install()
    held, go_on = threading.Event(), threading.Event()

    class Slow(HTTPConnection):
        def putheader(self, *args: typing.Any) -> None:  # the request is being held, its head is not there yet
            held.set()
            go_on.wait(10)
            super().putheader(*args)

    pool = pool_of(Slow, server.port)
    sender = threading.Thread(target=pool.request, args=("POST", "/"), kwargs={"body": BODY})
    sender.start()
    held.wait(10)
    ender = threading.Thread(target=onewrite.uninstall)
    ender.start()
    until(lambda: not onewrite.status()["enabled"])
    go_on.set()
    sender.join()
    ender.join()
    assert [one.body for one in server.seen] == [BODY]
    assert onewrite.status()["patches"] == []


MEMORY = """
import sys
kind, url, ca, way = sys.argv[1:]
if kind == "gevent":
    from gevent import monkey; monkey.patch_all()
elif kind == "pyopenssl":
    import urllib3.contrib.pyopenssl; urllib3.contrib.pyopenssl.inject_into_urllib3()
import tracemalloc, urllib3
if way == "onewrite":
    import onewrite; onewrite.install()
http = urllib3.PoolManager(ca_certs=ca)
http.request("GET", url)
body = bytes(16 << 20)
tracemalloc.start()
assert http.request("POST", url, body=body).status == 200
print(tracemalloc.get_traced_memory()[1] >> 20)
"""


@pytest.mark.parametrize(
    ("kind", "tls"),
    [
        pytest.param("gevent", False, marks=pytest.mark.nightly),
        ("gevent", True),
        pytest.param("plain", False, marks=pytest.mark.nightly),
        ("pyopenssl", True),
    ],
)
def test_a_large_body_is_not_copied(kind: str, tls: bool, tap: typing.Any, authority: typing.Any) -> None:
    server = tap(tls=tls)
    peaks = {}
    for way in ("stock", "onewrite"):
        command = [sys.executable, "-W", "ignore", "-c", MEMORY, kind, server.url(), authority.pem, way]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr
        peaks[way] = int(done.stdout)
    assert peaks["onewrite"] <= peaks["stock"] + 2
    assert len(server.seen[-1].body) == 16 << 20


def test_an_answer_that_comes_before_the_body(tap: typing.Any) -> None:
    """The head leaves with the first bytes, so a server that refuses by the head is heard."""

    def answer(peer: Peer, seen: Seen) -> None:
        peer.send(reply(b"", "401 Unauthorized"))

    server = tap(answer)
    onewrite.install()
    with contextlib.closing(HTTPConnection("127.0.0.1", server.port)) as conn:
        conn.request("POST", "/", body=BODY)
        assert conn.getresponse().status == 401
