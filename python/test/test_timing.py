"""Records and events: order, absence, attempts, and how each kind of call ends."""

from __future__ import annotations

import gc
import socket
import sys
import threading
import time
import typing

import pytest
import urllib3

import onewrite
from onewrite._timing import hooks as _hooks
from tap import Peer, Seen, reply, until

MS = 1_000_000

ORDER = [
    "call_start", "attempt_start", "queue_start", "queue_end", "dns_start", "dns_end", "connect_start", "connect_end",
    "tls_start", "tls_end", "connection_acquired", "request_start", "request_end", "informational", "response_start",
    "headers_end", "response_end", "connection_released", "attempt_end", "call_end",
]  # fmt: skip


class Recorder(onewrite.TimingListener):
    def __init__(self) -> None:
        self.events: list[onewrite.Event] = []
        self.timings: list[onewrite.Timing] = []

    def on_event(self, event: onewrite.Event) -> None:
        self.events.append(event)

    def names(self) -> list[str]:
        return [event.name for event in self.events]

    def check(self) -> onewrite.Timing:
        """The rules that hold for every finished call; return its record."""
        assert len(self.timings) == 1, "one record"
        names = self.names()
        assert names[0] == "call_start"
        assert names.count("call_end") == 1
        assert names[-1] == "call_end"
        times = [event.t_ns for event in self.events]
        assert times == sorted(times), "time does not go back"
        for index in {event.attempt for event in self.events if event.attempt is not None}:
            own = [ORDER.index(event.name) for event in self.events if event.attempt == index]
            assert own == sorted(own), [event.name for event in self.events if event.attempt == index]
        for name in names:
            if name.endswith("_start") and name not in ("call_start", "attempt_start", "response_start"):
                assert names.count(name) == names.count(name.replace("_start", "_end")), name
        timing = self.timings[0]
        for attempt in timing.attempts:
            for phase in ("queue", "dns", "connect", "tls", "send", "wait", "receive", "total"):
                value = getattr(attempt, f"{phase}_ns")
                assert value is None or value >= 1
        self.events.clear()
        self.timings.clear()
        return timing


@pytest.fixture(params=["own", "installed"])
def client(request: pytest.FixtureRequest) -> typing.Iterator[typing.Any]:
    """(recorder, maker of managers)."""
    recorder = Recorder()
    hooks: dict[str, typing.Any] = {"on_timing": recorder.timings.append, "listener": recorder}
    if request.param == "own":
        yield recorder, lambda **keywords: onewrite.PoolManager(**hooks, **keywords)
        return
    onewrite.install(**hooks)
    yield recorder, urllib3.PoolManager
    onewrite.uninstall()


def test_a_fresh_and_a_reused_connection(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    server = tap()
    http = make()
    http.request("POST", f"http://user:secret@localhost:{server.port}/a?b=c", body=b"x" * 200)
    names = recorder.names()
    timing = recorder.check()
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
    second = recorder.check().attempts[0]
    assert (second.reused, second.conn_requests, second.conn_id) == (True, 2, first.conn_id)
    assert second.idle_ns is not None
    assert second.idle_ns >= 20 * MS
    assert (second.dns_ns, second.connect_ns, second.tls_ns) == (None, None, None)


def test_tls_is_a_phase(client: typing.Any, tap: typing.Any, authority: typing.Any) -> None:
    recorder, make = client
    server = tap(tls=True)
    make(ca_certs=authority.pem).request("GET", server.url())
    timing = recorder.check()
    assert timing.tls_ns
    assert timing.dns_ns is None, "an address needs no look-up"


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
    timing = recorder.check()
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
    timing = recorder.check()
    assert timing.wait_ns >= 200 * MS, "an interim answer does not end the wait"
    assert timing.receive_ns >= 150 * MS
    assert timing.send_ns < timing.wait_ns
    assert timing.cause in ("server", None)


def test_an_interim_answer_in_the_same_packet(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    server = tap(lambda peer, seen: peer.send(b"HTTP/1.1 100 Continue\r\n\r\n" + reply()))
    make().request("POST", server.url(), body=b"x")
    recorder.check()


def test_retries_are_attempts(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    answers = [reply(b"", "503 Service Unavailable"), reply(b"", "503 Service Unavailable"), reply()]
    server = tap(lambda peer, seen: peer.send(answers.pop(0)))
    retries = urllib3.Retry(3, status_forcelist=[503], allowed_methods=None)
    assert make().request("POST", server.url(), body=b"x", retries=retries).status == 200
    timing = recorder.check()
    assert [one.status for one in timing.attempts] == [503, 503, 200]
    assert [one.reused for one in timing.attempts] == [False, True, True]


def test_a_broken_connection_is_an_attempt_that_failed(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    count = [0]

    def once(peer: Peer, seen: Seen) -> None:
        count[0] += 1
        if count[0] == 1:
            raise EOFError
        peer.send(reply())

    assert make().request("GET", tap(once).url(), retries=2).status == 200
    timing = recorder.check()
    assert [one.outcome for one in timing.attempts] == ["error", "ok"]
    assert timing.outcome == "ok"


def test_redirects_are_attempts(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    server = tap(
        lambda peer, seen: peer.send(
            reply(b"", "302 Found", "Location: /there") if seen.line.startswith("GET /here") else reply()
        )
    )
    assert make().request("GET", server.url("/here")).status == 200
    timing = recorder.check()
    assert [one.status for one in timing.attempts] == [302, 200]


def test_streamed_to_the_end(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    response = make().request("GET", tap().url(), preload_content=False)
    assert not recorder.timings, "the call goes on while the body is read"
    assert response.read() == b"ok"
    timing = recorder.check()
    assert timing.receive_ns
    assert timing.attempts[0].bytes_received == 2


@pytest.mark.parametrize("preload", [False, True])
def test_streamed_in_chunks(preload: bool, client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    server = tap(
        lambda peer, seen: peer.send(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5\r\ndefgh\r\n0\r\n\r\n"
        )
    )
    response = make().request("GET", server.url(), preload_content=preload)
    assert (response.data if preload else b"".join(response.stream(2))) == b"abcdefgh"
    assert recorder.check().attempts[0].bytes_received == 8


@pytest.mark.parametrize("give_up", ["close", "release", "drop"])
def test_a_body_nobody_read(give_up: str, client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    http = make()
    response = http.request("GET", tap().url(), preload_content=False)
    if give_up == "close":
        response.close()
    elif give_up == "release":
        response.release_conn()
    else:
        del response
        gc.collect()
        assert not recorder.timings, "no hook is called in a finalizer"
        onewrite.status()
    timing = recorder.check()
    assert timing.outcome == "ok"
    assert timing.receive_ns is None, "the body was not read to its end"


def test_a_body_that_breaks_while_it_is_streamed(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client

    def half(peer: Peer, seen: Seen) -> None:
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        raise EOFError

    response = make().request("GET", tap(half).url(), preload_content=False, retries=False)
    with pytest.raises(urllib3.exceptions.ProtocolError):
        response.read()
    timing = recorder.check()
    assert (timing.outcome, timing.error_kind, timing.error_phase) == ("error", "closed", "receive")


@pytest.mark.parametrize(
    ("url", "kind", "phase"),
    [
        ("http://nowhere.invalid/", "dns", "dns"),
        ("http://127.0.0.1:{refused}/", "connect", "connect"),
        ("https://127.0.0.1:{refused}/", "connect", "connect"),
    ],
)
def test_a_name_or_a_port_that_does_not_answer(url: str, kind: str, phase: str, client: typing.Any) -> None:
    recorder, make = client
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(urllib3.exceptions.HTTPError):
            make().request("GET", url.format(refused=bound.getsockname()[1]), retries=False)
    timing = recorder.check()
    assert (timing.outcome, timing.error_kind, timing.error_phase) == ("error", kind, phase)


def test_an_untrusted_certificate(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    with pytest.raises(urllib3.exceptions.SSLError):
        make(cert_reqs="CERT_REQUIRED").request("GET", tap(tls=True).url(), retries=False)
    timing = recorder.check()
    assert (timing.error_kind, timing.error_phase) == ("tls", "tls")
    assert timing.tls_ns
    assert timing.send_ns is None


def test_no_answer_in_time(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    server = tap(lambda peer, seen: time.sleep(0.4))
    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        make().request("GET", server.url(), retries=False, timeout=0.1)
    timing = recorder.check()
    assert (timing.error_kind, timing.error_phase) == ("timeout", "wait")


def test_refused_before_a_byte(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    with pytest.raises(ValueError, match="header"):
        make().request("GET", tap().url(), headers={"X": "a\nb"})
    timing = recorder.check()
    assert (timing.error_kind, timing.error_phase, len(timing.attempts)) == ("other", None, 1)
    assert timing.send_ns is timing.wait_ns is None


def test_waiting_for_the_pool(client: typing.Any, tap: typing.Any) -> None:
    recorder, make = client
    go_on = threading.Event()

    def held(peer: Peer, seen: Seen) -> None:
        assert "/held" not in seen.line or go_on.wait(20)
        peer.send(reply())

    server = tap(held)
    http = make(maxsize=1, block=True)
    http.request("GET", server.url())
    recorder.check()
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


def test_hooks_are_fixed_at_the_start(tap: typing.Any) -> None:
    late: list[onewrite.Timing] = []
    early: list[onewrite.Timing] = []
    onewrite.install(on_timing=early.append)
    try:
        response = urllib3.PoolManager().request("GET", tap().url(), preload_content=False)
        onewrite.install(on_timing=late.append)
        response.read()
    finally:
        onewrite.uninstall()
    assert (len(early), len(late)) == (1, 0)


def test_the_cause_of_a_stall_is_named(tap: typing.Any) -> None:
    """With both switches off: head and body in two writes, Nagle on."""
    server = tap(lambda peer, seen: (time.sleep(0.003), peer.send(reply()))[1])
    timings: list[onewrite.Timing] = []
    http = onewrite.PoolManager(
        on_timing=timings.append, nodelay_disabled=True, coalesce_disabled=True, socket_options=[]
    )
    stalled: list[onewrite.Timing] = []
    # On a busy machine some requests wait for other causes, and are named so.
    while len(timings) < 15 or (len(stalled) < 5 and len(timings) < 200):
        http.request("POST", server.url(), body=b"x" * 200)
        stalled = [one for one in timings if one.cause == "nagle_delayed_ack"]
    assert len(stalled) >= 5
    assert all(one.wait_ns > 20 * MS for one in stalled)
    assert all(one.kernel.send_hold_ns > 20 * MS for one in stalled)
    assert "nagle_delayed_ack" in str(stalled[0])
    timings.clear()
    cured = onewrite.PoolManager(on_timing=timings.append, socket_options=[])
    for _ in range(15):
        cured.request("POST", server.url(), body=b"x" * 200)
    assert not [one for one in timings if one.cause == "nagle_delayed_ack"]
    assert sorted(one.kernel.segments_out for one in timings)[7] == 1


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
        (attempt,) = recorder.check().attempts
        assert attempt.writes >= writes
        assert attempt.cause != "nagle_delayed_ack"
        held = attempt.kernel is not None and attempt.kernel.send_hold_ns >= 20 * MS
        if held:
            assert attempt.kernel.retransmits or attempt.cause in (None, "peer_window")
            break
    assert held, "pacing has held something back"


def test_the_record_in_words_and_as_json(tap: typing.Any) -> None:
    import json

    timings: list[onewrite.Timing] = []
    onewrite.PoolManager(on_timing=timings.append).request("GET", tap().url("/x"))
    (timing,) = timings
    assert str(timing).startswith("GET http://127.0.0.1:")
    assert " 200 in " in str(timing)
    assert "new conn" in str(timing)
    record = json.loads(json.dumps(timing.to_dict()))
    assert record["attempts"][0]["status"] == 200
    assert "tls_ns" not in record


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
