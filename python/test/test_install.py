"""What install() reaches, what uninstall() gives back, and who else may be there."""

from __future__ import annotations

import functools
import inspect
import os
import socket
import subprocess
import sys
import threading
import typing

import pytest
import urllib3
import urllib3.connection
import urllib3.connectionpool

import onewrite
import onewrite.httpx
from onewrite import _base_version
from tap import mode

BODY = b"x" * 200


def run(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if "ONEWRITE" not in name}
    command = [sys.executable, "-W", "ignore", "-c", program, *arguments]
    return subprocess.run(
        command, env={**clean, **environment}, capture_output=True, text=True, timeout=100, check=False
    )


def post(http: typing.Any, url: str, count: int = 20) -> None:
    for _ in range(count):
        assert http.request("POST", url, body=BODY).data == b"ok"


def test_pools_and_connections_that_were_there_before(tap: typing.Any) -> None:
    server = tap()
    http = urllib3.PoolManager()
    post(http, server.url(), 1)
    conn = http.connection_from_url(server.url()).pool.queue[-1]  # type: ignore[union-attr]
    records: list[onewrite.Record] = []
    remove = onewrite.install(on_timing=records.append)
    post(http, server.url())
    assert http.connection_from_url(server.url()).pool.queue[-1] is conn  # type: ignore[union-attr]
    assert type(conn) is urllib3.connection.HTTPConnection
    assert mode(one.segments for one in server.seen) == 1
    assert {(record.reused, record.conn_requests) for record in records} == {(True, None)}  # not known, not wrong
    assert len(records) == 20
    remove()
    post(http, server.url(), 1)
    assert len(records) == 20
    assert len(onewrite.status()["patches"]) <= 4
    onewrite.uninstall()
    post(http, server.url())
    assert mode(one.segments for one in server.seen[-20:]) == 2
    assert server.connections == 1


def test_hooks_add_and_each_is_removed_by_itself(tap: typing.Any) -> None:
    server = tap()
    got: dict[str, list[onewrite.Record]] = {"a": [], "b": [], "own": []}
    remove_a = onewrite.install(on_timing=got["a"].append)
    remove_b = onewrite.install(on_timing=got["b"].append)
    onewrite.install(on_timing=got["b"].append)  # twice is once
    own = onewrite.PoolManager(on_timing=got["own"].append)
    post(own, server.url(), 1)
    assert [len(records) for records in got.values()] == [1, 1, 1]
    post(urllib3.PoolManager(), server.url(), 1)
    assert [len(records) for records in got.values()] == [2, 2, 1]
    remove_a()
    remove_a()
    post(own, server.url(), 1)
    remove_b()
    post(own, server.url(), 1)
    assert [len(records) for records in got.values()] == [2, 3, 3]
    own.clear()


def test_an_own_manager_leaves_the_others_alone(tap: typing.Any, authority: typing.Any) -> None:
    server, secure = tap(), tap(tls=True)
    records: list[onewrite.Record] = []
    own = onewrite.PoolManager(on_timing=records.append, ca_certs=authority.pem)
    stock = urllib3.PoolManager(ca_certs=authority.pem)
    for one in (server, secure):
        for http, segments in ((own, 1), (stock, 2)):
            post(http, one.url())
            assert mode(seen.segments for seen in one.seen[-20:]) == segments
    assert len(records) == 40
    onewrite.uninstall()  # is not about own managers
    post(own, server.url())
    assert mode(seen.segments for seen in server.seen[-20:]) == 1
    pool = own.connection_from_url(server.url())
    assert type(pool) is urllib3.HTTPConnectionPool
    assert type(pool.pool.queue[-1]) is urllib3.connection.HTTPConnection
    for http in (own, stock):
        http.clear()


def test_observe(tap: typing.Any) -> None:
    server = tap()
    records: list[onewrite.Record] = []
    onewrite.install(on_timing=records.append, observe=True)
    http = urllib3.PoolManager(socket_options=[])
    post(http, server.url(), 1)
    sock = http.connection_from_url(server.url()).pool.queue[-1].sock  # type: ignore[union-attr]
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0
    assert [record.writes for record in records] == [2]
    assert onewrite.status()["options"] == {"disabled": False, "observe": True, "quickack": False}
    onewrite.install(observe=False, quickack=True)
    post(http, server.url(), 1)
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert records[-1].writes == 1
    for name in ("observe", "quickack"):
        with pytest.raises(TypeError, match=name):
            onewrite.PoolManager(**{name: "yes"})


def test_the_kill_switch(tap: typing.Any) -> None:
    server = tap()
    program = (
        "import sys, urllib3, onewrite, onewrite.requests, onewrite.httpx\n"
        "before = dict(vars(urllib3.connection.HTTPConnection))\n"
        "onewrite.install(on_timing=print); onewrite.httpx.install(print)\n"
        "for http in (urllib3.PoolManager(), onewrite.PoolManager(on_timing=print)):\n"
        "    for _ in range(20): http.request('POST', sys.argv[1], body=b'x' * 200)\n"
        "assert dict(vars(urllib3.connection.HTTPConnection)) == before\n"
        "print(onewrite.status()['off_because'])\n"
    )
    done = run(program, server.url(), ONEWRITE_DISABLED="yes", ONEWRITE_QUICKACK="perhaps")
    assert done.stdout == "ONEWRITE_DISABLED is set\n", done.stderr
    assert "ONEWRITE_QUICKACK='perhaps' is ignored" in done.stderr
    assert mode(one.segments for one in server.seen) == 2


def test_wrappers_have_the_signatures_of_what_they_wrap() -> None:
    cls = urllib3.connection.HTTPConnection
    places = [(cls, "request"), (cls, "send"), (cls, "getresponse"), (urllib3.HTTPConnectionPool, "urlopen")]
    before = [inspect.getfullargspec(getattr(owner, name)) for owner, name in places]
    onewrite.install(on_timing=str)
    assert [inspect.getfullargspec(getattr(owner, name)) for owner, name in places] == before


@pytest.mark.parametrize(
    ("version", "word"), [("1.25.11", "not supported"), ("3.0.0", "not supported"), ("2.14.900", "urllib3-future")]
)
def test_versions_that_are_refused(version: str, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_base_version, "VERSION", version)
    for refused in (onewrite.install, onewrite.PoolManager):
        with pytest.raises(onewrite.UnsupportedBaseError, match=word):
            refused()
    assert onewrite.status()["patches"] == []
    assert not onewrite.status()["enabled"]


def test_versions_that_are_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("1.26.0", "2.0.0a1", "2.8.1.dev4+g123abc.d20260101", "2.9"):
        monkeypatch.setattr(_base_version, "VERSION", version)
        assert _base_version.unsupported() is None, version
    monkeypatch.delattr(urllib3.connectionpool.HTTPConnectionPool, "_put_conn")
    with pytest.raises(onewrite.UnsupportedBaseError, match="_put_conn"):
        onewrite.install()


def test_uninstall_while_a_connection_is_made(tap: typing.Any, authority: typing.Any) -> None:
    """urllib3 connects to an https origin before request()."""
    server = tap(tls=True)
    onewrite.install(on_timing=str)

    class Slow(urllib3.connection.HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            sock = super()._new_conn()
            onewrite.uninstall()
            return sock

    with urllib3.HTTPSConnectionPool("localhost", server.port, ca_certs=authority.pem, retries=False) as pool:
        pool.ConnectionCls = Slow
        assert pool.request("POST", "/", body=BODY).data == b"ok"


def test_installed_from_many_threads_at_once(tap: typing.Any) -> None:
    server = tap()
    threads = [threading.Thread(target=onewrite.install) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    post(urllib3.PoolManager(), server.url())
    assert mode(one.segments for one in server.seen) == 1
    onewrite.uninstall()
    assert onewrite.status()["patches"] == []


@pytest.mark.parametrize("first", ["onewrite", "tracer"])
def test_a_wrapper_that_stays_after_uninstall(first: str, tap: typing.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = tap()
    stock = urllib3.HTTPConnectionPool.urlopen
    records: list[onewrite.Record] = []

    def wrap() -> None:
        below = urllib3.HTTPConnectionPool.urlopen

        @functools.wraps(below)
        def wrapper(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            return below(*args, **kwargs)

        monkeypatch.setattr(urllib3.HTTPConnectionPool, "urlopen", wrapper)

    steps: dict[str, typing.Callable[[], object]] = {
        "onewrite": lambda: onewrite.install(on_timing=records.append),
        "tracer": wrap,
    }
    for name in (first, *(steps.keys() - {first})):
        steps[name]()
    http = urllib3.PoolManager()
    post(http, server.url(), 2)
    assert len(records) == 2
    onewrite.uninstall()
    post(http, server.url(), 2)
    assert len(records) == 2
    left = onewrite.status()["patches"]
    assert left == (["urllib3.connectionpool.HTTPConnectionPool.urlopen"] if first == "onewrite" else [])
    onewrite.install(on_timing=records.append)
    post(http, server.url(), 2)
    assert len(records) == 4, "once each"
    monkeypatch.undo()
    onewrite.uninstall()
    assert urllib3.HTTPConnectionPool.urlopen is stock


# -- imports, copies, forks -----------------------------------------------------------------------------


def test_urllib3_is_imported_by_the_program(tap: typing.Any) -> None:
    pytest.importorskip("httpx")
    server = tap()
    program = (
        "import sys, onewrite, onewrite.httpx, onewrite.opentelemetry\n"
        "onewrite.install(on_timing=lambda record: print(record.writes))\n"
        "onewrite.httpx.install(lambda record: print(record.status))\n"
        "assert not {'urllib3', 'httpx', 'ssl', 'requests'} & set(sys.modules), sorted(sys.modules)\n"
        "print(onewrite.status()['off_because'])\n"
        "import urllib3, httpx\n"
        "assert onewrite.status()['enabled']\n"
        "urllib3.PoolManager().request('POST', sys.argv[1], body=b'x')\n"
        "httpx.get(sys.argv[1], trust_env=False)\n"
        "onewrite.uninstall(); onewrite.httpx.uninstall()\n"
        "assert not any('onewrite' in type(finder).__module__ for finder in sys.meta_path)\n"
    ).replace(", onewrite.opentelemetry", "")
    done = run(program, server.url())
    assert done.stdout.split() == ["urllib3", "is", "not", "imported", "yet", "1", "200"], done.stderr


def test_an_unsupported_urllib3_that_is_imported_later_is_left_alone() -> None:
    program = (
        "import onewrite; onewrite.install()\n"
        "import importlib.abc\n"
        "import urllib3._version; urllib3\n"
        "print(onewrite.status()['enabled'])\n"
    )
    patched = "import onewrite._errors, sys, types\n" + program.replace(
        "import urllib3._version; urllib3",
        "sys.modules['onewrite._patches'] = patches = types.ModuleType('onewrite._patches')\n"
        "def apply(hooks): raise onewrite.UnsupportedBaseError('too new')\n"
        "patches.apply, patches.other_copy, patches.applied, onewrite._patches = apply, False, list, patches\n"
        "import urllib3",
    )
    done = run(patched)
    assert done.stdout == "False\n", done.stderr
    assert "too new" in done.stderr


def test_a_second_copy_stays_off(tap: typing.Any) -> None:
    pytest.importorskip("httpx")
    server = tap()
    program = (
        "import sys, urllib3, httpx\n"
        "records = []\n"
        "for _ in range(2):\n"
        "    for name in [name for name in sys.modules if name.split('.')[0] == 'onewrite']: del sys.modules[name]\n"
        "    import onewrite, onewrite.httpx\n"
        "    onewrite.install(on_timing=records.append); onewrite.install(); onewrite.httpx.install(records.append)\n"
        "for _ in range(2): urllib3.PoolManager().request('POST', sys.argv[1], body=b'x')\n"
        "onewrite.PoolManager().request('GET', sys.argv[1])\n"
        "httpx.get(sys.argv[1], trust_env=False)\n"
        "print(len(records), onewrite.status()['off_because'])\n"
        "onewrite.uninstall()\n"
        "urllib3.PoolManager().request('POST', sys.argv[1], body=b'x')\n"
        "print(len(records))\n"
    )
    done = run(program, server.url())
    assert done.stdout == "4 another copy of onewrite has patched urllib3\n5\n", done.stderr
    assert done.stderr.count("stays off") == 2  # of urllib3, and of httpx


@pytest.mark.filterwarnings("ignore")  # eventlet warns of any fork, once imported
def test_a_session_that_was_used_before_the_fork(tap: typing.Any) -> None:
    server = tap()
    http = urllib3.PoolManager()
    records: list[onewrite.Record] = []
    onewrite.install(on_timing=records.append)
    post(http, server.url(), 2)
    child = os.fork()
    if not child:
        records.clear()
        post(http, server.url(), 3)
        os._exit(0 if [record.reused for record in records] == [True] * 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(records) == 2


# -- exporters ------------------------------------------------------------------------------------------


def test_what_a_hook_starts_in_its_context_makes_no_record(tap: typing.Any) -> None:
    import concurrent.futures
    import contextvars

    server = tap()
    exports: list[concurrent.futures.Future[None]] = []
    with concurrent.futures.ThreadPoolExecutor(1) as executor:

        def export(record: onewrite.Record) -> None:
            urllib3.PoolManager().request("POST", server.url("/collector"), body=b"x")

        def hook(record: onewrite.Record) -> None:
            exports.append(executor.submit(contextvars.copy_context().run, export, record))

        onewrite.install(on_timing=hook)
        post(urllib3.PoolManager(), server.url(), 3)
        for one in exports:
            one.result()
    assert len(exports) == 3


def test_a_tracer_that_puts_back_what_it_saved(tap: typing.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pool_class = urllib3.connectionpool.HTTPConnectionPool
    saved = pool_class.urlopen
    records: list[onewrite.Record] = []
    onewrite.install(records.append)
    ours = pool_class.urlopen

    def tracer(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        return ours(*args, **kwargs)

    monkeypatch.setattr(pool_class, "urlopen", tracer)
    onewrite.uninstall()
    monkeypatch.setattr(pool_class, "urlopen", saved)
    onewrite.install(records.append)
    server = tap()
    with urllib3.PoolManager() as http:
        http.request("POST", server.url(), body=b"x")
    assert onewrite.status()["enabled"]
    assert len(records) == 1
    onewrite.uninstall()


OTHER_MODULES = """
import pathlib, sys, types
import onewrite, onewrite.httpx
sys.modules["httpx"] = None
onewrite.httpx.install(print)
onewrite.httpx.uninstall()
sys.modules["httpx"] = types.ModuleType("httpx")
onewrite.httpx.install(print)
onewrite.httpx.uninstall()
del sys.modules["httpx"]
pathlib.Path(sys.argv[1], "httpx.py").write_text("class HTTPTransport: pass")
sys.path.insert(0, sys.argv[1])
onewrite.httpx.install(print)
import httpx
sys.modules["urllib3"] = types.ModuleType("urllib3")
try:
    onewrite.install()
except onewrite.UnsupportedBaseError:
    print("refused")
sys.modules["urllib3"] = None
onewrite.install()
"""


def test_another_module_of_the_name_of_a_base_library(tmp_path: typing.Any) -> None:
    done = run(OTHER_MODULES, str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
    assert done.stderr.count("this httpx is not supported") == 2
