"""install() reaches classes that others bound earlier, can be undone, and refuses what it does not know."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import typing

import pytest
import urllib3
import urllib3.connection

import onewrite
import onewrite.requests
from onewrite import _base_version as _base
from onewrite import _install
from tap import Peer, Seen, mode, reply


class BoundEarlier(urllib3.connection.HTTPConnection):
    """A subclass made before install(), as in botocore, docker and vcrpy."""


def originals() -> list[typing.Any]:
    return [owner.__dict__[name] for owner, name, _ in _install._PLACES]


def test_each_method_is_replaced_once() -> None:
    before = originals()
    onewrite.install(on_timing=print)
    first = originals()
    onewrite.install(coalesce_max=100)
    assert originals() == first
    onewrite.uninstall()
    onewrite.uninstall()
    assert originals() == before


def test_own_classes_patch_nothing() -> None:
    program = """
import urllib3.connection, urllib3.connectionpool, onewrite
classes = urllib3.connection.HTTPConnection, urllib3.connectionpool.HTTPConnectionPool, urllib3.PoolManager
before = [dict(vars(cls)) for cls in classes]
onewrite.PoolManager(on_timing=print)
onewrite.uninstall()
assert [dict(vars(cls)) for cls in classes] == before
"""
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)


def wrapped(owner: typing.Any, name: str, seen: list[str]) -> typing.Any:
    """Wraps a method as a tracer does that comes after install()."""
    below = getattr(owner, name)

    def tracing(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        seen.append(name)
        return below(*args, **kwargs)

    return tracing


@pytest.mark.parametrize("hooks", [False, True])
def test_a_wrapper_put_on_after_install_stays(hooks: bool, tap: typing.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = tap()
    seen: list[str] = []
    timings: list[onewrite.Timing] = []
    connection, pool = urllib3.connection.HTTPConnection, urllib3.HTTPConnectionPool
    more = {"on_timing": timings.append} if hooks else {}
    http = urllib3.PoolManager(maxsize=1)

    def rounds() -> int:
        del server.seen[:], seen[:], timings[:]
        for _ in range(20):
            http.request("POST", server.url(), body=b"x" * 200)
        assert seen.count("urlopen") == seen.count("request") == 20
        return mode(one.segments for one in server.seen)

    with monkeypatch.context() as patching:
        onewrite.install(**more)
        for owner, name in (
            (pool, "urlopen"),
            (connection, "request"),
            (connection, "send"),
            (connection, "connect"),
        ):
            patching.setattr(owner, name, wrapped(owner, name, seen))
        assert (rounds(), len(timings)) == (1, 20 * hooks)
        onewrite.uninstall()
        assert (rounds(), len(timings)) == (2, 0), "urllib3's own behaviour, the tracer in it"
        for _ in range(2):
            onewrite.install(**more)
            assert (rounds(), len(timings)) == (1, 20 * hooks)
            assert all(one.attempts[0].writes == 1 for one in timings), "once, not twice"
            onewrite.uninstall()
        assert rounds() == 2
        http.clear()
        # The tracer is removed and restores onewrite's method.
    onewrite.install(**more)
    del server.seen[:]
    for _ in range(20):
        http.request("POST", server.url(), body=b"x" * 200)
    assert mode(one.segments for one in server.seen) == 1
    http.clear()


@pytest.mark.parametrize("end", ["removed", "uninstalled"])
@pytest.mark.parametrize("read", [False, True])
def test_a_call_reports_to_the_hooks_of_its_start(read: bool, end: str, tap: typing.Any) -> None:
    server = tap()
    early: list[onewrite.Timing] = []
    late: list[onewrite.Timing] = []
    installation = onewrite.install(on_timing=early.append)
    response = urllib3.PoolManager().request("GET", server.url("/streamed"), preload_content=False)
    if end == "removed":
        installation.remove()
        onewrite.install(on_timing=late.append)
    else:
        onewrite.uninstall()
    assert not early
    if read:
        assert response.read() == b"ok"
    else:
        response.close()
    assert [one.outcome for one in early] == ["ok"]
    assert early[0].wait_ns
    assert bool(early[0].receive_ns) == read
    assert not late


def test_a_request_under_way_during_uninstall_has_its_record(tap: typing.Any) -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def answering(peer: Peer, seen: Seen) -> None:
        arrived.set()
        assert go_on.wait(30)
        peer.send(reply())

    server = tap(answering)
    timings: list[onewrite.Timing] = []
    onewrite.install(on_timing=timings.append)
    thread = threading.Thread(target=urllib3.PoolManager().request, args=("GET", server.url()))
    thread.start()
    try:
        assert arrived.wait(30)
    finally:
        onewrite.uninstall()
        go_on.set()
        thread.join(30)
    assert [one.outcome for one in timings] == ["ok"]


def test_installed_from_many_threads_at_once(tap: typing.Any) -> None:
    """install() from many threads patches once; uninstall() from any of them undoes it."""
    server = tap()
    for turn in range(10):
        barrier = threading.Barrier(8)
        failures: list[BaseException] = []
        timings: list[onewrite.Timing] = []

        def run(
            act: typing.Callable[[], None],
            barrier: threading.Barrier = barrier,
            failures: list[BaseException] = failures,
        ) -> None:
            try:
                barrier.wait(30)
                act()
            except BaseException as error:
                failures.append(error)

        def install(timings: list[onewrite.Timing] = timings) -> None:
            onewrite.install(on_timing=timings.append).remove()
            onewrite.install(coalesce_max=100)

        for act in (install, onewrite.uninstall):
            threads = [threading.Thread(target=run, args=(act,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
            assert not failures
            if act is install:
                installation = onewrite.install(on_timing=timings.append)
                with urllib3.PoolManager() as http:
                    for _ in range(20):
                        http.request("POST", server.url(f"/{turn}"), body=b"x" * 200)
                installation.remove()
                assert len(timings) == 20, "one record for each"
                assert all(one.attempts[0].writes == 1 for one in timings)
                assert mode(one.segments for one in server.seen[-20:]) == 1


def test_reaches_subclasses_bound_before(tap: typing.Any) -> None:
    server = tap()

    class Pool(urllib3.HTTPConnectionPool):
        ConnectionCls = BoundEarlier

    pool = Pool("127.0.0.1", server.port)
    for _ in range(3):
        onewrite.install()
        for _ in range(20):
            pool.request("POST", "/", body=b"x" * 200)
        onewrite.uninstall()
        assert mode(one.segments for one in server.seen[-20:]) == 1
    for _ in range(20):
        pool.request("POST", "/", body=b"x" * 200)
    assert mode(one.segments for one in server.seen[-20:]) == 2
    pool.close()


# -- several installations ------------------------------------------------------------------------------


class Events(onewrite.TimingListener):
    def __init__(self) -> None:
        self.names: list[str] = []

    def on_event(self, event: onewrite.Event) -> None:
        self.names.append(event.name)


def test_hooks_add(tap: typing.Any) -> None:
    """Each call's own are called, in the order of the calls, until they are removed; none ends another."""
    server = tap()
    order: list[str] = []
    events = Events()
    first = onewrite.install(on_timing=lambda timing: order.append("first"))
    second = onewrite.install(on_timing=lambda timing: order.append("second"), listener=events)
    http = urllib3.PoolManager()

    def told() -> list[str]:
        order.clear()
        events.names.clear()
        http.request("POST", server.url(), body=b"x")
        return [*order, *("events" for _ in events.names[:1])]

    assert told() == ["first", "second", "events"]
    first.remove()
    first.remove()
    assert told() == ["second", "events"]
    third = onewrite.install(on_timing=lambda timing: order.append("third"))
    assert told() == ["second", "third", "events"]
    second.remove()
    assert told() == ["third"]
    third.remove()
    assert told() == []
    assert onewrite.status().enabled
    for _ in range(20):
        http.request("POST", server.url(), body=b"x" * 200)
    assert mode(one.segments for one in server.seen[-20:]) == 1, "what remains is one write"
    http.clear()


def test_an_option_that_is_left_out_stays_as_it_is() -> None:
    onewrite.install(coalesce_max=100)
    onewrite.install(quickack=True)
    assert (onewrite.status().options["coalesce_max"], onewrite.status().options["quickack"]) == (100, True)
    onewrite.uninstall()
    onewrite.install()
    assert (onewrite.status().options["coalesce_max"], onewrite.status().options["quickack"]) == (16384, False)


@pytest.mark.parametrize("version", ["3.0.0", "1.25.11", "0.9", "2.25.904", "1.26.903", "nonsense"])
def test_unknown_versions_are_refused_and_nothing_changes(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = originals()
    monkeypatch.setattr(urllib3, "__version__", version)
    with pytest.raises(onewrite.UnsupportedBaseError, match=r"urllib3"):
        onewrite.install()
    assert originals() == before


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (urllib3.connection.HTTPConnection, "_new_conn"),
        (urllib3.HTTPConnectionPool, "_put_conn"),
        (urllib3.HTTPResponse, "_handle_chunk"),
        (urllib3.PoolManager, "_new_pool"),
    ],
)
def test_a_private_name_that_is_missing_is_refused_and_nothing_changes(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = originals()
    monkeypatch.setattr(_base, "_missing_name", _base._missing_name.__wrapped__)
    monkeypatch.delattr(owner, name)
    with pytest.raises(onewrite.UnsupportedBaseError, match=name):
        onewrite.install()
    assert originals() == before


@pytest.mark.parametrize("version", ["1.26.0", "1.26.20", "2.0.7", "2.99.1"])
def test_versions_that_are_supported(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib3, "__version__", version)
    assert _base.unsupported() is None


@pytest.mark.parametrize(
    ("keywords", "error"),
    [
        ({"coalesce_max": 16385}, ValueError),
        ({"quickack": "true"}, TypeError),
        ({"on_timing": 3}, TypeError),
        ({"listener": object()}, TypeError),
    ],
)
@pytest.mark.parametrize(
    "make",
    [
        onewrite.PoolManager,
        lambda **keywords: onewrite.ProxyManager("http://localhost:3128", **keywords),
        onewrite.requests.Adapter,
        onewrite.install,
    ],
)
def test_bad_options_in_code_are_refused_at_once(
    make: typing.Any, keywords: dict[str, typing.Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=next(iter(keywords))):
        make(**keywords)


@pytest.mark.parametrize("make", [onewrite.requests.Adapter, onewrite.install])
def test_an_option_that_does_not_exist_is_refused_at_once(make: typing.Any) -> None:
    with pytest.raises(TypeError, match="no_such_option"):
        make(no_such_option=True)


@pytest.mark.parametrize("library", [urllib3, onewrite])
def test_what_is_not_ours_is_refused_where_urllib3_refuses_it(library: typing.Any) -> None:
    with library.PoolManager(no_such_option=True) as http, pytest.raises(TypeError, match="no_such_option"):
        http.connection_from_url("http://h/")


def test_the_kill_switch_leaves_urllib3_as_it_was() -> None:
    program = """
import urllib3, onewrite
onewrite.install(on_timing=print)
http = onewrite.PoolManager(on_timing=print)
print(urllib3.connection.HTTPConnection.__init__.__module__)
print(type(http.connection_from_url("http://h/")) is urllib3.HTTPConnectionPool)
"""
    environment = {**os.environ, "ONEWRITE_DISABLED": " Yes "}
    done = subprocess.run([sys.executable, "-c", program], env=environment, text=True, capture_output=True, check=True)
    assert done.stdout.split() == ["urllib3.connection", "True"]
