"""Edges at which a mechanism of an earlier version failed: what it was for is done without it, or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
import typing
from http.client import HTTPResponse
from unittest import mock

import pytest
import urllib3
import urllib3.connection
import urllib3.response

import onewrite
from tap import reply

with contextlib.suppress(ImportError):
    import onewrite.httpx

LARGE = reply(b"x" * 200_000)


class Events(onewrite.TimingListener):
    def __init__(self) -> None:
        self.events: list[onewrite.Event] = []

    def on_event(self, event: onewrite.Event) -> None:
        self.events.append(event)

    def names(self) -> list[str]:
        return [event.name for event in self.events]


# -- what the base library refuses, or takes in its own way -------------------------------------------


class Silent(str):
    def __str__(self) -> str:
        raise ValueError("no text")


class Wrong:
    """An answer of a user's pool."""

    def tell(self) -> int:
        raise OSError("no position")

    @property
    def status(self) -> int:
        raise ValueError("no status")


@pytest.mark.parametrize("url", [None, 5, b"/", Silent("/"), ("/",), ""], ids=repr)
@pytest.mark.parametrize("method", [None, 5, "GET", Silent("GET")], ids=repr)
def test_an_odd_method_or_url_gets_what_stock_gives_it(method: typing.Any, url: typing.Any, tap: typing.Any) -> None:
    def outcomes() -> list[object]:
        with urllib3.HTTPConnectionPool("127.0.0.1", server.port) as pool:
            return [outcome(pool.urlopen, method, url), outcome(pool.urlopen), outcome(pool.request, method, url)]

    def outcome(function: typing.Callable[..., typing.Any], *given: object) -> object:
        try:
            return function(*given).status
        except Exception as error:
            return type(error), str(error)

    server, records = tap(), list[onewrite.Timing]()
    stock = outcomes()
    onewrite.install(on_timing=records.append)
    assert outcomes() == stock
    assert all(type(record.method) is type(record.url) is str and str(record) for record in records)


def test_an_odd_answer_of_a_users_pool_reaches_the_caller(tap: typing.Any) -> None:
    class Pool(urllib3.HTTPConnectionPool):
        def urlopen(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            super().urlopen(*args, **kwargs)
            return Wrong()

    records = list[onewrite.Timing]()
    onewrite.install(on_timing=records.append)
    with Pool("127.0.0.1", tap().port) as pool:
        assert type(pool.urlopen("GET", "/")) is Wrong
    assert [record.outcome for record in records] == ["ok"]


def test_a_mock_of_an_answer_reaches_the_caller(tap: typing.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = mock.MagicMock(spec=urllib3.response.HTTPResponse, status=201, headers={})
    records = list[onewrite.Timing]()
    onewrite.install(on_timing=records.append)
    with urllib3.HTTPConnectionPool("127.0.0.1", tap().port) as pool:
        pool.request("GET", "/")  # the mock's is on this connection
        monkeypatch.setattr(pool, "_make_request", lambda *args, **kwargs: answer)
        assert pool.urlopen("GET", "/", redirect=False, retries=False) is answer
    assert [record.outcome for record in records] == ["ok", "ok"]


def test_a_response_class_that_is_set_later_is_used(tap: typing.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(HTTPResponse):
        pass

    server, records = tap(), list[onewrite.Timing]()
    onewrite.install(on_timing=records.append)
    with urllib3.HTTPConnectionPool("127.0.0.1", server.port) as pool:

        def used() -> type:
            response = pool.request("GET", "/", preload_content=False)
            found = type(response._original_response)
            response.drain_conn()
            return found

        assert used() is HTTPResponse
        monkeypatch.setattr(urllib3.connection.HTTPConnection, "response_class", Mine)
        assert used() is Mine
        monkeypatch.undo()
        pool.pool.queue[-1].response_class = Mine
        assert used() is Mine
    assert all(record.wait_ns for record in records)


def test_an_error_whose_reasons_never_end(tap: typing.Any) -> None:
    class EndlessError(OSError):
        @property
        def reason(self) -> EndlessError:
            return EndlessError()

    class Connection(urllib3.connection.HTTPConnection):
        def connect(self) -> None:
            raise EndlessError

    class Pool(urllib3.HTTPConnectionPool):
        ConnectionCls = Connection

    records = list[onewrite.Timing]()
    onewrite.install(on_timing=records.append)
    with Pool("127.0.0.1", 1) as pool, pytest.raises(urllib3.exceptions.ProtocolError):
        pool.request("GET", "/", retries=False)
    assert records[0].outcome == "error"


def test_a_metaclass_that_refuses_a_subclass_and_an_alarm_that_comes_then(tap: typing.Any) -> None:
    class Final(type):
        def __new__(mcs, name: str, bases: typing.Any, members: typing.Any) -> typing.Any:
            if any(type(base) is Final for base in bases):
                raise KeyError(name)
            return super().__new__(mcs, name, bases, members)

    class Pool(urllib3.HTTPConnectionPool, metaclass=Final):
        pass

    onewrite.install()
    with Pool("127.0.0.1", tap().port) as pool:
        assert pool.request("GET", "/").status == 200
        assert type(pool) is Pool


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "asyncio"])
def test_what_is_no_request_gets_httpcores_own_error(asynchronous: bool, tap: typing.Any) -> None:
    httpcore = pytest.importorskip("httpcore")
    url = tap().url()

    def odd(name: str, value: object) -> typing.Any:
        request = httpcore.Request("GET", url)
        setattr(request, name, value)
        return request

    def outcomes() -> list[object]:
        pool = httpcore.AsyncConnectionPool() if asynchronous else httpcore.ConnectionPool()
        handle = pool.handle_async_request if asynchronous else pool.handle_request
        names = ("extensions", "stream", "url", "method", "headers")
        return [
            outcome(handle, *given)
            for given in ((), (None,), (1, 2), *((odd(name, value),) for name in names for value in (None, 5, "x")))
        ]

    def outcome(handle: typing.Callable[..., typing.Any], *given: object) -> object:
        async def awaited() -> object:
            return await handle(*given)

        try:
            return (asyncio.run(awaited()) if asynchronous else handle(*given)).status
        except Exception as error:
            return type(error), str(error)

    stock = outcomes()
    onewrite.httpx.install(on_timing=lambda timing: None)
    assert outcomes() == stock
    onewrite.httpx.install(hooks_disabled=True)
    assert outcomes() == stock


# -- threads ------------------------------------------------------------------------------------------


#: The folder of the package: a clone or its virtual environment may be called onewrite, too.
OURS = os.path.join(os.path.dirname(onewrite.__file__), "")


def in_turns(*steps: typing.Callable[[], object]) -> list[str]:
    """Run *steps* in a thread each, which take turns in onewrite's code; return the errors that are onewrite's."""
    found: list[str] = []
    ready = threading.Barrier(len(steps))

    def switch(frame: typing.Any, event: str, argument: object) -> typing.Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        time.sleep(random.random() / 5000)
        return switch

    def run(step: typing.Callable[[], object]) -> None:
        ready.wait()
        sys.settrace(switch)
        try:
            step()
        except Exception as error:  # stock raises its own
            frames = error.__traceback__
            while frames is not None and frames.tb_next is not None:
                frames = frames.tb_next
            if frames is not None and frames.tb_frame.f_code.co_filename.startswith(OURS):
                found.append(repr(error))
        finally:
            sys.settrace(None)

    threads = [threading.Thread(target=run, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("other", ["close", "release_conn", "read", "stream", "drain_conn", "closed pool"])
def test_a_response_that_two_threads_end(other: str, tap: typing.Any) -> None:
    url = tap(lambda peer, seen: peer.send(LARGE)).url()
    events, timings = Events(), list[onewrite.Timing]()
    onewrite.install(on_timing=timings.append, listener=events)
    end = time.monotonic() + 0.7
    count = 0
    with urllib3.PoolManager() as http:
        while time.monotonic() < end:
            count += 1
            response: typing.Any = http.request("GET", url, preload_content=False)
            second = {"stream": lambda: [*response.stream(5000)], "closed pool": http.clear}.get(other)  # noqa: B023
            assert in_turns(response.close, second or getattr(response, other)) == []
            response.close()
            response.release_conn()
    assert len(timings) == count
    assert len({id(timing) for timing in timings}) == count


def test_a_pool_that_is_closed_while_a_request_begins(tap: typing.Any) -> None:
    timings: list[onewrite.Timing] = []
    server = tap()
    onewrite.install(on_timing=timings.append)
    for _ in range(30):
        pool = urllib3.HTTPConnectionPool("127.0.0.1", server.port, block=True, retries=False)
        assert in_turns(pool.close, lambda pool=pool: pool.request("GET", "/")) == []  # type: ignore[misc]
    assert {(one.outcome, one.error_kind) for one in timings} <= {("ok", None), ("error", "pool")}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("how", ["freed", "closed", "read"])
def test_a_child_delivers_no_record_of_a_response_that_it_inherits(how: str, tap: typing.Any) -> None:
    timings: list[onewrite.Timing] = []
    onewrite.install(on_timing=timings.append)
    http = urllib3.PoolManager()
    kept = [http.request("GET", tap().url(), preload_content=False)]
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            response = kept.pop()
            if how == "closed":
                response.close()
            elif how == "read":
                response.read()
            del response
            onewrite.status()
            os._exit(len(timings))
        os._exit(99)
    assert os.waitpid(child, 0)[1] == 0
    kept.pop().close()
    assert len(timings) == 1
    http.clear()


# -- events -------------------------------------------------------------------------------------------


def test_no_event_comes_within_another_or_after_the_last(tap: typing.Any) -> None:
    """A listener ends the call that it hears of."""
    order: list[str] = []
    responses: list[typing.Any] = []

    class Closing(onewrite.TimingListener):
        def on_event(self, event: onewrite.Event) -> None:
            order.append(f"<{event.name}")
            if responses:
                responses[0].close()
            order.append(f"{event.name}>")

    http = onewrite.PoolManager(listener=Closing(), on_timing=lambda timing: order.append("<record"))
    response = http.request("GET", tap(lambda peer, seen: peer.send(LARGE)).url(), preload_content=False)
    responses.append(response)
    response.read(1000)
    with contextlib.suppress(Exception):
        response.read()
    response.close()
    names = [name[1:] for name in order if name.startswith("<")]
    assert order == [part for name in names for part in (f"<{name}", f"{name}>")][: len(order)]
    assert names[-2:] == ["call_end", "record"]
    assert names.count("call_end") == names.count("record") == 1
    http.clear()


@pytest.mark.parametrize("answer", ["HEAD", "204", "304", "empty"])
def test_an_answer_without_a_body_ends_with_its_head(answer: str, library: typing.Any, tap: typing.Any) -> None:
    head = {"204": "204 No Content", "304": "304 Not Modified"}.get(answer, "200 OK")
    length = {"HEAD": "Content-Length: 5\r\n", "empty": "Content-Length: 0\r\n"}.get(answer, "")
    server = tap(lambda peer, seen: peer.send(f"HTTP/1.1 {head}\r\n{length}\r\n".encode()))
    timings: list[onewrite.Timing] = []
    hooks = {"on_timing": timings.append} if library is onewrite else {}
    if not hooks:
        onewrite.install(on_timing=timings.append)
    with library.PoolManager(**hooks) as http:
        method = "HEAD" if answer == "HEAD" else "GET"
        begun = time.monotonic_ns()
        response = http.request(method, server.url(), preload_content=False)
        returned = time.monotonic_ns()
        time.sleep(0.01)
        response.drain_conn()
        response.release_conn()
    (timing,) = timings
    assert timing.receive_ns is not None
    assert timing.total_ns < returned - begun


class UnprintableError(OSError):
    def __str__(self) -> str:
        return self.strerror  # None

    @property
    def reason(self) -> object:
        raise LookupError


@pytest.mark.parametrize("listener", [None, Events()])
def test_an_error_that_has_no_text(listener: typing.Any) -> None:
    class Connection(urllib3.connection.HTTPConnection):
        def _new_conn(self) -> typing.Any:
            raise UnprintableError

    class Pool(urllib3.HTTPConnectionPool):
        ConnectionCls = Connection

    timings: list[onewrite.Timing] = []
    onewrite.install(on_timing=timings.append, listener=listener)
    with Pool("127.0.0.1", 9) as pool, pytest.raises(urllib3.exceptions.MaxRetryError):
        pool.request("GET", "/", retries=urllib3.Retry(2, backoff_factor=0))
    assert [one.outcome for one in timings[0].attempts] == ["error"] * 3
    assert timings[0].outcome == "error"


# -- what a record says -------------------------------------------------------------------------------


def test_secrets_are_in_no_form_of_a_record_or_an_event(tap: typing.Any) -> None:
    events, timings = Events(), list[onewrite.Timing]()
    server = tap()
    with onewrite.PoolManager(on_timing=timings.append, listener=events) as http:
        http.request("GET", f"http://user:s3cr3t@127.0.0.1:{server.port}/?X-Amz-Signature=s3cr3t&a=b")
    assert "s3cr3t" in server.seen[0].line
    forms = [str(timings), repr(timings[0]), json.dumps(timings[0].to_dict()), repr(timings[0].attempts)]
    forms += [repr(events.events), json.dumps([event.to_dict() for event in events.events])]
    assert not any("s3cr3t" in form for form in forms)
    assert timings[0].url == f"http://127.0.0.1:{server.port}/?X-Amz-Signature=REDACTED&a=b"


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("http://user:s3cr3t@127.0.0.1:1", "127.0.0.1:1"),
        ("http://nowhere.invalid", "nowhere.invalid:80"),
        ("https://[::1]:1", "[::1]:1"),
        ("socks5://127.0.0.1:1", "127.0.0.1:1"),
        ("socks4://nowhere.invalid", "nowhere.invalid:1080"),
    ],
)
def test_a_proxy_that_cannot_be_reached_is_named(given: str, seen: str) -> None:
    requests = pytest.importorskip("requests")
    if given.startswith("socks"):
        pytest.importorskip("socks")
    events, timings = Events(), list[onewrite.Timing]()
    onewrite.install(on_timing=timings.append, listener=events)
    for scheme in ("http", "https"):
        with pytest.raises(requests.exceptions.ConnectionError):
            requests.post(f"{scheme}://shop.invalid/a", data=b"x", proxies={"http": given, "https": given})
    for timing in timings:
        assert timing.proxy == timing.attempts[0].proxy == seen
        assert f" ms via proxy {seen}: " in str(timing)
        assert "s3cr3t" not in f"{timing} {timing.to_dict()}"
    places = [event.fields.get("host") or event.fields.get("peer") for event in events.events]
    assert {place for place in places if place} <= {seen, seen.rpartition(":")[0], "127.0.0.1:1"}


def test_the_proxy_and_the_peer_of_a_request(tap: typing.Any, authority: typing.Any) -> None:
    events, timings = Events(), list[onewrite.Timing]()
    proxy = tap(tls=True, proxy=True)
    hooks: dict[str, typing.Any] = {"on_timing": timings.append, "listener": events}
    with onewrite.ProxyManager(proxy.url(), ca_certs=authority.pem, **hooks) as http:
        for _ in range(2):
            http.request("GET", f"https://localhost:{proxy.port}/")
    assert [timing.proxy for timing in timings] == [f"127.0.0.1:{proxy.port}"] * 2
    (connecting,) = [event for event in events.events if event.name == "connect_start"]
    assert connecting.to_dict()["peer"] == f"127.0.0.1:{proxy.port}"


@pytest.mark.parametrize("way", ["urllib3", "requests", "pool"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_default_port_is_not_added(way: str, scheme: str) -> None:
    timings: list[onewrite.Timing] = []
    onewrite.install(on_timing=timings.append)
    url = f"{scheme}://nowhere.invalid/a?b"
    with contextlib.suppress(Exception):
        if way == "urllib3":
            urllib3.PoolManager().request("GET", url, retries=False)
        elif way == "requests":
            pytest.importorskip("requests").get(url)
        else:
            urllib3.connection_from_url(f"{scheme}://nowhere.invalid").urlopen("GET", "/a?b", retries=False)
    assert [timing.url for timing in timings] == [url]


# -- switches -----------------------------------------------------------------------------------------


def test_hooks_disabled_ends_earlier_hooks_and_those_of_own_managers(tap: typing.Any) -> None:
    calls: list[onewrite.Timing] = []
    url = tap().url()
    own = onewrite.PoolManager(on_timing=calls.append)
    onewrite.install(on_timing=calls.append)
    onewrite.PoolManager(hooks_disabled=True, on_timing=calls.append).request("GET", url)
    assert not calls
    onewrite.install(hooks_disabled=True)
    for http in (own, urllib3.PoolManager()):
        http.request("GET", url)
    assert not calls
    assert (onewrite.status().hooks, onewrite.status().options["hooks_disabled"]) == (0, True)
    onewrite.install(hooks_disabled=False)
    own.request("GET", url)
    assert (len(calls), onewrite.status().hooks) == (2, 1)
    own.clear()


@pytest.mark.parametrize("kind", ["manager", "pool", "session"])
def test_a_pool_that_is_older_than_install(kind: str, tap: typing.Any) -> None:
    """It is reached with its second request; the outcome of the first is the response's, where the manager shows it."""
    server = tap(lambda peer, seen: (peer.send(reply(b"", "503 Busy", "Connection: close")), peer.sock.close()))
    made: typing.Any = {
        "manager": urllib3.PoolManager,
        "pool": lambda: urllib3.HTTPConnectionPool("127.0.0.1", server.port),
        "session": lambda: pytest.importorskip("requests").Session(),
    }[kind]()
    url = "/" if kind == "pool" else server.url()
    made.request("GET", url)
    timings: list[onewrite.Timing] = []
    onewrite.install(on_timing=timings.append)
    before = onewrite.status().missed
    for _ in range(25):
        made.request("GET", url)
    assert {timing.status for timing in timings} == {503}
    assert len(timings) == (25 if kind == "manager" else 24)
    assert all(timing.wait_ns for timing in timings[-24:])
    assert onewrite.status().missed - before == 1
    assert sorted(seen.segments for seen in server.seen[2:])[12] == 1


@pytest.mark.filterwarnings("ignore:.*never awaited", "ignore::pytest.PytestUnraisableExceptionWarning")  # stock's too
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("coroutine", [False, True])
def test_a_trace_function_of_the_user_is_refused_as_by_httpcore(
    asynchronous: bool, coroutine: bool, tap: typing.Any
) -> None:
    httpcore = pytest.importorskip("httpcore")
    url = tap().url()

    async def awaited(name: str, info: object) -> None: ...

    def called(name: str, info: object) -> None: ...

    trace = awaited if coroutine else called
    texts = []
    for hooks in ({}, {"on_timing": str}):
        if hooks:
            onewrite.httpx.install(**hooks)
        try:
            if asynchronous:

                async def ask() -> None:
                    async with httpcore.AsyncConnectionPool() as pool:
                        await pool.request("GET", url, extensions={"trace": trace})

                asyncio.run(ask())
            else:
                with httpcore.ConnectionPool() as pool:
                    pool.request("GET", url, extensions={"trace": trace})
            texts.append("")
        except TypeError as error:
            texts.append(str(error))
    assert texts[0] == texts[1]
    assert bool(texts[0]) == (asynchronous != coroutine)


def test_a_closed_port_has_no_proxy(tap: typing.Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    timings: list[onewrite.Timing] = []
    with onewrite.PoolManager(on_timing=timings.append) as http, pytest.raises(urllib3.exceptions.HTTPError):
        http.request("GET", f"http://127.0.0.1:{port}/", retries=False)
    assert timings[0].proxy is None
    assert "proxy" not in f"{timings[0]} {timings[0].to_dict()}"


def test_a_greenlet_is_killed_within_a_hook() -> None:
    """In a process of its own, for gevent patches all."""
    pytest.importorskip("gevent")
    program = """
import gevent.monkey
gevent.monkey.patch_all()
import gevent, gevent.pywsgi, onewrite, urllib3
onewrite.install(on_timing=lambda timing: gevent.sleep(0.2))
def answer(environ, start_response):
    start_response("200 OK", [("Content-Length", "0")])
    return []
server = gevent.pywsgi.WSGIServer(("127.0.0.1", 0), answer, log=None)
server.start()
def work():
    for _ in range(20):
        urllib3.PoolManager().request("GET", f"http://127.0.0.1:{server.server_port}/")
killed = gevent.spawn(work)
gevent.sleep(0.1)
killed.kill(timeout=2)
assert killed.dead
try:
    with gevent.Timeout(0.1):
        work()
    raise SystemExit("the time limit was lost")
except gevent.Timeout:
    pass
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_an_alarm_during_a_collection_reaches_the_program() -> None:
    program = """
import gc, onewrite, signal, time
def stop(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, stop)
heap = [{i: [i]} for i in range(200_000)]
begun = time.perf_counter(); gc.collect(); took = time.perf_counter() - begun
stopped = 0
for _ in range(5):
    signal.setitimer(signal.ITIMER_REAL, took / 2)
    try:
        gc.collect(); time.sleep(2)
    except KeyboardInterrupt:
        stopped += 1
assert stopped == 5, stopped
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
