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

import requests
import urllib3.connection

import onewrite
import onewrite.httpx
import onewrite.opentelemetry
import onewrite.requests


def shown(record: onewrite.Record) -> None:
    wait: int | None = record.wait_ns
    print(wait, record.status, record.cause, record.kernel and record.kernel.unread_ns, record.events[0][1])


remove: typing.Callable[[], None] = onewrite.install(on_timing=shown, observe=True)
remove()
manager: urllib3.PoolManager = onewrite.PoolManager(4, on_timing=shown, retries=False, timeout=3.0, maxsize=2)
status: int = manager.request("GET", "http://127.0.0.1/").status
proxied: urllib3.ProxyManager = onewrite.ProxyManager("http://127.0.0.1/", quickack=True)
session = requests.Session()
session.mount("https://", onewrite.requests.Adapter(pool_maxsize=4, on_timing=shown))
onewrite.httpx.install(on_timing=shown)()
onewrite.install(onewrite.opentelemetry.hook())
state: dict[str, typing.Any] = onewrite.status()


class Manager(onewrite.PoolManager):
    def urlopen(  # type: ignore[override]
        self, method: str, url: str, redirect: bool = True, **kw: typing.Any
    ) -> urllib3.response.BaseHTTPResponse:
        return super().urlopen(method, url, redirect=redirect, **kw)
"""

WRONG = """\
onewrite.install(on_timming=shown)
onewrite.install(observe="all")
onewrite.httpx.install(on_timming=shown)
manager.requets("GET", "http://127.0.0.1/")
number: str = onewrite.Record.wait_ns
"""

COMMANDS = {
    "mypy": [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir"],
    "pyright": [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
}


@pytest.mark.nightly
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
