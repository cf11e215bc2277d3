"""Records: one for each request that is sent, or that failed before it could be."""

from __future__ import annotations

import collections
import gc
import http.client
import socket
import ssl
import sys
import threading
import time
import typing
import weakref

import pytest
import urllib3

import onewrite
from onewrite import _base_version, _hooks
from tap import Peer, Seen, listening, reply

ORDER = [
    "queue_start", "queue_end", "dns_start", "dns_end", "connect_start", "connect_end", "tls_start", "tls_end",
    "connection_acquired", "request_start", "request_end", "response_start", "headers_end", "response_end",
    "connection_released",
]  # fmt: skip


def names(record: onewrite.Record) -> list[str]:
    """The names of its events, which are in order."""
    found = [name for name, _ in record.events]
    times = [t_ns for _, t_ns in record.events]
    assert found == [name for name in ORDER if name in found]
    assert times == sorted(times)
    assert record.started_at_mono_ns <= times[0]
    assert times[-1] <= record.started_at_mono_ns + record.total_ns
    return found


def phases(record: onewrite.Record) -> set[str]:
    return {name[:-3] for name in record.to_dict() if name.endswith("_ns") and name[:-3] in onewrite._record.PHASES}


NEW = ["connect_start", "connect_end", "connection_acquired", *ORDER[9:]]


def test_a_new_and_a_reused_connection(tap: typing.Any, recorded: list[onewrite.Record], authority: typing.Any) -> None:
    server = tap(tls=True)
    http = urllib3.PoolManager(ca_certs=authority.pem)
    before = time.time_ns()
    for _ in range(2):
        http.request("POST", f"https://user:pass@localhost:{server.port}/a;b?token=c#d", body=b"x" * 200)
    first, second = recorded
    assert names(first) == ORDER[2:]
    assert names(second) == ["connection_acquired", *ORDER[9:]]
    assert phases(first) == {"dns", "connect", "tls", "send", "wait", "receive"}
    assert phases(second) == {"send", "wait", "receive"}
    assert (first.reused, first.conn_requests, first.idle_ns) == (False, 1, None)
    assert (second.reused, second.conn_requests) == (True, 2)
    assert second.idle_ns
    assert first.conn_id == second.conn_id
    for record in recorded:
        assert record.url == f"https://localhost:{server.port}/a;b"
        assert (record.method, record.outcome, record.status) == ("POST", "ok", 200)
        assert (record.writes, record.bytes_sent, record.bytes_received) == (1, len(server.seen[0].head) + 200, 2)
        assert before <= record.started_at_unix_ns <= time.time_ns()
    assert str(first).endswith(f"; new conn {first.conn_id}")
    assert repr(second) == f"<Record {second}>"
    http.clear()


def test_waiting_for_the_pool(tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    server = tap()
    with urllib3.HTTPConnectionPool("127.0.0.1", server.port, block=True, maxsize=1) as pool:
        response = pool.request("GET", "/", preload_content=False)
        with pytest.raises(urllib3.exceptions.EmptyPoolError):
            pool.request("GET", "/", pool_timeout=0.05)
        threading.Timer(0.05, response.read).start()
        pool.request("GET", "/")
    failed, first, second = sorted(recorded, key=lambda record: record.status or 0)
    assert (failed.outcome, failed.error_kind, failed.error_phase) == ("error", "pool", "queue")
    assert failed.conn_id is failed.reused is None
    assert (failed.queue_ns or 0) > 40_000_000
    assert (second.queue_ns or 0) > 20_000_000
    assert names(first)[:2] == ["queue_start", "queue_end"]


def test_retries_and_redirects_are_requests_of_their_own(tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    answers = ["503 Busy", "503 Busy", "200 OK", "307 Temporary Redirect", "200 OK"]
    server = tap(lambda peer, seen: peer.send(reply(b"", answers.pop(0), "Location: /there")))
    http = urllib3.PoolManager()
    retries = urllib3.Retry(3, status_forcelist=[503], allowed_methods=None)
    http.request("POST", server.url("/a"), body=b"x", retries=retries)
    http.request("POST", server.url("/b"), body=b"x")
    found = [(one.status, one.resend, one.conn_requests) for one in recorded]
    assert found == [(503, None, 1), (503, 1, 2), (200, 2, 3), (307, None, 4), (200, 1, 5)]
    with pytest.raises(urllib3.exceptions.MaxRetryError):
        http.request("GET", "http://127.0.0.1:1/", retries=1)
    failed = [(one.error_kind, one.error_phase, one.resend) for one in recorded[5:]]
    assert failed == [("connect", "connect", None), ("connect", "connect", 1)]


def closing(data: bytes) -> typing.Callable[[Peer, Seen], None]:
    def answer(peer: Peer, seen: Seen) -> None:
        peer.send(data)
        raise EOFError

    return answer


FAILURES: dict[str, tuple[bytes, str, str, int | None]] = {
    "no answer": (b"", "closed", "wait", None),
    "garbage": (b"what is this\r\n\r\n", "protocol", "wait", None),
    "half a body": (reply(b"hello")[:-2], "closed", "receive", 200),
    "a bad chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "protocol", "receive", 200),
}


@pytest.mark.parametrize("retries", [False, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("preload", [True, False])
@pytest.mark.parametrize("kind", FAILURES)
def test_failures(
    kind: str, preload: bool, retries: typing.Any, tap: typing.Any, recorded: list[onewrite.Record]
) -> None:
    if kind == "half a body" and _base_version.IS_1:
        pytest.skip("1.26 takes it for a whole one")
    data, error_kind, phase, status = FAILURES[kind]
    server = tap(closing(data))

    def read() -> None:
        response = urllib3.PoolManager().request("GET", server.url(), preload_content=preload, retries=retries)
        list(response.stream())

    with pytest.raises(urllib3.exceptions.HTTPError):
        read()
    assert recorded
    if kind == "a bad chunk" and preload:
        error_kind = "closed"  # http.client reads it, and calls it IncompleteRead
    for record in recorded:
        assert (record.outcome, record.error_kind, record.error_phase) == ("error", error_kind, phase)
        assert record.status == status
    if kind == "half a body":
        assert recorded[0].bytes_received in (0, 3)
        assert recorded[0].receive_ns


def test_time_limits(recorded: list[onewrite.Record]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf, pytest.raises(urllib3.exceptions.ReadTimeoutError):
        urllib3.PoolManager().request("GET", f"http://127.0.0.1:{deaf.getsockname()[1]}/", timeout=0.1, retries=False)
    assert (recorded[0].error_kind, recorded[0].error_phase) == ("timeout", "wait")
    assert (recorded[0].wait_ns or 0) > 80_000_000
    assert "response_start" not in names(recorded[0])


def test_tls_names_and_proxies_that_fail(tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    server = tap(tls=True)
    for url in (server.url(), "http://nowhere.invalid/", "http:///nothing"):
        with pytest.raises((urllib3.exceptions.HTTPError, ssl.SSLError)):
            urllib3.PoolManager(retries=False).request("GET", url)
    proxied = urllib3.ProxyManager("http://user:secret@127.0.0.1:1", retries=False)
    with pytest.raises(urllib3.exceptions.HTTPError):
        proxied.request("GET", "http://shop.test/a?b=c")

    def refuse(sock: socket.socket) -> None:
        Peer(sock, 1, None).until(b"\r\n\r\n")
        sock.sendall(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")

    with listening(refuse) as listener:
        refusing = urllib3.ProxyManager(f"http://127.0.0.1:{listener.getsockname()[1]}", retries=False)
        with pytest.raises((urllib3.exceptions.HTTPError, OSError)):
            refusing.request("GET", "https://shop.test/")
    found = [(one.url, one.error_kind, one.error_phase) for one in recorded]
    assert found == [
        (server.url(), "tls", "tls"),
        ("http://nowhere.invalid/", "dns", "dns"),
        ("http://shop.test/a", "connect", "connect"),
        ("https://shop.test/", "connect", "connect"),
    ]
    assert recorded[2].proxy == "127.0.0.1:1"
    assert not any("secret" in str(one.to_dict()) + str(one) for one in recorded)


def test_a_body_that_uses_a_connection_of_its_own(tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    server, other = tap(), tap(lambda peer, seen: peer.send(reply(b"", "404 Not Found")))

    def body() -> typing.Iterator[bytes]:
        conn = urllib3.connection.HTTPConnection("127.0.0.1", other.port)
        conn.request("GET", "/")
        yield str(conn.getresponse().status).encode()
        conn.close()

    urllib3.PoolManager().request("POST", server.url(), body=body(), chunked=True)
    (record,) = recorded
    assert (record.status, record.bytes_received) == (200, 2)
    assert names(record) == NEW
    assert other.seen
    assert server.seen[0].body == b"404"


def test_a_proxy_is_named(tap: typing.Any, recorded: list[onewrite.Record], authority: typing.Any) -> None:
    server = tap(tls=True, proxy=True)
    http = urllib3.ProxyManager(server.url(), ca_certs=authority.pem)
    for _ in range(2):
        http.request("POST", f"https://127.0.0.1:{server.port}/", body=b"x")
    assert [one.proxy for one in recorded] == [f"127.0.0.1:{server.port}"] * 2
    assert recorded[0].connect_ns
    assert recorded[0].tls_ns
    assert [(one.writes, one.conn_requests) for one in recorded] == [(1, 1), (1, 2)]  # CONNECT is none of them
    http.clear()


# -- bodies that the caller reads -----------------------------------------------------------------------

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"


@pytest.mark.parametrize("data", [reply(b"abcdef"), CHUNKED], ids=["length", "chunked"])
def test_a_body_that_is_read_later(data: bytes, tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    server = tap(lambda peer, seen: peer.send(data))
    http = urllib3.PoolManager()
    response = http.request("GET", server.url(), preload_content=False)
    assert not recorded
    assert b"".join(response.stream(2)) == b"abcdef"
    (record,) = recorded
    assert record.outcome == "ok"
    assert record.receive_ns
    assert record.bytes_received in (6, None)
    response.close()
    response.release_conn()
    assert len(recorded) == 1


def test_a_body_that_is_given_up(tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    server = tap(lambda peer, seen: peer.send(reply(b"abcdef")))
    http = urllib3.PoolManager()
    response = http.request("GET", server.url(), preload_content=False)
    response.read(2)
    response.close()
    (record,) = recorded
    assert (record.outcome, record.receive_ns) == ("ok", None)
    assert names(record)[-2:] == ["headers_end", "connection_released"]


def test_a_response_that_is_freed_unread_frees_its_connection_and_runs_no_hook(
    tap: typing.Any, recorded: list[onewrite.Record]
) -> None:
    server = tap(lambda peer, seen: peer.send(CHUNKED))
    http = urllib3.PoolManager()
    response = http.request("GET", server.url(), preload_content=False)
    conn = weakref.ref(response.connection)
    del response
    assert conn() is None, "by reference counts, as with urllib3 alone"
    response = http.request("GET", server.url(), preload_content=False)
    for _ in response.stream(2):
        break
    response.close()
    gc.collect()
    assert recorded == []


def test_an_error_that_the_caller_handles_is_none_of_the_response(
    tap: typing.Any, recorded: list[onewrite.Record]
) -> None:
    server = tap(lambda peer, seen: peer.send(reply(b"abc")))
    response = urllib3.PoolManager().request("GET", server.url(), preload_content=False)
    try:
        urllib3.PoolManager(retries=False).request("GET", "http://127.0.0.1:1/")
    except urllib3.exceptions.HTTPError:
        response.close()
    assert [record.outcome for record in recorded] == ["error", "ok"]


def test_two_threads_that_end_a_response_end_it_once(tap: typing.Any) -> None:
    server = tap(lambda peer, seen: peer.send(reply(b"x" * 10)))
    ended: list[onewrite.Record] = []
    onewrite.install(on_timing=ended.append)
    http = urllib3.PoolManager(maxsize=8)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(60):
            response = http.request("GET", server.url(), preload_content=False)
            barrier = threading.Barrier(2)

            def end(how: str, barrier: threading.Barrier = barrier, response: typing.Any = response) -> None:
                barrier.wait()
                getattr(response, how)()

            threads = [threading.Thread(target=end, args=(how,)) for how in ("close", "release_conn")]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(ended) == 60
    assert len({id(record) for record in ended}) == 60


# -- hooks ----------------------------------------------------------------------------------------------


def test_the_connection_is_free_when_the_hook_is_called(tap: typing.Any) -> None:
    server = tap()
    nested: list[int] = []
    with urllib3.HTTPConnectionPool("127.0.0.1", server.port, block=True, maxsize=1) as pool:
        records: list[onewrite.Record] = []

        def hook(record: onewrite.Record) -> None:
            records.append(record)
            nested.append(pool.request("GET", "/from-the-hook", pool_timeout=5).status)

        onewrite.install(on_timing=hook)
        pool.request("GET", "/")
        pool.request("GET", "/")
    assert nested == [200, 200]
    assert [record.url.rpartition("/")[2] for record in records if record.url] == ["", ""]


def test_what_a_hook_raises(tap: typing.Any, caplog: pytest.LogCaptureFixture) -> None:
    server = tap()
    before = _hooks.failures

    def first(record: onewrite.Record) -> None:
        raise KeyError("first")

    def second(record: onewrite.Record) -> None:
        raise RuntimeError("second")

    remove = onewrite.install(on_timing=first)
    onewrite.install(on_timing=second)
    http = urllib3.PoolManager()
    for _ in range(3):
        assert http.request("GET", server.url()).data == b"ok"
    assert onewrite.status()["hook_errors"] == before + 6
    assert ["second" in line.message for line in caplog.records if "raised" in line.message] == [False, True]
    remove()
    onewrite.install(on_timing=lambda record: sys.exit(3))
    with pytest.raises(SystemExit):
        http.request("GET", server.url())
    for bad in (5, coroutine):
        with pytest.raises(TypeError, match="on_timing"):
            onewrite.install(on_timing=bad)  # type: ignore[arg-type]


async def coroutine(record: onewrite.Record) -> None: ...


def test_without_a_hook_no_clock_is_read(tap: typing.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = tap()
    onewrite.install()
    http = urllib3.PoolManager()
    http.request("POST", server.url(), body=b"x")
    folder = onewrite.__file__.rpartition("/")[0]
    called: list[tuple[str, str]] = []

    def watch(frame: typing.Any, event: str, function: typing.Any) -> None:
        if event == "c_call" and frame.f_code.co_filename.startswith(folder):
            called.append((frame.f_code.co_name, function.__name__))

    sys.setprofile(watch)
    try:
        http.request("POST", server.url(), body=b"x")
    finally:
        sys.setprofile(None)
    assert not [name for _, name in called if name in ("monotonic_ns", "time_ns", "getsockopt", "setsockopt")]


# -- the kernel's evidence ------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="TCP_INFO")
def test_a_slow_server_and_a_busy_client(tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    server = tap(lambda peer, seen: (time.sleep(0.06 if "/slow" in seen.line else 0), peer.send(reply()))[1])
    http = urllib3.PoolManager()
    http.request("GET", server.url())
    http.request("POST", server.url("/slow"), body=b"x")
    assert recorded[-1].cause == "server"
    assert recorded[-1].kernel is not None
    assert recorded[-1].kernel.retransmits == 0
    assert "(server: held" in str(recorded[-1])

    class Busy(urllib3.connection.HTTPConnection):
        def getresponse(self) -> typing.Any:
            time.sleep(0.06)  # the answer lies in the socket's buffer
            return super().getresponse()

    pool = urllib3.HTTPConnectionPool("127.0.0.1", server.port)
    pool.ConnectionCls = Busy
    pool.request("POST", "/", body=b"x")
    assert recorded[-1].cause == "client"
    assert (recorded[-1].kernel.unread_ns if recorded[-1].kernel else 0) > 30_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="TCP_INFO")
def test_nagles_algorithm_is_named_where_the_user_wants_it(authority: typing.Any) -> None:
    """The server acknowledges late, as every Linux that waits for the rest of a request."""
    waits: list[onewrite.Record] = []
    onewrite.install(on_timing=waits.append, observe=True)

    def answer(sock: socket.socket) -> None:
        peer = Peer(sock, 1, None)
        for _ in range(30):
            head = peer.until(b"\r\n\r\n").lower()
            peer.exactly(int(head.partition(b"content-length: ")[2].split(b"\r\n")[0]))
            peer.send(reply())

    with listening(answer) as listener:
        http = urllib3.PoolManager(socket_options=[])
        for _ in range(30):
            http.request("POST", f"http://127.0.0.1:{listener.getsockname()[1]}/", body=b"x" * 200)
        http.clear()
    long = [one for one in waits if (one.wait_ns or 0) > 30_000_000]
    assert long
    causes = [one.cause for one in long]  # on a busy machine some waits are the client's or the server's
    assert collections.Counter(causes).most_common(1)[0][0] == "nagle_delayed_ack", causes
    assert {one.writes for one in long} == {2}


@pytest.mark.skipif(_base_version.IS_1, reason="1.26 has no HTTPResponse below a subclass")
def test_a_record_keeps_nothing_of_the_request(tap: typing.Any, recorded: list[onewrite.Record]) -> None:
    server = tap()
    http_ = urllib3.PoolManager()
    response = http_.request("POST", server.url(), body=b"x")
    gone = weakref.ref(response)
    del response
    assert gone() is None
    held = [
        value
        for value in vars(recorded[0]).values()
        if not isinstance(value, (int, str, bytes, tuple, list, type(None)))
    ]
    assert held == []
    assert not isinstance(recorded[0].method, http.client.HTTPMessage)
