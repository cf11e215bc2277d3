"""Records and events: order, absence, attempts, and how each kind of call ends; own classes and install()."""

from __future__ import annotations

import contextlib
import gc
import io
import socket
import sys
import threading
import time
import typing

import pytest
import urllib3

import onewrite
from onewrite import _base_version, mappers
from onewrite._timing import hooks as _hooks
from onewrite._timing import kernel as _kernel
from onewrite._timing.record import PHASES
from onewrite._urllib3.pool import url_of
from tap import Peer, Seen, reply, until

MS = 1_000_000

ORDER = [
    "call_start", "attempt_start", "queue_start", "queue_end", "dns_start", "dns_end", "connect_start", "connect_end",
    "tls_start", "tls_end", "connection_acquired", "request_start", "request_end", "informational", "response_start",
    "headers_end", "response_end", "connection_released", "attempt_end", "call_end",
]  # fmt: skip
#: Fields whose values do not depend on time.
STEADY = ("index", "outcome", "status", "reused", "conn_requests", "bytes_sent", "writes", "bytes_received")


class Recorder(onewrite.TimingListener):
    """Takes every event; ``timings.append`` is the on_timing beside it."""

    def __init__(self) -> None:
        self.events: list[onewrite.Event] = []
        self.timings: list[onewrite.Timing] = []

    def on_event(self, event: onewrite.Event) -> None:
        self.events.append(event)

    def names(self) -> list[str]:
        return [event.name for event in self.events]

    def check(self) -> list[onewrite.Timing]:
        """The rules that hold for every finished call; return the records and begin anew."""
        calls: dict[int, list[onewrite.Event]] = {}
        for event in self.events:
            calls.setdefault(id(event.timing), []).append(event)
        assert sorted(calls) == sorted(map(id, self.timings)), "one record for each call"
        for events in calls.values():
            names = [event.name for event in events]
            assert names[0] == "call_start"
            assert names.count("call_end") == 1
            assert names[-1] == "call_end"
            times = [event.t_ns for event in events]
            assert times == sorted(times), "time does not go back"
            for index in {event.attempt for event in events if event.attempt is not None}:
                own = [ORDER.index(event.name) for event in events if event.attempt == index]
                assert own == sorted(own), [event.name for event in events if event.attempt == index]
            unended = {"call_start", "attempt_start", "response_start"}
            if events[0].timing.error_phase == "send":
                unended.add("request_start")  # its last write has not returned
            for name in names:
                if name.endswith("_start") and name not in unended:
                    assert names.count(name) == names.count(name.replace("_start", "_end")), name
        for timing in self.timings:
            for attempt in timing.attempts:
                for phase in PHASES:
                    value = getattr(attempt, f"{phase}_ns")
                    assert value is None or value >= 1
        found = [*self.timings]
        self.events.clear()
        self.timings.clear()
        return found

    def one(self) -> onewrite.Timing:
        """The record of the only call since the last check."""
        (timing,) = self.check()
        return timing


def gist(timing: onewrite.Timing) -> typing.Any:
    """The parts of a record that do not depend on the clock."""
    attempts = [
        (*(getattr(one, name) for name in STEADY), *(getattr(one, f"{phase}_ns") is None for phase in PHASES))
        for one in timing.attempts
    ]
    return timing.method, timing.outcome, timing.error_kind, timing.error_phase, attempts


@pytest.fixture(params=["own", "installed"])
def client(request: pytest.FixtureRequest) -> tuple[Recorder, typing.Callable[..., typing.Any]]:
    """(recorder, maker of managers)."""
    recorder = Recorder()
    hooks: dict[str, typing.Any] = {"on_timing": recorder.timings.append, "listener": recorder}
    if request.param == "own":
        return recorder, lambda **keywords: onewrite.PoolManager(**hooks, **keywords)
    onewrite.install(**hooks)
    return recorder, urllib3.PoolManager


# -- each kind of call ----------------------------------------------------------------------------------

Http = typing.Any
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n"
ANSWERS = {
    "/503": reply(b"", "503 Service Unavailable"),
    "/302": reply(b"", "302 Found", "Location: /there"),
    "/loop": reply(b"", "302 Found", "Location: /loop"),
    "/100": b"HTTP/1.1 100 Continue\r\n\r\n" + reply(),
    "/103": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + reply(),
    "/large": reply(b"x" * 300_000),
    "/chunks": CHUNKED + b"\r\n3\r\nabc\r\n5\r\ndefgh\r\n0\r\n\r\n",
}
#: These break off, and the connection is closed.
BROKEN = {
    "/close": reply(b"bye", "200 OK", "Connection: close"),
    "/break": b"",
    "/short": OK + b"Content-Length: 100\r\n\r\nhalf",
    "/in-chunk": CHUNKED + b"\r\n64\r\nhalf",
    "/between-chunks": CHUNKED + b"\r\n4\r\nhalf\r\n",
    "/no-size": CHUNKED + b"\r\n4\r\nhalf\r\nzz\r\n",
    "/no-gzip": OK + b"Content-Encoding: gzip\r\nContent-Length: 50\r\n\r\n" + b"x" * 50,
    "/no-gzip-chunks": CHUNKED + b"Content-Encoding: gzip\r\n\r\n4\r\nhalf\r\n4\r\nhalf\r\n",
}
silence = threading.Event()


def answer(peer: Peer, seen: Seen) -> None:
    """The answer of each path; /once breaks off at the first time."""
    method, path, _ = seen.line.split(" ")
    if path == "/silent":
        silence.wait(20)
        raise EOFError
    if path in BROKEN or (path == "/once" and peer.number == 1):
        peer.send(BROKEN.get(path, b""))
        raise EOFError
    peer.send(OK + b"Content-Length: 5\r\n\r\n" if method == "HEAD" else ANSWERS.get(path, reply()))


class GivenUp(BaseException):
    """Like KeyboardInterrupt."""


class GivingUp(io.BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        raise GivenUp


def pieces() -> typing.Iterator[bytes]:
    yield b"some"
    yield b"thing"


def read_later(http: Http, url: str, how: str) -> None:
    response = http.request("GET", url, preload_content=False)
    if how == "read":
        response.read()
    elif how == "stream":
        list(response.stream(2, decode_content=True))
    elif how == "release":
        response.release_conn()
    elif how == "close half-way":
        next(response.stream(2))
        response.close()
    elif how == "close handling":
        try:
            int("not a number")
        except ValueError:
            response.close()
    else:
        del response
        gc.collect()


def kept(http: Http, url: str) -> None:
    http.request("GET", url, release_conn=False).release_conn()


def within(http: Http, url: str) -> None:
    """A body whose generator makes a request."""

    def body() -> typing.Iterator[bytes]:
        http.request("GET", url + "inner")
        yield b"outer"

    http.request("POST", url + "outer", body=body(), chunked=True)


def bare(http: Http, url: str) -> None:
    """A pool's own urlopen, as requests calls it."""
    pool = http.connection_from_url(url)
    pool.urlopen("POST", "/a?b=c", body=b"x" * 200)
    pool.urlopen("POST", "/503", body=b"x", retries=STATUSES)


STATUSES = urllib3.Retry(3, status_forcelist=[503], allowed_methods=None, backoff_factor=0)
PLAIN = "200, 2 bytes"
#: Requests with their expected records. A record shows the error and its phase, or each attempt and the last body.
SENDING: dict[str, tuple[typing.Callable[[Http, str], object], tuple[str, ...]]] = {
    "bytes": (lambda http, url: http.request("POST", url, body=b"x" * 200), (PLAIN,)),
    "nothing": (lambda http, url: http.request("GET", url), (PLAIN,)),
    "HEAD": (lambda http, url: http.request("HEAD", url), ("200",)),
    "text": (lambda http, url: http.request("POST", url, body="text"), (PLAIN,)),
    "form": (lambda http, url: http.request("POST", url, fields={"a": "b"}), (PLAIN,)),
    "large": (lambda http, url: http.request("POST", url, body=b"x" * 20_000), (PLAIN,)),
    "a file in memory": (lambda http, url: http.request("POST", url, body=io.BytesIO(b"x" * 50_000)), (PLAIN,)),
    "pieces": (lambda http, url: http.request("POST", url, body=pieces(), chunked=True), (PLAIN,)),
    "expecting": (
        lambda http, url: http.request("POST", url, body=b"x", headers={"Expect": "100-continue"}), (PLAIN,)
    ),
    "retried": (
        lambda http, url: http.request("POST", url + "503", body=b"x", retries=STATUSES),
        ("protocol in None: 503 503 503 503",),
    ),
    "mended": (lambda http, url: http.request("GET", url + "once", retries=2), ("error 200, 2 bytes",)),
    "retried in vain": (
        lambda http, url: http.request("GET", url + "break", retries=urllib3.Retry(2, backoff_factor=0)),
        ("closed in wait: error error error",),
    ),
    "not retried": (
        lambda http, url: http.request("GET", url + "break", retries=False), ("closed in wait: error",)
    ),
    "redirected": (lambda http, url: http.request("GET", url + "302"), ("302 200, 2 bytes",)),
    "not followed": (lambda http, url: http.request("GET", url + "302", redirect=False), ("302",)),
    "redirected in vain": (
        lambda http, url: http.request("GET", url + "loop", retries=2),
        ("protocol in None: 302 302 302",),
    ),
    "closed": (lambda http, url: http.request("GET", url + "close"), ("200, 3 bytes",)),
    "interim answer": (lambda http, url: http.request("POST", url + "100", body=b"x"), (PLAIN,)),
    "other interim answer": (lambda http, url: http.request("POST", url + "103", body=b"x"), ("103",)),
    "large answer": (lambda http, url: http.request("GET", url + "large"), ("200, 300000 bytes",)),
    "chunks": (lambda http, url: http.request("GET", url + "chunks"), ("200, 8 bytes",)),
    "chunks, later": (lambda http, url: read_later(http, url + "chunks", "stream"), ("200, 8 bytes",)),
    "read": (lambda http, url: read_later(http, url, "read"), (PLAIN,)),
    "streamed": (lambda http, url: read_later(http, url, "stream"), (PLAIN,)),
    "released": (lambda http, url: read_later(http, url, "release"), ("200, unread",)),
    "given up half-way": (lambda http, url: read_later(http, url + "large", "close half-way"), ("200, unread",)),
    "given up, handling": (lambda http, url: read_later(http, url + "large", "close handling"), ("200, unread",)),
    "chunks, given up": (lambda http, url: read_later(http, url + "in-chunk", "close half-way"), ("200, unread",)),
    "dropped": (lambda http, url: read_later(http, url + "large", "drop"), ("200, unread",)),
    "kept": (kept, (PLAIN,)),
    "no time": (
        lambda http, url: http.request("GET", url + "silent", timeout=0.2, retries=False), ("timeout in wait: error",)
    ),
    "refused": (lambda http, url: http.request("GET", url, headers={"A": "b\nc"}), ("other in None: error",)),
    "another host": (
        lambda http, url: http.connection_from_url(url).urlopen("GET", "http://localhost:1/"), ("other in None: error",)
    ),
    "no such name": (
        lambda http, url: http.request("GET", "http://nowhere.invalid/", retries=False), ("dns in dns: error",)
    ),
    "no such port": (
        lambda http, url: http.request("GET", "https://127.0.0.1:1/", retries=False), ("connect in connect: error",)
    ),
    "given up in the body": (
        lambda http, url: http.request("POST", url, body=GivingUp(b"x"), headers={"Content-Length": "1"}),
        ("cancelled in send: cancelled",),
    ),
    "a body that asks": (within, (PLAIN, PLAIN)),
    "a pool": (bare, (PLAIN, "protocol in None: 503 503 503 503")),
    **{
        f"breaks {path}": (
            lambda http, url, path=path: read_later(http, url + path[1:], "stream"),  # type: ignore[misc]
            (f"{kind} in receive: 200",),
        )
        for path, kind in {
            "/short": "closed", "/in-chunk": "closed", "/between-chunks": "closed", "/no-size": "protocol",
            "/no-gzip": "protocol", "/no-gzip-chunks": "protocol",
        }.items()
    },
}  # fmt: skip


def summary(timing: onewrite.Timing) -> str:
    """What SENDING says of a record."""
    attempts = " ".join(str(one.status or one.outcome) for one in timing.attempts)
    error = "" if timing.outcome == "ok" else f"{timing.error_kind} in {timing.error_phase}: "
    received = timing.attempts[-1].bytes_received
    if received:
        return f"{error}{attempts}, {received} bytes"
    return f"{error}{attempts}" + (", unread" if timing.status and not timing.receive_ns else "")


@pytest.mark.parametrize("what", SENDING)
def test_each_kind_of_call(what: str, tap: typing.Any) -> None:
    """With own classes and a listener, and under install() without one, the record is the same."""
    send, expected = SENDING[what]
    if _base_version.IS_V1 and what == "breaks /short":
        pytest.skip("urllib3 1.26 takes a body that ends early for a whole one")
    # Else these would wait for themselves, or for a place that urllib3 has lost.
    block = not what.startswith(("a body that asks", "given up", "dropped", "breaks"))
    found = []
    for library in (onewrite, urllib3):
        recorder = Recorder()
        silence.clear()
        server = tap(answer)
        keywords: dict[str, typing.Any] = {"maxsize": 1, "block": block, "timeout": 20}
        if library is urllib3:
            onewrite.install(on_timing=recorder.timings.append)
        else:
            keywords |= {"on_timing": recorder.timings.append, "listener": recorder}
        with library.PoolManager(**keywords) as http:
            # On a new connection, then twice on whatever the call before has left.
            for _ in range(3):
                before = len(recorder.timings)
                with contextlib.suppress(urllib3.exceptions.HTTPError, ValueError, GivenUp):
                    send(http, server.url("/"))
                # No hook is called in a finalizer.
                assert len(recorder.timings) - before == (0 if what == "dropped" else len(expected))
                http.request("GET", server.url("/"))
        silence.set()
        records = recorder.check() if library is onewrite else recorder.timings
        found.append([(timing.url.replace(str(server.port), "port"), gist(timing)) for timing in records])
        mended = (PLAIN,) if what == "mended" else expected  # it breaks off once
        assert [summary(timing) for timing in records] == [*expected, PLAIN, *mended, PLAIN, *mended, PLAIN]
    assert found[0] == found[1]


# -- phases ---------------------------------------------------------------------------------------------


def test_a_fresh_and_a_reused_connection(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    server = tap()
    http = make()
    http.request("POST", f"http://user:secret@localhost:{server.port}/a?b=c", body=b"x" * 200)
    names = recorder.names()
    timing = recorder.one()
    assert names == [name for name in ORDER if name not in (
        "queue_start", "queue_end", "tls_start", "tls_end", "informational")]  # fmt: skip
    assert timing.url == f"http://localhost:{server.port}/a?b=c", "no credentials in the record"
    assert timing.outcome == "ok"
    assert timing.status == 200
    assert timing.dns_ns is not None
    assert timing.connect_ns is not None
    assert timing.tls_ns is None
    assert abs(timing.started_at_unix_ns - time.time_ns()) < 60 * 1000 * MS
    (first,) = timing.attempts
    assert (first.reused, first.conn_requests, first.idle_ns, first.bytes_received) == (False, 1, None, 2)
    assert first.bytes_sent == len(server.seen[0].head) + 200
    assert first.writes == 1
    time.sleep(0.02)
    http.request("POST", f"http://localhost:{server.port}/", body=b"x" * 200)
    second = recorder.one().attempts[0]
    assert (second.reused, second.conn_requests, second.conn_id) == (True, 2, first.conn_id)
    assert second.idle_ns is not None
    assert second.idle_ns >= 20 * MS
    assert (second.dns_ns, second.connect_ns, second.tls_ns) == (None, None, None)


def test_a_tunnel_is_part_of_connect(tap: typing.Any, authority: typing.Any) -> None:
    recorder = Recorder()
    proxy = tap(tls=True, proxy=True)
    http = onewrite.ProxyManager(
        proxy.url(), ca_certs=authority.pem, on_timing=recorder.timings.append, listener=recorder
    )
    http.request("GET", f"https://127.0.0.1:{proxy.port}/")
    names = recorder.names()
    assert names.index("connect_end") < names.index("tls_start") < names.index("connection_acquired")
    assert names.count("request_start") == 1, "CONNECT is no request"
    timing = recorder.one()
    assert timing.tls_ns
    assert timing.connect_ns


def test_phases_tell_send_wait_and_receive_apart(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client

    def slow(peer: Peer, seen: Seen) -> None:
        time.sleep(0.05)
        peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.3)
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        time.sleep(0.3)
        peer.send(b"ok")

    make().request("POST", tap(slow).url(), body=b"x")
    assert recorder.names().count("informational") == 1
    timing = recorder.one()
    assert timing.wait_ns >= 200 * MS, "an interim answer does not end the wait"
    assert timing.receive_ns >= 150 * MS
    assert timing.send_ns < timing.wait_ns
    assert timing.cause in ("server", None)


def no_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return True
    return False


@pytest.mark.skipif(no_ipv6(), reason="no IPv6 here")
def test_an_ipv6_address_stands_in_brackets(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    server = tap(host="::1")
    with make() as http:
        http.request("POST", server.url("/a"))
        http.connection_from_url(server.url()).request("POST", "/a")
    for timing in recorder.check():
        assert timing.url == server.url("/a")
        assert timing.url.startswith("http://[::1]:")
        found = mappers.otel_attributes(timing)
        assert (found["server.address"], found["server.port"]) == ("::1", server.port)


def test_an_ipv6_address_with_a_zone() -> None:
    """RFC 6874: the percent sign of a zone is written %25."""
    with onewrite.PoolManager() as http:
        url = url_of(http.connection_from_url("http://[fe80::1%25eth0]:80/"), "/a")
    assert url == "http://[fe80::1%25eth0]/a"
    assert urllib3.util.parse_url(url).host == urllib3.util.parse_url("http://[fe80::1%25eth0]/").host


def test_an_untrusted_certificate(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    with pytest.raises(urllib3.exceptions.SSLError):
        make(cert_reqs="CERT_REQUIRED").request("GET", tap(tls=True).url(), retries=False)
    timing = recorder.one()
    assert (timing.error_kind, timing.error_phase) == ("tls", "tls")
    assert timing.tls_ns
    assert timing.send_ns is None


def test_waiting_for_the_pool(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    go_on = threading.Event()

    def held(peer: Peer, seen: Seen) -> None:
        assert "/held" not in seen.line or go_on.wait(20)
        peer.send(reply())

    server = tap(held)
    http = make(maxsize=1, block=True)
    http.request("GET", server.url())
    recorder.one()
    threads = [threading.Thread(target=http.request, args=("GET", server.url(path))) for path in ("/held", "/queued")]
    threads[0].start()
    until(lambda: len(server.seen) == 2)
    with pytest.raises(urllib3.exceptions.EmptyPoolError):
        http.request("GET", server.url("/given-up"), pool_timeout=0.01, retries=False)
    threads[1].start()
    until(lambda: recorder.names().count("queue_start") == 2)
    time.sleep(0.05)
    go_on.set()
    for thread in threads:
        thread.join()
    ended = {timing.url.rpartition("/")[2]: timing for timing in recorder.timings}
    assert ended["held"].queue_ns is None
    assert ended["queued"].queue_ns >= 50 * MS
    assert {name: (one.error_kind, one.error_phase) for name, one in ended.items()} == {
        "held": (None, None), "given-up": ("pool", "queue"), "queued": (None, None),
    }  # fmt: skip


class Raising(onewrite.TimingListener):
    def on_event(self, event: onewrite.Event) -> None:
        raise RuntimeError(event.name)

    def on_request_start(self, event: onewrite.Event) -> None:
        raise RuntimeError("again")


def test_a_hook_that_raises_changes_nothing(
    tap: typing.Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(timing: onewrite.Timing) -> None:
        raise RuntimeError("on_timing")

    monkeypatch.setattr(_hooks, "_failures", 0)  # as in a process in which none has raised yet
    http = onewrite.PoolManager(on_timing=raising, listener=Raising())
    assert http.request("POST", tap().url(), body=b"x").data == b"ok"
    assert onewrite.hook_failures() >= 10
    assert len([one for one in caplog.records if "timing hook" in one.message]) == 1


PACING = getattr(socket, "SO_MAX_PACING_RATE", 47)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's evidence is Linux's")
@pytest.mark.parametrize("writes", [1, 2])
def test_what_pacing_holds_is_not_nagles(writes: int, client: typing.Any, tap: typing.Any) -> None:
    """The same wait with the same evidence, but with TCP_NODELAY on, or in one write: no cause is named."""
    recorder, make = client
    server = tap()
    paced = (socket.SOL_SOCKET, PACING, 2_000_000)  # bytes per second: 400 kB take 200 ms
    nodelay = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    larger = (socket.SOL_SOCKET, socket.SO_SNDBUF, 4_000_000)  # all of it fits in at once
    held = False
    http = make(socket_options=[paced, larger, nodelay])
    for _ in range(10):  # on a busy machine the client may see the end of a write long after it
        body: typing.Any = b"x" * 400_000
        if writes > 1:
            body = iter([b"x" * 200_000] * 2)
        http.request("POST", server.url(), body=body, headers={"Content-Length": "400000"}, timeout=30)
        (attempt,) = recorder.one().attempts
        assert attempt.writes >= writes
        assert attempt.cause != "nagle_delayed_ack"
        held = attempt.kernel is not None and attempt.kernel.send_hold_ns >= 20 * MS
        if held:
            assert attempt.kernel.retransmits or attempt.cause in (None, "peer_window")
            break
    assert held, "pacing has held something back"


def test_kernel_evidence(tap: typing.Any) -> None:
    if not _kernel.AVAILABLE:
        pytest.skip("no TCP_INFO here")
    pause = 0.003
    server = tap(lambda peer, seen: (time.sleep(pause), peer.send(reply()))[1])
    timings: list[onewrite.Timing] = []
    http = onewrite.PoolManager(on_timing=timings.append)
    for _ in range(21):
        http.request("POST", server.url(), body=b"x" * 200)
    counts = [one.kernel.segments_out for one in timings]
    assert sorted(counts)[10] == 1
    assert all(one.kernel.rtt_us for one in timings)
    assert all(0 <= one.kernel.send_hold_ns <= one.wait_ns for one in timings)

    # An answer that comes at once has none: nothing can have been held or sent again.
    pause, before = 0, len(timings)
    for _ in range(200):
        http.request("POST", server.url(), body=b"x" * 200)
    quick = [one for one in timings[before:] if one.wait_ns + one.send_ns < 900_000]
    assert quick
    assert not any(one.kernel for one in quick)
    pause = 0.003
    http.request("POST", server.url(), body=b"x" * 200)
    late = timings[-1]
    assert late.kernel.retransmits == 0
    assert late.kernel.segments_out in (None, 1)


def test_threads_do_not_meet(recorded: list[onewrite.Timing], tap: typing.Any) -> None:
    server = tap()
    http = urllib3.PoolManager(maxsize=3)
    failed: list[BaseException] = []

    def send(name: str) -> None:
        try:
            for number in range(40):
                http.request("POST", server.url(f"/{name}-{number}"), body=b"x" * 100)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=send, args=(str(number),)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(recorded) == 240
    assert len({timing.url for timing in recorded}) == 240
    for timing in recorded:
        (attempt,) = timing.attempts
        assert (timing.outcome, timing.status, attempt.bytes_received) == ("ok", 200, 2)
    counts: dict[typing.Any, list[typing.Any]] = {}
    for timing in recorded:
        counts.setdefault(timing.conn_id, []).append(timing.attempts[0].conn_requests)
    for numbers in counts.values():
        assert sorted(numbers) == list(range(1, len(numbers) + 1)), "each request of a connection was counted once"
    http.clear()


def test_without_a_hook_no_clock_is_read(tap: typing.Any) -> None:
    """No clock reading, no getsockopt and no record of ours while no hook is set."""
    server = tap()
    for make in (onewrite.PoolManager, urllib3.PoolManager):
        onewrite.install()
        http = make()
        http.request("POST", server.url(), body=b"x")
        ours: set[str] = set()
        builtins: set[str] = set()

        def watch(
            frame: typing.Any, event: str, argument: typing.Any, ours: set[str] = ours, builtins: set[str] = builtins
        ) -> None:
            file = frame.f_code.co_filename
            if event == "call" and file.endswith(
                tuple(f"_timing/{name}.py" for name in ("call", "attempt", "record", "kernel", "events"))
            ):
                ours.add(frame.f_code.co_name)
            if event == "c_call" and "onewrite" in file:
                builtins.add(argument.__name__)

        # A record that an earlier test left in a cycle must not be freed, and seen, meanwhile.
        gc.collect()
        gc.disable()
        sys.setprofile(watch)
        try:
            http.request("POST", server.url(), body=b"x")
        finally:
            sys.setprofile(None)
            gc.enable()
            onewrite.uninstall()
        assert not ours
        assert "sendall" in builtins, "the profile sees what is called"
        assert not {name for name in builtins if name.endswith(("time_ns", "monotonic_ns", "getsockopt"))}
        http.clear()
