"""A method replaced by a tracer or a guard, before onewrite is imported or after, is called as by urllib3."""

from __future__ import annotations

import subprocess
import sys
import typing

import pytest

from onewrite import _base_version as _base

#: Calls with urllib3 and with onewrite in every way, while counting wrappers are around methods; ``functools.wraps``
#: gives them the name of what they wrap. Prints what was not called as often as by urllib3.
TRACER = """
import functools, sys
import http.client, urllib3, urllib3.connection, urllib3.connectionpool, urllib3.util.connection

url, when, kind, *names = sys.argv[1:]
counts = {}
hook = {"on_timing": lambda timing: None}

def watch(name):
    owner, _, method = name.rpartition(".")
    owner = eval(owner)
    original = getattr(owner, method)
    if kind == "wrapt":
        import wrapt

        def proxied(wrapped, instance, args, kwargs):
            assert isinstance(instance, owner), instance
            counts[name] = counts.get(name, 0) + 1
            return wrapped(*args, **kwargs)

        setattr(owner, method, wrapt.FunctionWrapper(original, proxied))
        return

    @functools.wraps(original)
    def watched(*args, **kwargs):
        counts[name] = counts.get(name, 0) + 1
        return original(*args, **kwargs)

    setattr(owner, method, watched)

def counted(http):
    counts.clear()
    for _ in range(3):
        assert http.request("POST", url, body=b"x" * 200).data == b"ok"
    pool = http.connection_from_url(url)
    for _ in range(2):
        assert pool.request("POST", "/", body=b"x" * 200).data == b"ok"
    return dict(counts)

def own():
    import onewrite
    managers = {"own": onewrite.PoolManager(), "own with hooks": onewrite.PoolManager(**hook)}
    for http in managers.values():
        http.request("GET", url)  # pool and connection are there
    return managers

managers = own() if when == "after" else None
if when == "before":
    for name in names:
        watch(name)
    stock = counted(urllib3.PoolManager())
    managers = own()
else:
    for name in names:
        watch(name)
    stock = counted(urllib3.PoolManager())
assert set(stock) == set(names) and min(stock.values()) >= 2, stock
found = {how: counted(http) for how, http in managers.items()}
import onewrite
for more in ({}, hook):
    onewrite.install(**more)
    found["installed with %d hooks" % len(more)] = counted(urllib3.PoolManager())
    onewrite.uninstall()
for how, seen in found.items():
    if seen != stock:
        print(how, seen, "and not", stock)
"""


def run(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


WATCHED = [
    "urllib3.connectionpool.HTTPConnectionPool.urlopen",
    "urllib3.connectionpool.HTTPConnectionPool._make_request",
    "urllib3.connectionpool.HTTPConnectionPool._get_conn",
    "urllib3.connectionpool.HTTPConnectionPool._put_conn",
    "urllib3.PoolManager.urlopen",
    "urllib3.PoolManager.connection_from_host",
    "urllib3.PoolManager.request",
    "urllib3.HTTPConnectionPool.request",
    "urllib3.PoolManager.request_encode_body",
    "http.client.HTTPConnection.putrequest",
    "http.client.HTTPConnection.putheader",
    "http.client.HTTPConnection.endheaders",
    "urllib3.connection.HTTPConnection.request",
]
if not _base.IS_1:  # 1.26 asks for an answer twice: first with an argument of Python 2
    WATCHED += [
        "http.client.HTTPConnection.getresponse",
        "http.client.HTTPResponse.begin",
        "urllib3.response.HTTPResponse.__init__",
        "urllib3.connection.HTTPConnection.getresponse",
        "urllib3.connection.HTTPConnection.putheader",
        "urllib3.util.Retry.is_retry",
    ]


@pytest.fixture(params=[pytest.param("functools", marks=pytest.mark.nightly), "wrapt"])
def kind(request: pytest.FixtureRequest) -> str:
    """How a tracer wraps: by a function, or by a wrapt proxy, which equals what it wraps and has to be bound."""
    if request.param == "wrapt":
        pytest.importorskip("wrapt")
    return str(request.param)


@pytest.mark.parametrize("when", ["before", "after"])
def test_tracers_are_called_as_often_as_by_urllib3(when: str, kind: str, tap: typing.Any) -> None:
    assert run(TRACER, tap().url(), when, kind, *WATCHED) == ""


GUARD = """
import functools, sys, urllib3, urllib3.util.connection
import socket

looked_up = []
getaddrinfo = socket.getaddrinfo

def looking(host, *args, **kwargs):
    looked_up.append(host)
    return getaddrinfo(host, *args, **kwargs)

socket.getaddrinfo = looking

def pin():
    if sys.argv[3] == "create_connection":
        create = urllib3.util.connection.create_connection

        @functools.wraps(create)
        def pinned(address, *args, **kwargs):
            assert address[0] == "pinned.invalid"
            return create(("127.0.0.1", address[1]), *args, **kwargs)

        urllib3.util.connection.create_connection = pinned
    else:
        new_conn = urllib3.connection.HTTPConnection._new_conn

        @functools.wraps(new_conn)
        def pinned(self):
            assert self._dns_host == "pinned.invalid"
            self._dns_host = "127.0.0.1"
            try:
                return new_conn(self)
            finally:
                self._dns_host = "pinned.invalid"

        urllib3.connection.HTTPConnection._new_conn = pinned

if sys.argv[2] == "before":
    pin()
import onewrite
records = []
own = onewrite.PoolManager(on_timing=records.append)
onewrite.install(on_timing=records.append)
if sys.argv[2] == "after":
    pin()
for http in (own, urllib3.PoolManager()):
    records.clear()
    for _ in range(2):
        assert http.request("POST", "http://pinned.invalid:%s/" % sys.argv[1], body=b"x").data == b"ok"
    assert "pinned.invalid" not in looked_up, looked_up
    assert {one.outcome for one in records} == {"ok"}
    assert records[0].connect_ns
"""


@pytest.mark.parametrize("what", [pytest.param("create_connection", marks=pytest.mark.nightly), "_new_conn"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_pinned_address_is_never_looked_up(when: str, what: str, tap: typing.Any) -> None:
    """Guards against DNS rebinding and against requests to internal networks replace these functions."""
    run(GUARD, str(tap().port), when, what)
