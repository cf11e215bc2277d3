"""httpx and httpx2: one request, one write; a body that may block does not delay the head."""

from __future__ import annotations

import atexit
import functools
import io
import pathlib
import socket
import ssl
import typing

import httpcore
import pytest

import onewrite.httpx
from httpx_clients import LIBRARIES, Clients
from tap import Tap, listening, mode, reply, waiting_for_a_body

ROUNDS = 8


@pytest.fixture(params=LIBRARIES)
def clients(request: pytest.FixtureRequest, runtime: str, way: str) -> Clients:
    return Clients(request.param, runtime, way)


@pytest.fixture
def ca(authority: typing.Any) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority.pem)


def tapped(make: typing.Any, route: str, **keywords: typing.Any) -> Tap:
    return typing.cast(Tap, make(tls=route in ("https", "connect"), proxy=route in ("forward", "connect"), **keywords))


def target(server: Tap, path: str = "/") -> str:
    return f"{'https' if server.context else 'http'}://127.0.0.1:{server.port}{path}"


def through(server: Tap) -> dict[str, typing.Any]:
    return {"proxy": server.url()} if server.proxy else {}


def counts(server: Tap) -> tuple[int, int | None]:
    seen = server.seen[-ROUNDS:]
    return mode(one.segments for one in seen), mode(one.records for one in seen) if server.context else None


@functools.cache
def _small(buffering: int) -> typing.BinaryIO:
    file = open(pathlib.Path(__file__).with_name("smoke.py"), "rb", buffering=buffering)  # noqa: SIM115
    atexit.register(file.close)
    return file


def opened(buffering: int) -> typing.BinaryIO:
    _small(buffering).seek(0)
    return _small(buffering)


BODIES: dict[str, dict[str, typing.Any]] = {
    "bytes": {"content": b"x" * 200},
    "json": {"json": {"fill": "x" * 200}},
    "form": {"data": {"a": "x" * 200}},
    "multipart": {"data": {"a": "x" * 100}, "files": {"f": ("name", b"x" * 100)}},
    "multipart of a file": {"files": lambda: {"f": ("name", io.BytesIO(b"x" * 200))}},
    "multipart of an open file": {"files": lambda: {"f": opened(-1), "g": opened(0)}},
    "none": {},
    "empty": {"content": b""},
    "12 KiB": {"content": b"x" * 12 * 1024},
}
#: An asynchronous client takes no file.
BLOCKING_BODIES: dict[str, dict[str, typing.Any]] = {
    "memory file": {"content": lambda: io.BytesIO(b"x" * 200)},
    "list": {"content": lambda: [b"x" * 100, b"x" * 100]},
}


@pytest.mark.parametrize("route", ["http", "https", "forward", "connect"])
def test_small_bodies_arrive_in_one_segment(route: str, clients: Clients, tap: typing.Any, ca: ssl.SSLContext) -> None:
    server = tapped(tap, route)
    bodies = {**BODIES, **(BLOCKING_BODIES if clients.blocking else {})}
    if clients.way == "installed":  # the same code: that it is reached shows in a few
        bodies = {kind: bodies[kind] for kind in ("bytes", "multipart of a file", "none")}
    found = {}
    for kind, keywords in bodies.items():
        calls = [("POST", target(server), keywords)] * (ROUNDS + 1)
        answers = clients.run(calls, ca, transport=through(server))
        assert {answer.text for answer in answers} == {"ok"}
        found[kind] = counts(server)
    assert found == dict.fromkeys(bodies, (1, 1 if server.context else None))
    assert server.connections == len(bodies)


def test_bytes_are_those_of_stock(clients: Clients, tap: typing.Any) -> None:
    server = tap()
    bodies = {**BODIES, **(BLOCKING_BODIES if clients.blocking else {}), "1 MiB": {"content": b"y" * (1 << 20)}}
    large = {"files": {"f": ("name", b"z" * 300_000)}, "headers": {"Content-Type": "multipart/form-data; boundary=b"}}
    calls = [
        ("POST", target(server), more) for more in [*bodies.values(), large] if "files" not in more or more is large
    ]
    came = []
    for one in (Clients(clients.httpx.__name__, clients.runtime, "stock"), clients):
        first = len(server.seen)
        one.run(calls)
        came.append([(seen.head, seen.raw) for seen in server.seen[first:]])
    assert len(came[0]) == len(calls)
    assert came[0] == came[1]


def test_a_large_body_is_two_writes_of_which_the_first_is_full(
    runtime: str, way: str, tap: typing.Any, ca: ssl.SSLContext
) -> None:
    server = tap(tls=True)
    timings: list[typing.Any] = []
    calls = [("POST", target(server), {"content": b"x" * 100_000})]
    Clients("httpx", runtime, way).run(calls, ca, hooks={"on_timing": timings.append})
    (seen,) = server.seen
    assert seen.body == b"x" * 100_000
    assert seen.records == -(-(len(seen.head) + 100_000) // 16384), "every record but the last is full"
    assert timings[0].attempts[0].writes == 2


def test_a_body_that_may_block_never_holds_the_head(clients: Clients) -> None:
    waited: list[bool] = []
    with waiting_for_a_body() as (url, arrived, _):

        def blocking() -> typing.Iterator[bytes]:
            waited.append(arrived.wait(5))
            yield b"late"

        async def asynchronous() -> typing.AsyncIterator[bytes]:
            waited.append(arrived.wait(5))
            yield b"late"

        (answer,) = clients.run([("POST", url, {"content": blocking if clients.blocking else asynchronous})])
    assert waited == [True]
    assert answer.text == "ok"


def test_an_interim_answer_without_cr_and_the_type_of_the_stream(tap: typing.Any) -> None:
    answer = b"HTTP/1.1 103 Early Hints\nLink: x\n\n" + reply()
    server = tap(lambda peer, seen: peer.send(answer))
    timings: list[typing.Any] = []
    with (
        onewrite.httpx.ConnectionPool(on_timing=timings.append) as pool,
        pool.stream("POST", server.url(), content=b"x") as response,
    ):
        assert (response.status, response.read()) == (200, b"ok")
        assert isinstance(response.extensions["network_stream"], httpcore.NetworkStream)
    assert timings[0].wait_ns


def test_expect_sends_the_head_alone(runtime: str, way: str, tap: typing.Any) -> None:
    server = tap()
    calls = [("POST", target(server), {"content": b"x" * 200, "headers": {"Expect": "100-continue"}})] * (ROUNDS + 1)
    Clients("httpx", runtime, way).run(calls)
    assert counts(server)[0] == 2


def test_switched_off_it_writes_as_stock(runtime: str, way: str, tap: typing.Any) -> None:
    server = tap()
    calls = [("POST", target(server), {"content": b"x" * 200})] * (ROUNDS + 1)
    Clients("httpx", runtime, way).run(calls, hooks={"coalesce_disabled": True})
    assert counts(server)[0] == 2


def test_a_server_that_answers_early_is_heard(clients: Clients) -> None:
    def early(sock: socket.socket) -> None:
        sock.recv(16384)
        sock.sendall(reply(b"too large", "413 Content Too Large", "Connection: close"))
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1 << 20):
            pass

    listener = listening(early)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    answers = clients.run([("POST", url, {"content": b"x" * 200}), ("POST", url, {"content": b"x" * 5_000_000})])
    listener.close()
    assert [answer.status_code for answer in answers] == [413, 413]


# -- TCP_NODELAY ------------------------------------------------------------------------------------


class Plain:
    """A user's own blocking backend, which sets no option."""

    def __init__(self, core: typing.Any) -> None:
        self.core = core

    def connect_tcp(self, host: str, port: int, timeout: typing.Any = None, **_: typing.Any) -> typing.Any:
        stream = self.core.SyncBackend().connect_tcp(host, port, timeout)
        stream.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        return stream


class AsyncPlain(Plain):
    """The same for asyncio and trio."""

    async def connect_tcp(self, host: str, port: int, timeout: typing.Any = None, **_: typing.Any) -> typing.Any:  # type: ignore[override]
        import sniffio

        trio = sniffio.current_async_library() == "trio"
        below = self.core.TrioBackend() if trio else self.core.AnyIOBackend()
        stream = await below.connect_tcp(host, port, timeout)
        stream.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        return stream


def nodelay(response: typing.Any) -> int:
    sock = response.extensions["network_stream"].get_extra_info("socket")
    return int(bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))


def asked(clients: Clients, server: Tap, ca: typing.Any, transport: dict[str, typing.Any]) -> int:
    """Whether the option is on while the client is open."""

    def blocking(http: typing.Any) -> int:
        return nodelay(http.post(target(server), content=b"x"))

    async def asynchronous(http: typing.Any) -> int:
        return nodelay(await http.post(target(server), content=b"x"))

    return typing.cast(int, clients.run(blocking if clients.blocking else asynchronous, ca, transport=transport))


OFF = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
KEEPALIVE = (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


@pytest.mark.parametrize("route", ["http", "https", "forward", "connect"])
def test_nodelay_is_on(route: str, clients: Clients, tap: typing.Any, ca: ssl.SSLContext) -> None:
    server = tapped(tap, route)
    for options in (None, [], [KEEPALIVE]):
        transport = {"socket_options": options, **through(server)}
        assert asked(clients, server, ca, transport) == 1


def test_a_user_who_names_it_gets_what_stock_gives(clients: Clients, tap: typing.Any) -> None:
    server = tap()
    stock = Clients(clients.httpx.__name__, clients.runtime, "stock")
    given = [asked(one, server, True, {"socket_options": iter([OFF])}) for one in (stock, clients)]
    assert given[0] == given[1]


def test_a_backend_of_ones_own_gets_it(clients: Clients, tap: typing.Any) -> None:
    server = tap()

    def pool(kind: typing.Any) -> typing.Any:
        return kind(network_backend=(Plain if clients.blocking else AsyncPlain)(clients.core))

    def kinds() -> tuple[typing.Any, typing.Any]:
        return (clients.ours, clients.core)[clients.way == "installed"], clients.core

    found: list[typing.Any] = []

    def blocking(_: typing.Any) -> None:
        for module in kinds():
            with (
                pool(module.ConnectionPool) as http,
                http.stream("POST", target(server), content=b"x" * 200) as answer,
            ):
                answer.read()
                found.append(nodelay(answer))

    async def asynchronous(_: typing.Any) -> None:
        for module in kinds():
            async with pool(module.AsyncConnectionPool) as http:
                answer = await http.request("POST", target(server), content=b"x" * 200)
                found.append(nodelay(answer))

    clients.run(blocking if clients.blocking else asynchronous)
    assert found == [1, 1 if clients.way == "installed" else 0]


def test_unix_sockets_are_left_alone(clients: Clients, tmp_path: typing.Any) -> None:
    listener = listening(lambda sock: (sock.recv(65536), sock.sendall(reply())), tmp_path / "socket")
    transport = {"uds": str(tmp_path / "socket")}
    (answer,) = clients.run([("POST", "http://localhost/", {"content": b"x"})], transport=transport)
    listener.close()
    assert answer.text == "ok"
