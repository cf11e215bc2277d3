"""Whole kinds of faults: what may be held, what a hook may do, whose attempt a request is."""

from __future__ import annotations

import array
import asyncio
import copy
import functools
import gc
import io
import logging
import os
import pickle
import shutil
import socket
import sys
import tempfile
import threading
import typing
import weakref

import pytest
import requests
import urllib3

import onewrite
from onewrite._wire.body import at_hand
from tap import Peer, listening, reply, until

SIZE = 6000


class Reusing(io.FileIO):
    """Hands out views of one buffer."""

    def read(self, size: int = -1) -> typing.Any:
        buffer = self.__dict__.setdefault("buffer", bytearray(1024))
        return memoryview(buffer)[: self.readinto(buffer)]


class Slow(io.BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        return super().read(2048)


class OwnText(str):
    pass


def bodies(content: bytes, path: str) -> dict[str, typing.Any]:
    return {
        "bytes": lambda: content,
        "bytearray": lambda: bytearray(content),
        "memoryview": lambda: memoryview(content),
        "array": lambda: array.array("B", content),
        "wide array": lambda: array.array("I", content),
        "list": lambda: [content[:10], bytearray(content[10:20]), content[20:]],
        "one buffer, again and again": lambda: [memoryview(content)[:3000], memoryview(content)[3000:]],
        "tuple of text": lambda: (content[:100].decode("latin-1"), content[100:]),
        "BytesIO": lambda: io.BytesIO(content),
        "file": lambda: open(path, "rb"),
        "unbuffered file": lambda: open(path, "rb", buffering=0),
        "reusing": lambda: Reusing(path),
        "slow": lambda: Slow(content),
        "generator": lambda: (content[start : start + 500] for start in range(0, SIZE, 500)),
        "map": lambda: map(bytes, (content[:3000], content[3000:])),
    }


@pytest.mark.parametrize("name", bodies(b"", ""))
@pytest.mark.parametrize("framing", ["length", "chunked", "none"])
def test_each_body_arrives_as_by_stock(name: str, framing: str, tap: typing.Any, tmp_path: typing.Any) -> None:
    content = bytes(byte & 0x7F for byte in os.urandom(100)) + os.urandom(SIZE - 100)
    content = content.replace(b"\r\n", b"--")  # stock gives the chunk of a wide array too small a size
    path = tmp_path / "body"
    path.write_bytes(content)
    server = tap()
    found = []
    for manager in (urllib3.PoolManager, onewrite.PoolManager):
        body = bodies(content, str(path))[name]()
        headers = {"length": {"Content-Length": str(SIZE)}, "chunked": {"Transfer-Encoding": "chunked"}, "none": {}}
        try:
            manager(retries=False).request("POST", server.url(), body=body, headers=headers[framing])
            found.append((server.seen[-1].head, server.seen[-1].raw))
        except Exception as error:  # as stock raises it
            found.append(type(error))
        if hasattr(body, "close"):
            body.close()
    assert found[0] == found[1]


def test_only_exact_types_are_held(tmp_path: typing.Any) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    patched = io.BytesIO(b"x")
    patched.read = lambda size=-1: b""  # type: ignore[method-assign]
    with open(path, "rb") as file, open(path, "rb") as odd, tempfile.SpooledTemporaryFile() as spooled:
        odd.read = file.read  # type: ignore[method-assign]
        reader, writer = os.pipe()
        with open(reader, "rb") as pipe:
            os.close(writer)
            held = (None, b"", "", bytearray(), [b"x", "y"], (), io.BytesIO(), io.StringIO(), file, file.raw)
            others = (patched, odd, spooled, pipe, Slow(), OwnText("x"), [Slow()], iter([b"x"]), {b"x"}, object())
            assert all(map(at_hand, held))
            assert not any(map(at_hand, others))
        assert not spooled._rolled  # type: ignore[attr-defined]


def test_a_time_limit_ends_sending_and_leaves_no_lock_on_the_callers_bytearray(library: typing.Any) -> None:
    """On a connection that has carried a request."""
    over = threading.Event()

    def answer(sock: socket.socket) -> None:
        Peer(sock, 1, None).until(b"\r\n\r\n")
        sock.sendall(reply())
        over.wait(20)

    body = bytearray(30_000_000)
    with listening(answer) as listener, library.PoolManager(retries=False) as http:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        http.request("GET", url)
        with pytest.raises(urllib3.exceptions.ProtocolError) as caught:
            http.request("POST", url, body=body, timeout=0.2)
        over.set()
    body.append(1)  # raises BufferError while a view is alive
    assert isinstance(caught.value.args[1], TimeoutError)


def test_what_urllib3_wrote_before_its_error_is_sent() -> None:
    heads: list[bytes] = []
    with listening(lambda sock: heads.append(Peer(sock, 1, None).until(b"\r\n\r\n"))) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        for number, library in enumerate((urllib3, onewrite)):
            with library.PoolManager(retries=False) as http, pytest.raises(UnicodeEncodeError):
                http.request("POST", url, body=io.StringIO("\ud800"))  # read when the head was written
            until(lambda number=number: len(heads) > number)  # type: ignore[misc]
    assert heads[0] == heads[1]


class Raising:
    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __call__(self, given: object) -> None:
        raise self.error


@pytest.mark.parametrize("error", [asyncio.CancelledError, RecursionError, OSError, Exception])
@pytest.mark.parametrize("preload", [True, False])
def test_the_error_of_a_hook_is_swallowed(error: type[BaseException], preload: bool, tap: typing.Any) -> None:
    records: list[onewrite.Timing] = []
    onewrite.install(on_timing=Raising(error))
    onewrite.install(on_timing=records.append)
    before = onewrite.hook_failures()
    assert urllib3.PoolManager().request("GET", tap().url(), preload_content=preload).data == b"ok"
    assert (onewrite.hook_failures(), len(records)) == (before + 1, 1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, BaseException])
@pytest.mark.parametrize("name", ["on_timing", *(name for name in vars(onewrite.TimingListener) if name[:3] == "on_")])
@pytest.mark.parametrize("reused", [True, False])
def test_what_stops_a_thread_passes_and_keeps_the_place_in_the_pool(
    name: str, error: type[BaseException], reused: bool, tap: typing.Any
) -> None:
    raising = Raising(error)
    made: typing.Any = {"on_timing": raising}
    if name != "on_timing":
        made = {"listener": type("Listener", (onewrite.TimingListener,), {name: lambda self, event: raising(event)})()}
    url = tap(lambda peer, seen: peer.send(reply(seen.line.split()[1].encode()))).url("/")
    onewrite.install()
    with urllib3.PoolManager(maxsize=1, block=True, retries=False) as http:
        if reused:
            assert http.request("GET", url).status == 200
        installation = onewrite.install(**made)
        if name not in ("on_queue_start", "on_queue_end", "on_dns_start", "on_dns_end", "on_tls_start", "on_tls_end",
                        "on_informational", *(("on_connect_start", "on_connect_end") if reused else ())):  # fmt: skip
            with pytest.raises(error):
                http.request("GET", url + "a")
        installation.remove()
        pool: typing.Any = http.connection_from_url(url).pool
        assert pool.qsize() == 1
        assert http.request("GET", url + "b", pool_timeout=20).data == b"/b"


async def coroutine(timing: onewrite.Timing) -> None: ...


class AsyncHook:
    async def __call__(self, timing: onewrite.Timing) -> None: ...


@pytest.mark.parametrize("hook", [coroutine, AsyncHook(), functools.partial(coroutine)])
def test_a_coroutine_function_is_refused(hook: typing.Any) -> None:
    with pytest.raises(TypeError, match="plain function"):
        onewrite.install(on_timing=hook)
    with pytest.raises(TypeError, match="plain function"):
        onewrite.PoolManager(on_timing=hook)


@pytest.mark.parametrize("who", ["retry policy", "log handler", "body", "hook"])
@pytest.mark.parametrize("own_manager", [True, False])
def test_a_request_of_other_code_is_a_call_of_its_own(who: str, own_manager: bool, tap: typing.Any) -> None:
    server = tap(lambda peer, seen: peer.send(reply(b"", "503 Busy" if "/busy" in seen.line else "200 OK")))
    records: list[onewrite.Timing] = []
    onewrite.install(on_timing=records.append)
    http = urllib3.PoolManager()
    other = http if own_manager else urllib3.PoolManager()

    def ask(*_: object, **__: object) -> None:
        other.request("POST", server.url("/other"), body=b"x", retries=False)

    class Asking(urllib3.Retry):
        def increment(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            ask()
            return super().increment(*args, **kwargs)

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "/user" in record.getMessage():
                ask()

    def body() -> typing.Iterator[bytes]:
        ask()
        yield b"x"

    path, keywords, attempts = "/user", {"retries": False}, 1
    log, handler = logging.getLogger("urllib3"), Handler()
    if who == "retry policy":
        path, attempts = "/busy", 2
        keywords = {"retries": Asking(1, status_forcelist=[503], allowed_methods=None, raise_on_status=False)}
    elif who == "log handler":
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)
    elif who == "body":
        keywords["body"] = body()
    else:
        onewrite.install(on_timing=lambda timing: ask() if "/user" in timing.url else None)
    try:
        http.request("POST", server.url(path), **keywords)
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)
    found = {record.url.rpartition("/")[2]: record for record in records}
    assert len(found[path[1:]].attempts) == attempts
    assert found["other"].outcome == "ok"
    assert len(found["other"].attempts) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_hands_out_no_record_of_its_parent(tap: typing.Any) -> None:
    records: list[onewrite.Timing] = []
    onewrite.install(on_timing=records.append)
    response = urllib3.PoolManager().request("GET", tap().url(), preload_content=False)
    del response
    child = os.fork()
    if not child:
        onewrite.status()
        os._exit(len(records))
    assert os.waitpid(child, 0)[1] == 0
    onewrite.status()
    assert len(records) == 1


@pytest.mark.parametrize("size", [200, 50_000])
@pytest.mark.parametrize("make", [bytes, bytearray, lambda data: [data, data], io.BytesIO])
def test_a_class_in_place_of_the_socket_gets_each_byte_and_may_keep_it(
    make: typing.Any, size: int, tap: typing.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[typing.Any] = []

    class Keeping(socket.socket):
        def sendall(self, data: typing.Any, *flags: int) -> None:
            if self.getpeername()[1] == server.port:  # else it is the server's
                kept.append(data)
            super().sendall(data, *flags)

    server = tap()
    monkeypatch.setattr(socket, "socket", Keeping)
    with onewrite.PoolManager() as http:
        http.request("POST", server.url(), body=make(b"x" * size))
    assert server.seen[-1].head + server.seen[-1].raw == b"".join(kept)


class Registering(type):
    """Raises LookupError where a second class gets the same name."""

    names: typing.ClassVar[set[str]] = set()

    def __new__(cls, name: str, *args: typing.Any) -> typing.Any:
        if name in cls.names:
            raise LookupError(name)
        cls.names.add(name)
        return super().__new__(cls, name, *args)


def test_a_metaclass_may_refuse(tap: typing.Any) -> None:
    class Alone(urllib3.HTTPConnectionPool, metaclass=Registering):
        pass

    onewrite.install(on_timing=print)
    with Alone("127.0.0.1", tap().port) as pool:
        assert pool.request("GET", "/").status == 200


def test_the_class_in_front_does_not_show(tap: typing.Any) -> None:
    class Shared(urllib3.HTTPConnectionPool):
        state: typing.ClassVar[dict[str, typing.Any]] = {}

        def __init__(self, *args: typing.Any) -> None:
            self.__dict__ = self.state
            super().__init__(*args)

    onewrite.install(on_timing=print)
    conn = urllib3.connection.HTTPConnection("h")
    again = pickle.loads(pickle.dumps(conn))
    assert conn.__class__ is type(again) is urllib3.connection.HTTPConnection
    assert isinstance(conn, urllib3.connection.HTTPConnection)
    assert vars(Shared("h")) is vars(Shared("h"))
    with urllib3.PoolManager() as http:
        response = http.request("GET", tap().url(), preload_content=False)
        assert response.__class__ is urllib3.HTTPResponse
        assert response.data == b"ok"


def test_a_closed_connection_keeps_no_socket_and_can_be_copied(tap: typing.Any) -> None:
    onewrite.install(on_timing=str)
    for library in (urllib3, onewrite):
        with library.PoolManager() as http:
            url = tap().url()
            http.request("GET", url)
            conn: typing.Any = http.connection_from_url(url).pool.queue[-1]  # type: ignore[union-attr]
            sock = weakref.ref(conn.sock)
            conn.close()
            assert sock() is None
            assert type(pickle.loads(pickle.dumps(conn))) is type(copy.deepcopy(conn)) is conn.__class__


@pytest.mark.parametrize("name", ["on_timing", *(name for name in vars(onewrite.TimingListener) if name[:3] == "on_")])
def test_a_hook_is_not_called_for_its_own_requests(name: str, tap: typing.Any) -> None:
    server = tap()
    http = urllib3.PoolManager(maxsize=2)
    seen: list[str] = []

    class Asking(onewrite.TimingListener):
        def on_event(self, event: onewrite.Event) -> None:
            seen.append(event.timing.url)
            if f"on_{event.name}" == name:
                http.request("POST", server.url("/nested"), body=b"x")

    def on_timing(timing: onewrite.Timing) -> None:
        seen.append(timing.url)
        http.request("POST", server.url("/nested"), body=b"x")

    before = onewrite.hook_failures()
    if name == "on_timing":
        onewrite.install(on_timing=on_timing)
    else:
        onewrite.install(listener=Asking())
    http.request("POST", server.url("/user"), body=b"x")
    http.clear()
    assert set(seen) == {server.url("/user")}
    assert onewrite.hook_failures() == before


def test_a_manager_that_asks_for_its_pool_by_requests(tap: typing.Any) -> None:
    class Discovering(urllib3.PoolManager):
        def connection_from_host(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            requests.get(server.url("/discovery"))
            return super().connection_from_host(*args, **kwargs)

    server = tap()
    records: list[onewrite.Timing] = []
    onewrite.install(on_timing=records.append)
    with Discovering() as http:
        http.request("GET", server.url("/user"))
    assert [(record.url, len(record.attempts)) for record in records] == [
        (server.url("/discovery"), 1),
        (server.url("/user"), 1),
    ]


def test_a_retry_policy_that_sends_with_the_retries_it_returns(tap: typing.Any) -> None:
    class Reporting(urllib3.Retry):
        def increment(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            found = super().increment(*args, **kwargs)
            if "/busy" in args[1]:
                kwargs["_pool"].urlopen("POST", "/report", retries=found)
            return found

    server = tap(lambda peer, seen: peer.send(reply(b"", "503 Busy" if "/busy" in seen.line else "200 OK")))
    records: list[onewrite.Timing] = []
    onewrite.install(on_timing=records.append)
    retries = Reporting(1, status_forcelist=[503], raise_on_status=False)
    with urllib3.PoolManager(maxsize=2) as http:
        http.request("GET", server.url("/busy"), retries=retries)
    assert [(record.url, len(record.attempts)) for record in records] == [
        (server.url("/report"), 1),
        (server.url("/busy"), 2),
    ]


@pytest.mark.parametrize("name", ["read", "read1", "readinto", "stream", "read_chunked"])
def test_a_method_that_the_caller_keeps_works_to_the_end_and_after_it(name: str, tap: typing.Any) -> None:
    if not hasattr(urllib3.HTTPResponse, name):
        pytest.skip("not in this urllib3")
    body = b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    server = tap(lambda peer, seen: peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body))
    found: list[list[object]] = []
    records: list[onewrite.Timing] = []
    for _ in range(2):
        http = urllib3.PoolManager()
        response = http.request("GET", server.url(), preload_content=False)
        method = getattr(response, name)
        if name in ("stream", "read_chunked"):
            parts = list(method(2))
        else:
            parts = [method(bytearray(2) if name == "readinto" else 2) for _ in range(5)]
        found.append([*parts, response.read(), response.data, response.closed])
        copied = http.request("GET", server.url(), preload_content=False)
        shutil.copyfileobj(copied, io.BytesIO())
        for one in (response, copied):
            one.close()
        http.clear()
        onewrite.install(on_timing=records.append)
    assert found[0] == found[1]
    assert [record.receive_ns is not None for record in records] == [True, True]


def test_a_function_of_the_user_makes_the_response(tap: typing.Any) -> None:
    class Decrypting(urllib3.connection.HTTPConnection):
        def getresponse(self) -> typing.Any:
            data = super().getresponse().data
            return urllib3.HTTPResponse(io.BytesIO(data[::-1]), status=200, preload_content=False)

    class Pool(urllib3.HTTPConnectionPool):
        ConnectionCls = Decrypting

    records: list[onewrite.Timing] = []
    onewrite.install(on_timing=records.append)
    with Pool("127.0.0.1", tap().port) as pool:
        for preload in (True, False):
            response = pool.request("GET", "/", preload_content=preload)
            assert response.data == b"ko"
            response.release_conn()
    assert [(record.outcome, record.status) for record in records] == [("ok", 200)] * 2


class Closed:
    """Refuses names that it does not have."""

    def __init__(self, below: typing.Any) -> None:
        self.below = below

    def __getattr__(self, name: str) -> typing.Any:
        if name.startswith("_"):
            raise RuntimeError(name)
        return getattr(self.below, name)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the connection is let go, as by stock
@pytest.mark.parametrize("preload", [True, False])
@pytest.mark.parametrize("what", ["connection", "response"])
def test_a_class_of_the_user_that_refuses_to_be_searched(what: str, preload: bool, tap: typing.Any) -> None:
    class Connection(urllib3.connection.HTTPConnection):
        def getresponse(self) -> typing.Any:
            found = super().getresponse()
            return Closed(found) if what == "response" else found

        if what == "connection":

            def __getattr__(self, name: str) -> typing.Any:
                raise RuntimeError(name)

    class Pool(urllib3.HTTPConnectionPool):
        ConnectionCls = Connection

    records: list[onewrite.Timing] = []
    onewrite.install(on_timing=records.append, listener=onewrite.TimingListener())
    with Pool("127.0.0.1", tap().port) as pool:
        for _ in range(2):
            response = pool.request("POST", "/", body=b"x", preload_content=preload, retries=False)
            assert response.data == b"ok"
            response.release_conn()
    assert [(record.outcome, record.status) for record in records] == [("ok", 200)] * 2
    del response
    gc.collect()


class Unequal:
    """A hook that cannot be compared."""

    def __init__(self, act: typing.Callable[[], object]) -> None:
        self.act = act
        self.calls = 0

    def __call__(self, timing: onewrite.Timing) -> None:
        self.calls += 1
        self.act()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = object.__hash__

    @property
    def __self__(self) -> typing.Any:
        raise RuntimeError


def test_a_hook_that_cannot_be_compared_sends(tap: typing.Any) -> None:
    server = tap()
    hooks = [Unequal(lambda: urllib3.PoolManager().request("GET", server.url())) for _ in range(2)]
    ends: list[onewrite.Event] = []
    listener = onewrite.TimingListener()
    listener.on_call_end = ends.append  # type: ignore[method-assign]
    for hook in hooks:
        onewrite.install(on_timing=hook, listener=listener)
    before = onewrite.hook_failures()
    urllib3.PoolManager().request("POST", server.url(), body=b"x")
    assert onewrite.hook_failures() == before
    assert len(server.seen) == 1 + sum(hook.calls for hook in hooks) == 5


def test_a_method_that_is_given_twice_is_not_called_for_its_own_requests(tap: typing.Any) -> None:
    server = tap()

    class Reporter:
        def report(self, timing: onewrite.Timing) -> None:
            urllib3.PoolManager().request("GET", server.url("/report"))

    reporter = Reporter()
    for _ in range(2):
        onewrite.install(on_timing=reporter.report)
    urllib3.PoolManager().request("POST", server.url(), body=b"x")
    assert [seen.line.split()[1] for seen in server.seen] == ["/", "/report", "/report"]


class Policy(urllib3.Retry):
    """Keeps its history from everyone but urllib3."""

    def __getattribute__(self, name: str) -> typing.Any:
        if name == "history" and sys._getframe(1).f_globals["__name__"].startswith("onewrite"):
            raise RuntimeError
        return super().__getattribute__(name)


def test_a_retry_policy_that_shows_no_history(tap: typing.Any) -> None:
    server = tap(lambda peer, seen: peer.send(reply(b"no", "503 Later") if len(server.seen) < 3 else reply()))
    records: list[onewrite.Timing] = []
    onewrite.install(on_timing=records.append)
    assert urllib3.PoolManager().request("GET", server.url(), retries=Policy(3, status_forcelist=[503])).data == b"ok"
    assert len(server.seen) == 3
    assert records[-1].status == 200


@pytest.mark.parametrize("location", ["http://[bad/", "//[bad]x/"])
def test_a_location_that_is_no_url(location: str, tap: typing.Any) -> None:
    moved = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
    server = tap(lambda peer, seen: peer.send(moved if len(server.seen) % 2 else reply(b"ok")))
    found: list[str] = []
    for _ in range(2):
        server.seen.clear()
        with urllib3.HTTPConnectionPool("127.0.0.1", server.port) as pool:
            try:
                found.append(str(pool.request("GET", "/").status))
            except Exception as error:
                found.append(repr(error))
        onewrite.install(on_timing=print)
    assert found[0] == found[1]
