"""What onewrite touches in a process: the list of spec/testdata/footprint/python.yaml, and nothing else (FOOT)."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import typing

import pytest

import footprint
from tap import Tap, reply

HERE = pathlib.Path(__file__).parent

BEGIN = """
import gc, io, os, sys, weakref
sys.path.insert(0, sys.argv[1])
url = sys.argv[2]
import asyncio, logging, socket, ssl, requests, httpcore, httpx, urllib3, urllib3.connection
from footprint import *
http = urllib3.PoolManager(); http.request("GET", url); http.request("GET", url)  # what they do once
requests.get(url); httpx.get(url, trust_env=False)
asyncio.run(httpx.AsyncClient(trust_env=False).get(url))
try: import httpx2  # else install() waits for it
except ImportError: pass
watch_forks()
gc.collect()
before = process()
def changed(since=None):
    return public(difference(before if since is None else since, process()))
def same(found, expected):
    assert found == expected, (sorted(found ^ expected), "found" if found - expected else "missing")
"""

PROCESS = """
import onewrite, onewrite.requests, onewrite.httpx
same(changed(), set())
onewrite.install()
same(changed(), listed("install", prefix="urllib3"))
removed = [onewrite.install(on_timing=str), onewrite.httpx.install(str)]
same(changed(), listed("install", "hook"))
hooked = process()
http, client = urllib3.PoolManager(), httpx.Client(trust_env=False)
for _ in range(3):
    http.request("POST", url, body=b"x"); http.request("GET", url, preload_content=False).read()
    requests.post(url, data=b"x"); client.post(url, content=b"x")
    asyncio.run(httpx.AsyncClient(trust_env=False).post(url, content=b"x"))
    try: http.request("GET", "http://127.0.0.1:1/", retries=False)
    except urllib3.exceptions.HTTPError: pass
same(changed(hooked), set())
for remove in removed: remove()
same(changed(), listed("install"))
onewrite.uninstall(); onewrite.httpx.uninstall()
same(changed(), set())
http.request("POST", url, body=b"x")
same(changed(), set())
onewrite.PoolManager(on_timing=str).request("POST", url, body=b"x")
onewrite.uninstall()
same(changed(), listed("install", "hook", "connect", prefix="urllib3"))
"""

SWITCHED_OFF = """
os.environ["ONEWRITE_DISABLED"] = "1"
before = process()
import onewrite, onewrite.requests, onewrite.httpx
onewrite.install(on_timing=print); onewrite.httpx.install(on_timing=print)
for http in (onewrite.PoolManager(on_timing=print), urllib3.PoolManager()):
    http.request("POST", url, body=b"x")
    pool = http.connection_from_url(url)
    assert type(pool) is urllib3.HTTPConnectionPool and type(pool.pool.queue[-1]) is urllib3.connection.HTTPConnection
    assert not any("onewrite" in name for one in (pool, pool.pool.queue[-1]) for name in vars(one))
httpx.Client(trust_env=False).post(url, content=b"x")
same(changed(), set())
"""

CALLS = """
import onewrite, onewrite.httpx
class Text(io.BytesIO): pass
class Fields(dict): pass
onewrite.install(on_timing=lambda timing: None)
onewrite.httpx.install(on_timing=lambda timing: None)
own = onewrite.PoolManager(on_timing=lambda timing: None)
client = httpx.Client(trust_env=False)
stock = urllib3.PoolManager()
def calls():
    for http in (stock, own):
        for preload in (True, False):
            body, fields = Text(b"x"), Fields(a="b")
            response = http.request("POST", url, body=body, headers=fields, preload_content=preload)
            response.read(); response.release_conn()
            yield weakref.ref(body), weakref.ref(fields), weakref.ref(response)
            del body, fields, response
        response = http.request("GET", url, preload_content=False)
        response.close()
        del response
        try: http.request("GET", "http://127.0.0.1:1/", retries=1)
        except urllib3.exceptions.HTTPError: pass
    body = Text(b"x")
    response = client.post(url, content=body)
    yield weakref.ref(body), weakref.ref(response)
kept = list(calls())
leftover = [ref() for refs in kept for ref in refs if gc.collect() >= 0 and ref() is not None]
assert not leftover, leftover
found = alive("Record", "_Exchange")
assert not found, found
"""

OBJECTS = """
import onewrite
def seen(manager):
    response = manager.request("GET", url, preload_content=False)
    pool = manager.connection_from_url(url)
    reading = set(vars(response))
    response.read(); response.release_conn()
    conn = pool.pool.queue[-1]
    inner = response._original_response
    return {"reading": reading, "response": set(vars(response)), "pool": set(vars(pool)), "conn": set(vars(conn)),
            "inner": set(vars(inner)), "sock": set(getattr(conn.sock, "__dict__", ()))}
stock = seen(urllib3.PoolManager())
onewrite.install(on_timing=lambda timing: None)
ours = seen(urllib3.PoolManager())
more = {name: ours[name] - stock[name] for name in stock}
assert all(stock[name] <= ours[name] for name in stock), (stock, ours)
assert more["response"] == more["inner"] == more["sock"] == set(), more
assert {name for names in more.values() for name in names} <= {"_onewrite"}, more
"""

IDLE = """
import tracemalloc
COUNT = 100
def cost(hooks):
    if hooks:
        import onewrite
        onewrite.install(on_timing=lambda timing: None)
    pool = urllib3.PoolManager(maxsize=COUNT).connection_from_url(url)
    def grow(count):
        held = [pool.request("GET", "/", preload_content=False) for _ in range(count)]
        for one in held: one.read()
    grow(2)
    gc.collect(); tracemalloc.start()
    grow(COUNT); grow(COUNT)
    gc.collect()
    found = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return found / (COUNT - 2)
stock, ours = cost(False), cost(True)
print(f"{ours - stock:.0f} bytes per idle connection beside stock's {stock:.0f}")
assert ours - stock <= 1024, (ours, stock)
"""

#: What is left behind on purpose, and must show.
MUTANTS = {
    "a callback of the collector": "gc.callbacks.append(lambda *_: None)",
    "a function at fork": "os.register_at_fork(after_in_child=lambda: None)",
    "a function at exit": "import atexit; atexit.register(print)",
    "a replaced method": "urllib3.HTTPConnectionPool.urlopen = lambda *_: None",
    "a new method": "urllib3.HTTPResponse.extra = print",
    "a replaced function": "socket.create_connection = print",
    "an ancestor": "class A(urllib3.Retry): pass\nurllib3.util.retry.Retry = A",
    "a signal handler": "import signal; signal.signal(signal.SIGUSR1, lambda *_: None)",
    "a hook of the interpreter": "sys.excepthook = print",
    "a log handler": "logging.getLogger().addHandler(logging.NullHandler())",
    "a thread": "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "a variable of the environment": "os.environ['A'] = 'b'",
}


def run(program: str, tap: typing.Callable[..., Tap]) -> subprocess.CompletedProcess[str]:
    server = tap(lambda peer, seen: peer.send(reply()))
    environment = {name: value for name, value in os.environ.items() if "ONEWRITE" not in name}
    return subprocess.run(
        [sys.executable, "-c", BEGIN + program, str(HERE), server.url()],
        env=environment, capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(PROCESS, id="process"),
        pytest.param(SWITCHED_OFF, id="switched off"),
        pytest.param(CALLS, id="calls"),
        pytest.param(OBJECTS, id="objects"),
        pytest.param(IDLE, id="idle", marks=pytest.mark.nightly),
    ],
)
def test_nothing_else_is_touched(program: str, tap: typing.Any) -> None:
    for package in ("httpx", "requests"):
        pytest.importorskip(package)
    done = run(program, tap)
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_what_is_left_behind_shows(tap: typing.Any) -> None:
    for package in ("httpx", "requests"):
        pytest.importorskip(package)
    program = "".join(f"before = process()\n{mutant}\nassert changed(), {name!r}\n" for name, mutant in MUTANTS.items())
    done = run(program, tap)
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_a_record_that_is_kept_shows(tap: typing.Any) -> None:
    pytest.importorskip("httpx")
    kept = CALLS.replace("install(on_timing=lambda timing: None)", "install(on_timing=[].append)")
    done = run(kept, tap)
    assert "AssertionError" in done.stderr


def test_the_list() -> None:
    found = footprint.mechanisms()
    assert 0 < len(found) <= 8
    for one in found:
        assert one.keys() == {"name", "kind", "when", "back", "why"}
        assert one["when"] in ("import", "install", "hook", "call", "connect")
        assert len(one["why"].split()) <= 25, one["why"]
