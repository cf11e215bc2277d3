"""httpx and httpx2: timing alone, by httpcore's trace extension; blocking, asyncio and trio."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import inspect
import json
import socket
import ssl
import threading
import time
import typing

import pytest

import onewrite
import onewrite.httpx
from tap import Peer, Seen, listening, reply, until

httpx = pytest.importorskip("httpx")

RUNTIMES = ("blocking", "asyncio", "trio")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"


# The SDKs of language models run over httpx2.
@pytest.fixture(params=["httpx", pytest.param("httpx2", marks=pytest.mark.nightly)])
def library(request: pytest.FixtureRequest) -> typing.Any:
    return pytest.importorskip(request.param)


@pytest.fixture
def recorded() -> list[onewrite.Record]:
    records: list[onewrite.Record] = []
    onewrite.httpx.install(records.append)
    return records


def run(
    runtime: str, library: typing.Any, use: typing.Callable[[typing.Any], typing.Any], **keywords: typing.Any
) -> typing.Any:
    """Give *use* a client. What it returns for the asynchronous runtimes is awaited."""
    keywords = {"trust_env": False, **keywords}
    if runtime == "blocking":
        with library.Client(**keywords) as client:
            return use(client)

    async def main() -> typing.Any:
        async with library.AsyncClient(**keywords) as client:
            result = use(client)
            return await result if inspect.isawaitable(result) else result

    return pytest.importorskip("anyio").run(main, backend=runtime)


async def _one_by_one(calls: typing.Iterable[typing.Callable[[], typing.Any]]) -> None:
    for call in calls:
        await call()


def posts(count: int, url: str, **keywords: typing.Any) -> typing.Callable[[typing.Any], typing.Any]:
    def use(client: typing.Any) -> typing.Any:
        calls = [lambda: client.post(url, content=b"x" * 200, **keywords)] * count
        if isinstance(client, (httpx.Client,)) or not inspect.iscoroutinefunction(client.post):
            return [call() for call in calls]
        return _one_by_one(calls)

    return use


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_new_and_a_reused_connection(
    runtime: str,
    tls: bool,
    library: typing.Any,
    tap: typing.Any,
    recorded: list[onewrite.Record],
    authority: typing.Any,
) -> None:
    server = tap(tls=tls)
    context = ssl.create_default_context(cafile=authority.pem) if tls else True
    run(runtime, library, posts(3, server.url("/a?token=b")), verify=context)
    assert [(one.reused, one.conn_requests, one.status) for one in recorded] == [
        (False, 1, 200), (True, 2, 200), (True, 3, 200)
    ]  # fmt: skip
    assert len({one.conn_id for one in recorded}) == 1
    first, second, _ = recorded
    assert first.connect_ns
    assert bool(first.tls_ns) == tls
    assert second.connect_ns is second.tls_ns is second.dns_ns is second.queue_ns is None
    for one in recorded:
        assert (one.method, one.url, one.outcome, one.bytes_received) == ("POST", server.url("/a"), "ok", 2)
        assert one.send_ns
        assert one.wait_ns
        assert one.receive_ns
        times = [t_ns for _, t_ns in one.events]
        assert times == sorted(times)
    assert len(server.seen) == 3


def test_a_hook_that_comes_late(library: typing.Any, tap: typing.Any) -> None:
    server = tap()
    records: list[onewrite.Record] = []
    with library.Client(trust_env=False) as client:
        client.get(server.url())
        remove = onewrite.httpx.install(records.append)
        client.get(server.url())
        client.get(server.url())
        assert [(one.reused, one.conn_requests) for one in records] == [(True, None)] * 2  # not known, not wrong
        assert (records[0].idle_ns, bool(records[1].idle_ns)) == (None, True)
        remove()
        client.get(server.url())
    assert len(records) == 2
    onewrite.httpx.uninstall()
    assert not hasattr(library.HTTPTransport, "_onewrite")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_errors(runtime: str, library: typing.Any, tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    def cut(peer: Peer, seen: Seen) -> None:
        peer.send({"/none": b"", "/garbage": b"what\r\n\r\n", "/half": reply(b"hello")[:-2]}[seen.line.split()[1]])
        raise EOFError

    server = tap(cut)
    wrong = tap(tls=True)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        urls = {
            server.url("/none"): ("closed", "wait"),
            server.url("/garbage"): ("protocol", "wait"),
            server.url("/half"): ("closed", "receive"),
            "http://127.0.0.1:1/": ("connect", "connect"),
            wrong.url(): ("tls", "tls"),
            f"http://127.0.0.1:{port}/": ("timeout", "wait"),
        }
        for url in urls:
            with pytest.raises(library.TransportError):
                run(
                    runtime,
                    library,
                    posts(1, url, timeout=library.Timeout(20, read=0.3 if url.endswith(f":{port}/") else 20)),
                )
    found = {one.url: (one.error_kind, one.error_phase) for one in recorded}
    if runtime == "asyncio":
        del found[wrong.url()], urls[wrong.url()]  # asyncio's transports say less
    assert {url: found[url] for url in urls} == urls
    assert {one.outcome for one in recorded} == {"error"}


def test_a_proxy_is_named(
    library: typing.Any, tap: typing.Any, recorded: list[onewrite.Record], authority: typing.Any
) -> None:
    server = tap(tls=True, proxy=True)
    context = ssl.create_default_context(cafile=authority.pem)
    run("blocking", library, posts(2, f"https://localhost:{server.port}/"), proxy=server.url(), verify=context)
    assert {one.proxy for one in recorded} == {f"127.0.0.1:{server.port}"}
    assert [(one.reused, one.conn_requests) for one in recorded] == [(False, 1), (True, 2)]
    assert recorded[0].tls_ns
    assert recorded[0].status == 200

    def refuse(sock: socket.socket) -> None:
        Peer(sock, 1, None).until(b"\r\n\r\n")
        sock.sendall(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")

    with listening(refuse) as listener:
        proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(library.ProxyError):
            run("blocking", library, posts(1, "https://shop.test/"), proxy=proxy)
    assert (recorded[-1].error_kind, recorded[-1].error_phase) == ("connect", "connect")


@pytest.mark.filterwarnings("ignore")  # trio says that httpx leaves generators open
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_stream_that_is_left_early(
    runtime: str, library: typing.Any, tap: typing.Any, recorded: list[onewrite.Record]
) -> None:
    """By break, as for the answer of a language model: closing the response ends the record, for httpx2 the break."""
    server = tap(lambda peer, seen: peer.send(CHUNKED))

    def use(client: typing.Any) -> typing.Any:
        if runtime == "blocking":
            with client.stream("GET", server.url()) as response:
                for _ in response.iter_raw():
                    break
            return None

        async def main() -> None:
            async with (
                client.stream("GET", server.url()) as response,
                contextlib.aclosing(response.aiter_raw()) as parts,
            ):
                async for _ in parts:
                    break

        return main()

    run(runtime, library, use)
    (record,) = recorded
    assert (record.outcome, record.status, record.receive_ns, record.bytes_received) == ("ok", 200, None, 3)


def test_a_response_that_is_freed_unread_runs_no_hook(tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    server = tap(lambda peer, seen: peer.send(CHUNKED))
    with httpx.Client(trust_env=False) as client:
        response = client.send(client.build_request("GET", server.url()), stream=True)
        for _ in response.iter_raw():
            break
        del response, _
        gc.collect()
    assert recorded == []


def test_a_network_stream_of_the_users(library: typing.Any, tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    """One that is no weak key costs the connection's number, and no request."""
    core = importlib.import_module(library.__name__.replace("httpx", "httpcore"))

    class Stream(core.NetworkStream):  # type: ignore[misc, name-defined]
        __slots__ = ("below",)
        __hash__ = None

        def __init__(self, below: typing.Any) -> None:
            self.below = below

        def read(self, *args: typing.Any, **keywords: typing.Any) -> typing.Any:
            return self.below.read(*args, **keywords)

        def write(self, *args: typing.Any, **keywords: typing.Any) -> None:
            self.below.write(*args, **keywords)

        def close(self) -> None:
            self.below.close()

        def get_extra_info(self, info: str) -> typing.Any:
            if info == "socket":
                raise NotImplementedError
            return self.below.get_extra_info(info)

    class Backend(core.SyncBackend):  # type: ignore[misc, name-defined]
        def connect_tcp(self, *args: typing.Any, **keywords: typing.Any) -> typing.Any:
            return Stream(super().connect_tcp(*args, **keywords))

    transport = library.HTTPTransport()
    transport._pool._network_backend = Backend()
    with library.Client(transport=transport) as client:
        for _ in range(2):
            assert client.get(tap().url()).text == "ok"
    assert [one.status for one in recorded] == [200, 200]


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_cancelling(runtime: str, library: typing.Any, recorded: list[onewrite.Record]) -> None:
    anyio = pytest.importorskip("anyio")
    with socket.create_server(("127.0.0.1", 0)) as deaf:

        def use(client: typing.Any) -> typing.Any:
            async def main() -> None:
                async with anyio.create_task_group() as group:
                    group.start_soon(client.get, f"http://127.0.0.1:{deaf.getsockname()[1]}/")
                    sock, _ = await anyio.to_thread.run_sync(deaf.accept)
                    await anyio.to_thread.run_sync(sock.recv, 65536)
                    await anyio.sleep(0.05)  # its task has had turns to write on
                    group.cancel_scope.cancel()
                sock.close()
                assert client._transport._pool.connections == []

            return main()

        run(runtime, library, use)
    assert [(one.outcome, one.error_phase) for one in recorded] == [("cancelled", "wait")]


def test_an_open_stream_at_the_end_of_asyncio_says_nothing(
    tap: typing.Any, recorded: list[onewrite.Record], caplog: pytest.LogCaptureFixture
) -> None:
    """As with httpx alone; httpx2 logs an error then."""
    server = tap(lambda peer, seen: peer.send(CHUNKED[:-5]))

    async def main() -> None:
        client = httpx.AsyncClient(trust_env=False)
        response = await client.send(client.build_request("GET", server.url()), stream=True)
        parts = response.aiter_raw()
        await parts.__anext__()
        left.append((client, parts))

    left: list[typing.Any] = []
    asyncio.run(main())
    left.clear()
    gc.collect()
    assert caplog.records == []


def test_the_users_request_is_left_as_it_was(
    library: typing.Any, tap: typing.Any, recorded: list[onewrite.Record]
) -> None:
    steps: list[str] = []
    extensions = {"trace": lambda name, info: steps.append(name)}
    with library.Client(trust_env=False) as client:
        request = client.build_request("GET", tap().url(), extensions=extensions)
        before = request.extensions
        client.send(request)
    assert request.extensions is before
    assert "http11.receive_response_headers.complete" in steps
    assert len(recorded) == 1


def test_a_request_that_is_sent_twice_at_a_time(
    library: typing.Any, tap: typing.Any, recorded: list[onewrite.Record]
) -> None:
    server = tap()
    steps: list[str] = []

    async def trace(name: str, info: object) -> None:
        steps.append(name)

    async def main() -> None:
        async with library.AsyncClient(trust_env=False) as client:
            request = client.build_request("GET", server.url(), extensions={"trace": trace})
            before = request.extensions
            for _ in range(3):
                await asyncio.gather(client.send(request), client.send(request))
            assert request.extensions is before

    asyncio.run(main())
    assert [one.status for one in recorded] == [200] * 6
    assert steps.count("http11.response_closed.complete") == 6


def test_a_trace_of_the_wrong_kind_fails_as_with_httpx(library: typing.Any, tap: typing.Any) -> None:
    server = tap()
    errors: list[str] = []

    async def main() -> None:
        async with library.AsyncClient(trust_env=False) as client:
            with pytest.raises(TypeError) as raised:
                await client.get(server.url(), extensions={"trace": lambda name, info: None})
            errors.append(str(raised.value))

    asyncio.run(main())
    onewrite.httpx.install(str)
    asyncio.run(main())
    assert errors[0] == errors[1]


@pytest.mark.parametrize(("method", "status"), [("HEAD", "200 OK"), ("GET", "204 No Content"), ("GET", "200 OK")])
def test_an_answer_without_a_body_ends_with_its_head(
    method: str, status: str, tap: typing.Any, recorded: list[onewrite.Record]
) -> None:
    def answer(peer: Peer, seen: Seen) -> None:
        peer.send(reply(b"", status) if method == "GET" else b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")

    server = tap(answer)
    with httpx.Client(trust_env=False) as client, client.stream(method, server.url()):
        pass
    assert (recorded[0].outcome, bool(recorded[0].receive_ns)) == ("ok", True)


def test_a_request_that_httpx_refuses_was_not_sent(tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    server = tap()
    with httpx.Client(trust_env=False) as client, pytest.raises(httpx.LocalProtocolError):
        client.get(server.url(), headers={"a": "b\r\nc"})
    (record,) = recorded
    assert (record.error_kind, record.error_phase, record.send_ns) == ("other", None, None)


def test_a_proxy_on_the_host_of_the_origin_is_named(tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    server = tap(proxy=True)
    run("blocking", httpx, posts(1, "http://127.0.0.1:1/"), proxy=server.url())
    assert recorded[0].proxy == f"127.0.0.1:{server.port}"


def test_what_a_hook_starts_makes_no_record(library: typing.Any, tap: typing.Any) -> None:
    """The recipe: a task that exports the record with the same client."""
    server = tap()
    exports: list[asyncio.Task[typing.Any]] = []

    async def main() -> None:
        async with library.AsyncClient(trust_env=False) as client:
            export = lambda record: client.post(server.url("/collector"), json=record.to_dict())  # noqa: E731
            onewrite.httpx.install(lambda record: exports.append(asyncio.ensure_future(export(record))))
            for _ in range(3):
                await client.get(server.url())
            await asyncio.gather(*exports)

    asyncio.run(main())
    assert len(exports) == 3


def test_mocks(library: typing.Any, recorded: list[onewrite.Record]) -> None:
    """A mock reads parameters by getfullargspec(); one that answers in the pool's place tells no steps."""
    spec = inspect.getfullargspec(library.HTTPTransport.handle_request)
    assert spec.args == ["self", "request"]
    spec = inspect.getfullargspec(library.AsyncHTTPTransport.handle_async_request)
    assert spec.args == ["self", "request"]
    core = importlib.import_module(library.__name__.replace("httpx", "httpcore"))
    mocked = pytest.MonkeyPatch()
    mocked.setattr(core.ConnectionPool, "handle_request", lambda self, request: core.Response(201, content=b"mocked"))
    with mocked.context(), library.Client(trust_env=False) as client:
        assert client.get("http://shop.invalid/").text == "mocked"
    mocked.undo()
    assert [(one.outcome, one.status, one.conn_id, one.wait_ns) for one in recorded] == [("ok", 201, None, None)]


def test_a_busy_event_loop_is_the_clients_wait(
    library: typing.Any, tap: typing.Any, recorded: list[onewrite.Record]
) -> None:
    go_on, answered = threading.Semaphore(1), threading.Semaphore(0)
    server = tap(lambda peer, seen: (go_on.acquire(), peer.send(reply()), answered.release())[2])

    async def main() -> None:
        async with library.AsyncClient(trust_env=False) as client:
            await client.get(server.url())
            answered.acquire()
            sending = asyncio.ensure_future(client.get(server.url()))
            while len(server.seen) < 2:
                await asyncio.sleep(0)
            await asyncio.sleep(0.05)  # it is written to its end
            go_on.release()
            answered.acquire()
            time.sleep(0.3)
            await sending

    asyncio.run(main())
    assert recorded[-1].cause == "client", recorded[-1]


MESSAGES: typing.Any = [{"role": "user", "content": "Say this is a test."}]


def test_the_sdks_of_language_models(tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    openai, anthropic = pytest.importorskip("openai"), pytest.importorskip("anthropic")
    go_on = threading.Semaphore(0)

    def answer(peer: Peer, seen: Seen) -> None:
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(3):
            chat = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            chat["choices"] = [{"index": 0, "delta": {"content": str(number)}, "finish_reason": None}]  # type: ignore[assignment]
            delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": str(number)}}
            data = json.dumps(chat if "chat" in seen.line else delta)
            event = f"event: content_block_delta\ndata: {data}\n\n".encode()
            peer.send(b"%x\r\n%s\r\n" % (len(event), event))
            go_on.acquire()
        peer.send(b"0\r\n\r\n")

    server = tap(answer)
    chat = openai.OpenAI(base_url=server.url("/v1"), api_key="k").chat.completions
    for _ in chat.create(model="m", messages=MESSAGES, stream=True):
        go_on.release()
    claude = anthropic.Anthropic(base_url=server.url("").rstrip("/"), api_key="k").messages
    for _ in claude.create(model="m", max_tokens=9, messages=MESSAGES, stream=True):
        go_on.release()
    until(lambda: len(recorded) == 2)
    assert [(one.outcome, one.status, bool(one.receive_ns)) for one in recorded] == [("ok", 200, True)] * 2
