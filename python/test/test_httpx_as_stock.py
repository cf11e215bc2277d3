"""Errors, streams and cancellation of httpx are those without onewrite, and the records say what happened."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import pickle
import socket
import ssl
import subprocess
import sys
import threading
import time
import typing

import anyio
import httpcore
import httpx
import pytest

import httpx_exchanges
import onewrite
import onewrite.httpx
from httpx_clients import LIBRARIES, Clients
from tap import Peer, Seen, Tap, listening, mode, reply, until

#: When sending or reading fails, httpx and httpcore leave generators unfinished, and trio warns of these.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def trouble(clients: Clients, *arguments: typing.Any, **keywords: typing.Any) -> str:
    """Class and message of the error that a call raises."""
    try:
        clients.run(*arguments, **keywords)
    except Exception as error:
        return f"{type(error).__module__}.{type(error).__name__}: {error}"
    return "nothing"


def silent(peer: Peer, seen: Seen) -> None:
    peer.recv()


def gone(peer: Peer, seen: Seen) -> None:
    raise EOFError


def short(peer: Peer, seen: Seen) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
    raise EOFError


def nonsense(peer: Peer, seen: Seen) -> None:
    peer.send(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
    raise EOFError


def no_status(peer: Peer, seen: Seen) -> None:
    peer.send(b"HTTP/1.1 1xx Nothing\r\n\r\n")
    raise EOFError


def partly(peer: Peer, seen: Seen) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
    peer.recv()


#: Name → what the server does, what the client says, its time limits, kind and phase in the record.
TROUBLES: dict[str, tuple[typing.Any, dict[str, typing.Any], float | httpx.Timeout, str, str]] = {
    "no answer in time": (silent, {}, httpx.Timeout(20, read=0.6), "timeout", "wait"),
    "closed without an answer": (gone, {}, 5, "closed", "wait"),
    "closed in mid-body": (short, {}, 5, "closed", "receive"),
    "no body in time": (partly, {}, httpx.Timeout(20, read=1), "timeout", "receive"),
    "not HTTP": (nonsense, {}, 5, "protocol", "receive"),
    "an interim status that is none": (no_status, {}, 5, "protocol", "receive"),
    "a header that cannot be": (silent, {"headers": {"X-A": "a\r\nb"}}, 5, "other", None),
    "a body shorter than announced": (silent, {"headers": {"Content-Length": "300"}}, 5, "other", "send"),
    "a body where none was announced": (silent, {"headers": {"Content-Length": "0"}}, 5, "other", "send"),
    "a body longer than announced": (silent, {"headers": {"Content-Length": "100"}}, 5, "other", "send"),
}


def in_trouble(name: str, runtime: str, way: str, server: Tap, **more: typing.Any) -> str:
    _, keywords, timeout, _, _ = TROUBLES[name]
    calls = [("POST", server.url(), {"content": b"x" * 200, **keywords})]
    return trouble(Clients("httpx", runtime, way), calls, timeout=timeout, **more)


@functools.cache
def stock_in_trouble(name: str, runtime: str) -> str:
    with Tap(TROUBLES[name][0]) as server:
        return in_trouble(name, runtime, "stock", server)


WAITING = [pytest.param(name, marks=pytest.mark.drawn) for name in TROUBLES if "in time" in name]


@pytest.mark.parametrize("name", [*(name for name in TROUBLES if "in time" not in name), *WAITING])
def test_errors_are_those_of_stock(name: str, runtime: str, way: str, tap: typing.Any) -> None:
    answer, _, _, kind, phase = TROUBLES[name]
    timings: list[onewrite.Timing] = []
    server = tap(answer)
    ours = in_trouble(name, runtime, way, server, hooks={"on_timing": timings.append})
    assert ours == stock_in_trouble(name, runtime) != "nothing"
    assert [(timing.outcome, timing.error_kind, timing.error_phase) for timing in timings] == [("error", kind, phase)]


@pytest.mark.parametrize("kind", ["connect", "dns", "tls"])
def test_no_connection(kind: str, runtime: str, way: str, tap: typing.Any) -> None:
    timings: list[onewrite.Timing] = []
    context = ssl.create_default_context()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        urls = {
            "connect": f"http://127.0.0.1:{closed.getsockname()[1]}/",
            "dns": "http://no-such-name.invalid/",
            "tls": tap(tls=True).url(),
        }
        calls = [("POST", urls[kind], {"content": b"x"})]
        stock = trouble(Clients("httpx", runtime, "stock"), calls, context)
        ours = trouble(Clients("httpx", runtime, way), calls, context, hooks={"on_timing": timings.append})
    assert ours == stock
    phase = "tls" if kind == "tls" else "connect"  # httpcore's connect has the name looked up
    assert [(timing.outcome, timing.error_kind, timing.error_phase) for timing in timings] == [("error", kind, phase)]


def test_no_connection_free_in_time(runtime: str, way: str, tap: typing.Any) -> None:
    url = tap().url()
    timings: list[onewrite.Timing] = []

    def run(clients: Clients, **more: typing.Any) -> str:
        def blocking(http: typing.Any) -> None:
            with http.stream("GET", url):
                http.get(url)

        async def asynchronous(http: typing.Any) -> None:
            async with http.stream("GET", url):
                await http.get(url)

        limits, timeout = clients.httpx.Limits(max_connections=1), clients.httpx.Timeout(20, pool=0.1)
        function = blocking if clients.blocking else asynchronous
        return trouble(clients, function, transport={"limits": limits}, timeout=timeout, **more)

    stock = run(Clients("httpx", runtime, "stock"))
    assert stock.startswith("httpx.PoolTimeout")
    assert run(Clients("httpx", runtime, way), hooks={"on_timing": timings.append}) == stock
    found = [(timing.outcome, timing.error_kind, timing.error_phase) for timing in timings]
    assert found == [("error", "pool", "queue"), ("ok", None, None)]


@pytest.mark.parametrize("when", ["before the answer", "in the body"])
@pytest.mark.parametrize("asynchronous", ["asyncio", "trio"])
def test_cancelling_closes_the_connection(when: str, asynchronous: str, way: str, tap: typing.Any) -> None:
    closed = threading.Event()

    def wait(peer: Peer, seen: Seen) -> None:
        if seen.line.startswith("GET /next"):
            peer.send(reply())
            return
        if when == "in the body":
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
        with contextlib.suppress(ConnectionResetError):  # how a close arrives when "short" is still unread
            assert not peer.recv()
        closed.set()
        raise EOFError

    server = tap(wait)
    timings: list[onewrite.Timing] = []

    reached: list[str] = []

    class Listener(onewrite.TimingListener):
        def on_event(self, event: onewrite.Event) -> None:
            reached.append(event.name)

    async def cancel(http: typing.Any) -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(functools.partial(http.post, server.url(), content=b"x" * 200))
            while ("headers_end" if when == "in the body" else "request_end") not in reached:
                await anyio.sleep(0.005)
            group.cancel_scope.cancel()
        return str((await http.get(server.url("/next"))).text)

    hooks = {"on_timing": timings.append, "listener": Listener()}
    assert Clients("httpx", asynchronous, way).run(cancel, hooks=hooks) == "ok"
    assert closed.wait(20)
    phase = "receive" if when == "in the body" else "wait"
    assert [(timing.outcome, timing.error_phase) for timing in timings] == [("cancelled", phase), ("ok", None)]


class CloseFailedError(Exception):
    pass


def test_a_close_that_fails_ends_the_record(
    runtime: str, way: str, tap: typing.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a task is cancelled while it closes the answer."""
    close = httpcore._sync.connection_pool.PoolByteStream.close
    aclose = httpcore._async.connection_pool.PoolByteStream.aclose

    def fails(self: typing.Any) -> None:
        close(self)
        raise CloseFailedError

    async def fails_async(self: typing.Any) -> None:
        await aclose(self)
        raise CloseFailedError

    monkeypatch.setattr(httpcore._sync.connection_pool.PoolByteStream, "close", fails)
    monkeypatch.setattr(httpcore._async.connection_pool.PoolByteStream, "aclose", fails_async)
    timings: list[onewrite.Timing] = []
    with pytest.raises(CloseFailedError):
        Clients("httpx", runtime, way).run([("GET", tap().url(), {})], hooks={"on_timing": timings.append})
    assert [timing.outcome for timing in timings] == ["ok"]


def test_a_server_that_does_not_read(runtime: str, way: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    calls = [("POST", f"http://127.0.0.1:{listener.getsockname()[1]}/", {"content": b"x" * 50_000_000})]
    keywords: dict[str, typing.Any] = {"timeout": httpx.Timeout(20, write=0.3)}
    stock = trouble(Clients("httpx", runtime, "stock"), calls, **keywords)
    ours = trouble(Clients("httpx", runtime, way), calls, **keywords)
    listener.close()
    assert "Timeout" in stock
    assert ours == stock


def test_an_answer_that_came_before_its_request(runtime: str, way: str, tap: typing.Any) -> None:
    """httpcore takes it without reading; the request is sent all the same."""
    server = tap(lambda peer, seen: peer.send(reply(b"one") + reply(b"two") if "/1" in seen.line else b""))
    calls = [("POST", server.url(f"/{number}"), {"content": b"x"}) for number in (1, 2)]
    found = []
    for one in ("stock", way):
        server.seen.clear()
        answers = Clients("httpx", runtime, one).run(calls)
        until(lambda: len(server.seen) == 2)
        found.append(([answer.text for answer in answers], [(seen.head, seen.connection) for seen in server.seen]))
        server.connections = 0
    assert found[0] == found[1]
    assert found[0][0] == ["one", "two"]


# -- install() --------------------------------------------------------------------------------------


def test_install_reaches_clients_made_before_it_and_while_it_is_in_force(tap: typing.Any) -> None:
    """Its hooks and those of a transport add."""
    server = tap()
    timings: list[onewrite.Timing] = []
    own: list[onewrite.Timing] = []
    with contextlib.ExitStack() as stack:
        older = stack.enter_context(httpx.Client())
        mine = stack.enter_context(httpx.Client(transport=onewrite.httpx.Transport(on_timing=own.append)))
        for _ in range(2):
            onewrite.httpx.install(on_timing=timings.append)
            onewrite.httpx.install(coalesce_max=1000)
            between = stack.enter_context(httpx.Client())
            for installed in (True, False):
                for http, segments, records in (
                    (older, 1 + (not installed), (8 * installed, 0)),
                    (between, 1 + (not installed), (8 * installed, 0)),
                    (mine, 1, (8 * installed, 8)),
                ):
                    del timings[:], own[:]
                    for _ in range(8):
                        http.post(server.url(), content=b"x" * 200)
                    assert mode(seen.segments for seen in server.seen[-8:]) == segments
                    assert (len(timings), len(own)) == records
                onewrite.httpx.uninstall()


def test_status_says_what_is_patched() -> None:
    onewrite.httpx.install()
    name = "httpcore.ConnectionPool.handle_request"
    assert onewrite.status().patches[name] == "patched"
    onewrite.httpx.install(hooks_disabled=True)
    assert onewrite.status().options["hooks_disabled"]
    onewrite.httpx.uninstall()
    assert onewrite.status().patches[name] == "stock"
    assert not onewrite.status().options["hooks_disabled"]


def test_an_httpcore_that_is_not_known_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = onewrite._httpcore.base.streams
    streams.cache_clear()
    monkeypatch.setattr(httpcore, "Request", object)
    with pytest.raises(onewrite.UnsupportedBaseError, match=r"^httpcore is not what onewrite knows"):
        onewrite.httpx.install()
    assert onewrite.status().patches["httpcore.ConnectionPool.handle_request"] == "stock"


def test_a_program_that_is_not_changed(tap: typing.Any, tmp_path: typing.Any) -> None:
    server = tap()
    program = tmp_path / "app.py"
    program.write_text(
        "import sys, httpx\nwith httpx.Client(trust_env=False) as http:\n"
        "    for _ in range(8):\n        http.post(sys.argv[1], content=b'x' * 200)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "onewrite", "run", "--httpx", "--timing", str(program), server.url()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stderr.count(f"POST {server.url()} 200 in ") == 8
    assert mode(seen.segments for seen in server.seen) == 1


def test_a_mock_that_patches_the_pool_class_later_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    transport = onewrite.httpx.Transport()
    answer = httpcore.Response(201, content=b"mocked")
    monkeypatch.setattr(httpcore.ConnectionPool, "handle_request", lambda self, request: answer)
    with httpx.Client(transport=transport) as http:
        assert http.post("http://mocked.invalid/", content=b"x").text == "mocked"


def test_options_and_hooks_are_checked() -> None:
    for make in (onewrite.httpx.Transport, onewrite.httpx.AsyncConnectionPool, onewrite.httpx.install):
        with pytest.raises(ValueError, match="coalesce_max"):
            make(coalesce_max=99999)
        with pytest.raises(TypeError, match="on_timing"):
            make(on_timing=3)
    with pytest.raises(TypeError, match="colour"):
        onewrite.httpx.install(colour="red")


def test_a_pool_that_nobody_keeps_is_freed_at_once(tap: typing.Any) -> None:
    import weakref

    gc.collect()
    gc.disable()
    try:
        transport = onewrite.httpx.Transport()
        seen = weakref.ref(transport._pool)
        del transport
        assert seen() is None
    finally:
        gc.enable()


def test_a_response_that_is_freed_unread_ends_its_call(way: str, tap: typing.Any) -> None:
    timings: list[onewrite.Timing] = []
    server = tap(partly)

    def drop(http: typing.Any) -> None:
        response = http.send(http.build_request("GET", server.url()), stream=True)
        assert timings == []
        del response
        gc.collect()
        assert not timings, "no hook is called in a finalizer"
        onewrite.status()
        assert [timing.outcome for timing in timings] == ["ok"]

    Clients("httpx", "blocking", way).run(drop, hooks={"on_timing": timings.append})
    assert len(timings) == 1


def test_nothing_is_imported_that_was_not_asked_for() -> None:
    program = "import sys, onewrite; print([name for name in sys.modules if name.startswith('httpx')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# -- timing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ["forward", "connect"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_phases_of_new_and_reused_connections(
    library: str, route: str, runtime: str, way: str, tap: typing.Any, authority: typing.Any
) -> None:
    server = tap(tls=route == "connect", proxy=True)
    url = f"{'https' if server.context else 'http'}://localhost:{server.port}/items?q=1"
    timings: list[onewrite.Timing] = []
    Clients(library, runtime, way).run(
        [("POST", url, {"content": b"x" * 200})] * 2,
        ssl.create_default_context(cafile=authority.pem),
        hooks={"on_timing": timings.append},
        transport={"proxy": server.url()},
    )
    first, second = timings
    assert (first.method, first.url, first.outcome, first.status) == ("POST", url, "ok", 200)
    assert (first.reused, second.reused) == (False, True)
    assert first.conn_id == second.conn_id
    assert first.connect_ns
    assert bool(first.tls_ns) == bool(server.context)
    assert second.connect_ns is None
    assert second.tls_ns is None
    for timing in timings:
        (attempt,) = timing.attempts
        assert attempt.send_ns
        assert attempt.wait_ns
        assert attempt.receive_ns
        assert attempt.writes == 1
        assert attempt.bytes_sent > 200
        assert attempt.bytes_received == 2
        assert timing.total_ns
        assert timing.total_ns >= (attempt.send_ns + attempt.wait_ns + attempt.receive_ns)


ORDER = [
    "call_start", "attempt_start", "connect_start", "connect_end", "connection_acquired", "request_start",
    "request_end", "informational", "response_start", "headers_end", "response_end", "connection_released",
    "attempt_end", "call_end",
]  # fmt: skip


@pytest.mark.parametrize("cut", [0, 9, 12, 20])
def test_events_come_in_order_and_an_interim_answer_ends_no_wait(
    cut: int, runtime: str, way: str, tap: typing.Any
) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

    def hint(peer: Peer, seen: Seen) -> None:
        for part in (interim[:cut], interim[cut:]):
            if part:
                peer.send(part)
                time.sleep(0.02)
        peer.send(reply(b"ok"))

    events: list[onewrite.Event] = []

    class Listener(onewrite.TimingListener):
        def on_event(self, event: onewrite.Event) -> None:
            events.append(event)

    timings: list[onewrite.Timing] = []
    (answer,) = Clients("httpx", runtime, way).run(
        [("POST", tap(hint).url(), {"content": b"x" * 200})],
        hooks={"on_timing": timings.append, "listener": Listener()},
    )
    assert answer.text == "ok"
    assert [event.name for event in events] == ORDER
    assert [event.t_ns for event in events] == sorted(event.t_ns for event in events)
    assert events[7].fields == {"status": 103}
    assert timings[0].wait_ns


def test_a_stream_that_is_left_early_gives_its_record(runtime: str, way: str, tap: typing.Any) -> None:
    def endless(peer: Peer, seen: Seen) -> None:
        peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(OSError):
            while True:
                peer.send(b"5\r\nhello\r\n")
                time.sleep(0.01)

    server = tap(endless)
    timings: list[onewrite.Timing] = []

    def blocking(http: typing.Any) -> None:
        with http.stream("GET", server.url()) as answer:
            assert next(answer.iter_raw())
        assert len(timings) == 1

    async def asynchronous(http: typing.Any) -> None:
        async with http.stream("GET", server.url()) as answer:
            async for _ in answer.aiter_raw():
                break
        assert len(timings) == 1

    clients = Clients("httpx", runtime, way)
    clients.run(blocking if clients.blocking else asynchronous, hooks={"on_timing": timings.append})
    assert timings[0].outcome == "ok"
    assert timings[0].wait_ns
    assert timings[0].receive_ns is None


def test_a_users_own_trace_is_still_heard(runtime: str, way: str, tap: typing.Any) -> None:
    clients = Clients("httpx", runtime, way)
    heard: dict[str, list[str]] = {"stock": [], way: []}

    def extension(into: list[str]) -> typing.Any:
        def trace(name: str, info: typing.Any) -> None:
            into.append(name)

        async def atrace(name: str, info: typing.Any) -> None:
            into.append(name)

        return {"trace": trace if clients.blocking else atrace}

    for one in (Clients("httpx", runtime, "stock"), clients):
        calls = [("POST", tap().url(), {"content": b"x", "extensions": extension(heard[one.way])})]
        one.run(calls, hooks={"on_timing": lambda timing: None} if one.way != "stock" else None)
    assert heard["stock"]
    assert heard[way] == heard["stock"]


def test_http2_is_left_alone(runtime: str, way: str, authority: typing.Any) -> None:
    pytest.importorskip("h2")
    import h2.config
    import h2.connection
    import h2.events

    context = authority.server_context()
    context.set_alpn_protocols(["h2"])

    def serve(raw: socket.socket) -> None:
        with context.wrap_socket(raw, server_side=True) as sock:
            connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
            connection.initiate_connection()
            sock.sendall(connection.data_to_send())
            while data := sock.recv(65536):
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.StreamEnded):
                        connection.send_headers(event.stream_id, [(":status", "200")])
                        connection.send_data(event.stream_id, b"two", end_stream=True)
                sock.sendall(connection.data_to_send())

    listener = listening(serve)
    timings: list[onewrite.Timing] = []
    answers = Clients("httpx", runtime, way).run(
        [("POST", f"https://127.0.0.1:{listener.getsockname()[1]}/", {"content": b"x" * 200})] * 2,
        ssl.create_default_context(cafile=authority.pem),
        hooks={"on_timing": timings.append},
        transport={"http2": True},
    )
    listener.close()
    assert [(answer.http_version, answer.text) for answer in answers] == [("HTTP/2", "two")] * 2
    assert [(timing.outcome, timing.status, timing.send_ns) for timing in timings] == [("ok", 200, None)] * 2


def test_whole_exchanges_at_random() -> None:
    httpx_exchanges.run(20, seed=1)


def test_a_hook_that_ends_the_program_costs_no_place_of_the_pool(tap: typing.Any) -> None:
    class Ending(onewrite.TimingListener):
        def on_headers_end(self, event: onewrite.Event) -> None:
            if event.timing.url.endswith("/end"):
                raise KeyboardInterrupt

    server = tap()
    transport = onewrite.httpx.Transport(listener=Ending(), limits=httpx.Limits(max_connections=1))
    with httpx.Client(transport=transport, timeout=httpx.Timeout(20, pool=1)) as http:
        with pytest.raises(KeyboardInterrupt):
            http.get(server.url("/end"))
        assert http.get(server.url()).status_code == 200


def test_a_finalizer_of_the_users_stream_runs() -> None:
    freed: list[bool] = []

    class Answer:
        def __iter__(self) -> typing.Iterator[bytes]:
            yield b"ok"

        def __del__(self) -> None:
            freed.append(True)

    class Answering(httpcore.ConnectionPool):
        def handle_request(self, request: httpcore.Request) -> httpcore.Response:
            return httpcore.Response(200, content=Answer())

    onewrite.httpx.install(on_timing=print)
    assert Answering().request("GET", "http://h/").content == b"ok"
    gc.collect()
    assert freed == [True]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda pool: pickle.loads(pickle.dumps(pool))])
def test_a_copy_of_a_pool_is_stock(copied: typing.Any) -> None:
    onewrite.httpx.install(on_timing=print)
    again = copied(httpcore.AsyncConnectionPool(network_backend=httpcore.AnyIOBackend()))
    assert type(again) is httpcore.AsyncConnectionPool
    assert type(again._network_backend) is httpcore.AnyIOBackend
