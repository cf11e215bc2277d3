"""``python -m onewrite``, and workers that call install() themselves."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess
import sys
import typing
import zipapp

import pytest
import urllib3

import onewrite
from tap import mode


def run(*arguments: str, cwd: pathlib.Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_status_says_what_is_patched() -> None:
    done = run("-m", "onewrite", "status")
    assert done.returncode == 0, done.stderr
    assert "urllib3.connection.HTTPConnection.__init__: patched" in done.stdout
    found = json.loads(run("-m", "onewrite", "status", "--json").stdout)
    assert found["version"] == onewrite.__version__
    assert found["enabled"]
    assert found["off_because"] is None
    assert found["base"] == {"name": "urllib3", "version": urllib3.__version__}
    assert found["patches"]["urllib3.poolmanager.PoolManager.urlopen"] == "patched"


def test_status_says_what_is_off() -> None:
    off = json.loads(run("-m", "onewrite", "status", "--json", ONEWRITE_DISABLED="yes").stdout)
    assert not off["enabled"]
    assert off["off_because"] == "ONEWRITE_DISABLED is set"
    assert off["options"]["nodelay_disabled"]
    assert set(off["patches"].values()) == {"stock"}


def test_status_of_a_function_that_somebody_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "urllib3.poolmanager.PoolManager.urlopen"
    onewrite.install(on_timing=print)
    with monkeypatch.context() as patching:
        below = urllib3.PoolManager.urlopen
        wrapper = functools.wraps(below)(functools.partial(below))
        patching.setattr(urllib3.PoolManager, "urlopen", wrapper)
        assert onewrite.status().patches[name] == "patched"
        onewrite.uninstall()
        after = onewrite.status()
        assert (after.off_because, after.patches[name]) == ("not installed", "idle")
        assert after.patches["urllib3.connection.HTTPConnection.__init__"] == "stock"
    onewrite.install()  # the wrapper is gone: what is below it can be put back


PROGRAM = """
import sys, urllib3
assert __name__ == "__main__"
import beside
http = urllib3.PoolManager()
for _ in range(20):
    http.request("POST", sys.argv[1], body=b"x" * 200)
print(sys.argv)
"""


@pytest.mark.parametrize("how", ["script", "module", "zip file", "folder"])
def test_run_starts_a_program(how: str, tap: typing.Any, tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "beside.py").touch()
    server = tap()
    what = ["-m", "program"] if how == "module" else ["program.py"]
    if how in ("zip file", "folder"):
        (tmp_path / "app").mkdir()
        (tmp_path / "program.py").rename(tmp_path / "app" / "__main__.py")
        (tmp_path / "beside.py").rename(tmp_path / "app" / "beside.py")
        what = ["app"]
        if how == "zip file":
            zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz")
            what = ["app.pyz"]
    done = run("-m", "onewrite", "run", "--timing", *what, server.url(), "--flag", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert mode(one.segments for one in server.seen) == 1
    assert done.stdout.strip().endswith(f"'{server.url()}', '--flag']")
    assert done.stderr.count("POST http://127.0.0.1") == 20


WORKERS = """
import concurrent.futures, multiprocessing, sys
import onewrite

def post(url):
    import urllib3
    http = urllib3.PoolManager()
    for _ in range(20):
        http.request("POST", url, body=b"x" * 200)
    return onewrite.status().enabled

if __name__ == "__main__":
    if sys.argv[2] == "fork":
        onewrite.install()
    context = multiprocessing.get_context(sys.argv[2])
    more = {} if sys.argv[2] == "fork" else {"initializer": onewrite.install}
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context, **more) as workers:
        print(workers.submit(post, sys.argv[1]).result())
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_install_in_each_worker_of_multiprocessing(method: str, tap: typing.Any, tmp_path: pathlib.Path) -> None:
    """The recipe of docs/recipes.md."""
    (tmp_path / "workers.py").write_text(WORKERS)
    server = tap()
    done = run("workers.py", server.url(), method, cwd=tmp_path)
    assert done.stdout == "True\n", done.stderr
    assert mode(one.segments for one in server.seen) == 1
