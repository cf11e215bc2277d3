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
from onewrite import _base, _install
from tap import mode


class BoundEarlier(urllib3.connection.HTTPConnection):
    """As botocore, docker and vcrpy do it: a subclass made before install()."""


def originals() -> list[typing.Any]:
    return [owner.__dict__.get(name) for owner, name, _ in _install._patches(True, True)]


def test_undone_without_a_trace() -> None:
    before = originals()
    names = set(vars(urllib3.connection.HTTPConnection))
    onewrite.install()
    onewrite.install(coalesce_max=100)
    assert originals() != before
    onewrite.uninstall()
    onewrite.uninstall()
    assert originals() == before
    assert {name for name in set(vars(urllib3.connection.HTTPConnection)) - names if "onewrite" not in name} == set()


def test_reaches_subclasses_bound_before(tap: typing.Any) -> None:
    server = tap()

    class Pool(urllib3.HTTPConnectionPool):
        ConnectionCls = BoundEarlier

    pool = Pool("127.0.0.1", server.port)
    pool.request("POST", "/", body=b"x" * 200)
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


def test_installed_and_undone_while_threads_send(tap: typing.Any) -> None:
    server = tap()
    pool = urllib3.HTTPConnectionPool("127.0.0.1", server.port, maxsize=4, block=True)
    stop = threading.Event()
    failures: list[BaseException] = []

    def send() -> None:
        while not stop.is_set():
            try:
                assert pool.request("POST", "/", body=b"x" * 200, retries=False).status == 200
            except BaseException as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        onewrite.install()
        onewrite.uninstall()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert all(one.body == b"x" * 200 for one in server.seen)


@pytest.mark.parametrize("version", ["3.0.0", "1.25.11", "0.9", "2.25.904", "1.26.903", "nonsense"])
def test_unknown_versions_are_refused_and_nothing_changes(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = originals()
    monkeypatch.setattr(urllib3, "__version__", version)
    with pytest.raises(onewrite.UnsupportedBaseError, match=r"urllib3"):
        onewrite.install()
    assert originals() == before


@pytest.mark.parametrize("version", ["1.26.0", "1.26.20", "2.0.7", "2.99.1"])
def test_known_versions(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib3, "__version__", version)
    assert _base.unsupported() is None


@pytest.mark.parametrize(
    ("keywords", "error"),
    [
        ({"coalesce_max": 16385}, ValueError),
        ({"coalesce_max": -1}, ValueError),
        ({"coalesce_max": "100"}, TypeError),
        ({"quickack": "true"}, TypeError),
        ({"no_such_option": True}, TypeError),
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


PROGRAM = """
import logging, socket, sys, urllib3, onewrite
logging.basicConfig(level=logging.WARNING)
records = []
onewrite.install(on_timing=records.append)
http = urllib3.PoolManager()
own = onewrite.PoolManager(on_timing=records.append)
for _ in range(20):
    http.request("POST", sys.argv[1], body=b"x" * 200)
for _ in range(20):
    own.request("POST", sys.argv[1], body=b"x" * 200)
print(len(records), urllib3.connection.HTTPConnection.request.__module__)
"""


def run(url: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, url],
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
        timeout=60,
        check=True,
    )


@pytest.mark.parametrize(
    ("environment", "segments", "records"),
    [
        ({}, [1, 1], "40"),
        ({"ONEWRITE_DISABLED": "True"}, [2, 2], "0"),
        ({"ONEWRITE_COALESCE_DISABLED": "true"}, [2, 2], "40"),
        ({"ONEWRITE_HOOKS_DISABLED": "TRUE"}, [1, 1], "0"),
        ({"ONEWRITE_DISABLED": "1"}, [1, 1], "40"),
        ({"ONEWRITE_DISABLED": ""}, [1, 1], "40"),
        ({"ONEWRITE_COALESCE_MAX": "many"}, [1, 1], "40"),
    ],
)
def test_switches_of_the_environment(
    environment: dict[str, str], segments: list[int], records: str, tap: typing.Any
) -> None:
    server = tap()
    done = run(server.url(), **environment)
    assert [mode(one.segments for one in server.seen[half : half + 20]) for half in (0, 20)] == segments
    assert done.stdout.split()[0] == records
    bad = [name for name, value in environment.items() if value in ("1", "many")]
    assert done.stderr.count("is ignored") == len(bad)
    if environment.get("ONEWRITE_DISABLED") == "True":
        assert done.stdout.split()[1] == "urllib3.connection"
