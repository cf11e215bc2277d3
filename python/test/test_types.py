"""What type checkers say of a user's program."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import typing

import pytest

PROGRAM = """\
import typing

import httpcore
import httpx
import requests
import urllib3.connection

import onewrite
import onewrite.httpx
import onewrite.requests


def shown(timing: onewrite.Timing) -> None:
    print(timing.wait_ns, timing.attempts[-1].status, timing.cause)


class Shown(onewrite.TimingListener):
    def on_headers_end(self, event: onewrite.Event) -> None:
        print(event.timing)


installed: onewrite.Installation = onewrite.install(on_timing=shown, listener=Shown(), coalesce_max=0)
installed.remove()
manager: urllib3.PoolManager = onewrite.PoolManager(4, on_timing=shown, retries=False, timeout=3.0, maxsize=2)
status: int = manager.request("GET", "http://127.0.0.1/").status
proxied: urllib3.ProxyManager = onewrite.ProxyManager("http://127.0.0.1/", quickack=True)
pool: urllib3.HTTPConnectionPool = onewrite.HTTPSConnectionPool("127.0.0.1", 443, listener=Shown(), block=True)
connection: urllib3.connection.HTTPConnection = onewrite.HTTPSConnection("127.0.0.1", 443)
session = requests.Session()
session.mount("https://", onewrite.requests.Adapter(pool_maxsize=4, on_timing=shown))
onewrite.httpx.install(on_timing=shown, listener=Shown(), quickack=True).remove()
limits = httpx.Limits(max_connections=1)
client = httpx.Client(transport=onewrite.httpx.Transport(False, limits=limits, proxy="http://a", on_timing=shown))
later = httpx.AsyncClient(transport=onewrite.httpx.AsyncTransport(retries=1, coalesce_max=0))
core: httpcore.ConnectionPool = onewrite.httpx.ConnectionPool(max_connections=1, listener=Shown())


class Manager(onewrite.PoolManager):
    def urlopen(  # type: ignore[override]
        self, method: str, url: str, redirect: bool = True, **kw: typing.Any
    ) -> urllib3.response.BaseHTTPResponse:
        return super().urlopen(method, url, redirect=redirect, **kw)


class Pool(onewrite.HTTPConnectionPool):
    def urlopen(  # type: ignore[override]
        self, method: str, url: str, **kw: typing.Any
    ) -> urllib3.response.BaseHTTPResponse:
        return super().urlopen(method, url, **kw)


class Connection(onewrite.HTTPConnection):
    def request(self, method: str, url: str, *args: typing.Any, **kw: typing.Any) -> None:
        return super().request(method, url, *args, **kw)

    def getresponse(self) -> urllib3.response.HTTPResponse:  # type: ignore[override]
        return super().getresponse()


response: urllib3.response.BaseHTTPResponse = pool.urlopen("GET", "/", retries=False, preload_content=False)
answer: urllib3.response.HTTPResponse = connection.getresponse()
"""

WRONG = """\
onewrite.install(on_timming=shown)
onewrite.install(coalesce_max="all")
onewrite.httpx.install(on_timming=shown)
onewrite.httpx.install(coalesce_max="all")
manager.requets("GET", "http://127.0.0.1/")
pool.urlopen("GET")
connection.request("GET")
number: int = connection.getresponse()
"""

COMMANDS = {
    "mypy": [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir"],
    "pyright": [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
}


@pytest.mark.drawn
@pytest.mark.timeout(600)
@pytest.mark.parametrize("checker", COMMANDS)
def test_a_program_is_accepted_and_each_mistake_in_it_found(checker: str, tmp_path: pathlib.Path) -> None:
    pytest.importorskip(checker)
    if checker == "pyright" and shutil.which("node") is None:
        pytest.skip("pyright needs node")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + WRONG)
    command = [*COMMANDS[checker], *([str(tmp_path / "cache")] if checker == "mypy" else []), str(program)]
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done: typing.Any = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    found = {int(line) for line in re.findall(r"program\.py:(\d+)(?::\d+)?(?: -|:) error", done.stdout)}
    first = PROGRAM.count("\n") + 1
    assert found == set(range(first, first + WRONG.count("\n"))), done.stdout + done.stderr
