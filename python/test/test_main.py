"""``python -m onewrite``, and workers that call install() themselves."""

from __future__ import annotations

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


def test_status() -> None:
    done = run("-m", "onewrite", "status")
    assert done.returncode == 0, done.stderr
    assert "\n  urllib3.connection.HTTPConnection.request\n" in done.stdout
    found = json.loads(run("-m", "onewrite", "status", "--json").stdout)
    assert found["version"] == onewrite.__version__
    assert (found["enabled"], found["off_because"]) == (True, None)
    assert found["base"] == {"name": "urllib3", "version": urllib3.__version__}
    off = json.loads(run("-m", "onewrite", "status", "--json", ONEWRITE_DISABLED="yes").stdout)
    assert (off["enabled"], off["off_because"], off["patches"]) == (False, "ONEWRITE_DISABLED is set", [])


PROGRAM = """
import sys, urllib3
assert __name__ == "__main__"
import beside
http = urllib3.PoolManager()
for _ in range(20):
    http.request("POST", sys.argv[1], body=b"x" * 200)
print(sys.argv)
"""


@pytest.mark.parametrize("how", ["script", "module", "zip file", pytest.param("folder", marks=pytest.mark.nightly)])
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


GREEN = """
import sys
if sys.argv[1] == "gevent":
    from gevent import monkey; monkey.patch_all()
else:
    import eventlet; eventlet.monkey_patch()
import urllib3
http = urllib3.PoolManager(ca_certs=sys.argv[3])
for _ in range(3):
    print(http.request("POST", sys.argv[2], body=b"x" * 200).status)
"""


@pytest.mark.parametrize("kind", ["gevent", pytest.param("eventlet", marks=pytest.mark.nightly)])
def test_a_program_that_patches_the_standard_library_first(
    kind: str, tap: typing.Any, authority: typing.Any, tmp_path: pathlib.Path
) -> None:
    pytest.importorskip(kind)
    server = tap(tls=True)
    (tmp_path / "app.py").write_text(GREEN)
    done = run(
        "-W", "ignore", "-m", "onewrite", "run", "--timing", "app.py", kind, server.url(), authority.pem, cwd=tmp_path
    )
    assert done.stdout == "200\n" * 3, done.stderr
    assert done.stderr.count("POST https://") == 3
    assert [one.records for one in server.seen] == [1, 1, 1]


JOBS = """
import concurrent.futures, atexit, pickle, sys

def job(number):
    return number * 2

def at_end():
    assert sys.modules["__main__"].job is job
    print(pickle.loads(pickle.dumps(job))(21))

if __name__ == "__main__":
    atexit.register(at_end)
    pool = concurrent.futures.ProcessPoolExecutor(1)
    print(pool.submit(job, 4).result())
"""


@pytest.mark.parametrize("how", ["script", "module"])
def test_main_is_the_programs_until_the_process_ends(how: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "jobs.py").write_text(JOBS)
    done = run("-m", "onewrite", "run", *(["-m", "jobs"] if how == "module" else ["jobs.py"]), cwd=tmp_path)
    assert done.stdout == "8\n42\n", done.stderr
    for missing in (["-m", "not_there"], ["not_there.py"]):
        done = run("-m", "onewrite", "run", *missing, cwd=tmp_path)
        assert done.returncode == 1
        assert "not_there" in done.stderr
        assert "Traceback" not in done.stderr


WORKERS = """
import concurrent.futures, multiprocessing, sys
import onewrite

def post(url):
    import urllib3
    http = urllib3.PoolManager()
    for _ in range(20):
        http.request("POST", url, body=b"x" * 200)
    return onewrite.status()["enabled"]

if __name__ == "__main__":
    if sys.argv[2] == "fork":
        onewrite.install()
    context = multiprocessing.get_context(sys.argv[2])
    more = {} if sys.argv[2] == "fork" else {"initializer": onewrite.install}
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context, **more) as workers:
        print(workers.submit(post, sys.argv[1]).result())
"""


@pytest.mark.parametrize("method", ["fork", "spawn", pytest.param("forkserver", marks=pytest.mark.nightly)])
def test_install_in_each_worker_of_multiprocessing(method: str, tap: typing.Any, tmp_path: pathlib.Path) -> None:
    """The recipe of docs/recipes.md."""
    (tmp_path / "workers.py").write_text(WORKERS)
    server = tap()
    done = run("workers.py", server.url(), method, cwd=tmp_path)
    assert done.stdout == "True\n", done.stderr
    assert mode(one.segments for one in server.seen) == 1


def test_a_program_gets_its_arguments_as_they_stand(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import sys; print(sys.argv[1:])")
    done = run("-m", "onewrite", "run", str(script), "--", "x", "--timing", "-m")
    assert done.stdout == "['--', 'x', '--timing', '-m']\n", done.stderr
