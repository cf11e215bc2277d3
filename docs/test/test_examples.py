"""Each language's example service runs as it stands, behind a real HAProxy: one segment and one record per POST."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from onewrite_lab.tap import Answer, Script, Tap
from snippets import LINE, ROOT, SHORT_LIVED, classes, haproxy_ports

TIMES = 20
DEADLINE_S = 120


@pytest.fixture(scope="module")
def haproxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a HAProxy frontend that waits for the body: a split POST stalls there."""
    with Tap(Script(answers=[Answer(body={"text": "{}"})])) as origin:
        with haproxy_ports(origin.port, tmp_path_factory.mktemp("haproxy")) as ports:
            yield ports["stalls"]


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def java() -> list[str]:
    jars = ROOT / "docs" / "test" / "java" / "target" / "libs"
    if not jars.is_dir():
        pytest.skip("the jars are not here: make -C docs recipes-setup")
    path = os.pathsep.join([f"{jars}/*", *classes()])
    return [program("java"), *SHORT_LIVED, "-cp", path, str(ROOT / "java" / "examples" / "OrderService.java")]


COMMANDS: dict[str, Callable[[], list[str]]] = {
    "python": lambda: [str(ROOT / "docs" / ".venv" / "bin" / "python"), str(ROOT / "python" / "examples" / "service.py")],
    "ruby": lambda: [program("ruby"), "-I", str(ROOT / "ruby" / "lib"), str(ROOT / "ruby" / "examples" / "service.rb")],
    "node": lambda: [program("node"), str(ROOT / "node" / "examples" / "service.js")],
    "java": java,
}


@contextlib.contextmanager
def service(language: str, upstream: int, folder: Path) -> Iterator[tuple[http.client.HTTPConnection, Path]]:
    """A connection to the running service, and the file it logs into."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith("ONEWRITE_") and not key.lower().endswith("_proxy")}
    env |= {"PORT": "0", "UPSTREAM": f"http://127.0.0.1:{upstream}/orders", "PYTHONPATH": str(ROOT / "python" / "src")}
    output, errors = folder / "stdout", folder / "stderr"
    with output.open("w") as out, errors.open("w") as err:
        process = subprocess.Popen(COMMANDS[language](), stdout=out, stderr=err, env=env, cwd=folder)
    try:
        deadline = time.monotonic() + DEADLINE_S
        while not (match := re.search(r"^listening on (http://\S+)\n", output.read_text())):
            assert process.poll() is None, errors.read_text()[-2000:]
            assert time.monotonic() < deadline, "it did not say where it listens"
            time.sleep(0.05)
        connection = http.client.HTTPConnection(urlsplit(match[1]).netloc, timeout=DEADLINE_S)
        try:
            yield connection, output
        finally:
            connection.close()
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def segments_out(port: int) -> int:
    """Data segments that clients on this machine have sent to the port so far, as the kernel counts them."""
    command = [program("ss"), "-tinH", "dst", "127.0.0.1", "and", "dport", "=", f":{port}"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout
    return sum(map(int, re.findall(r"\bdata_segs_out:(\d+)", shown)))


@pytest.mark.parametrize("language", COMMANDS)
def test_the_service_posts_in_one_segment_and_logs_the_record(language: str, haproxy: int, tmp_path: Path) -> None:
    order = json.dumps({"item": "tea", "note": "x" * 200}).encode()
    counts = []
    with service(language, haproxy, tmp_path) as (connection, output):
        for _ in range(TIMES):
            before = segments_out(haproxy)
            connection.request("POST", "/orders", order, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, b"{}")
            counts.append(segments_out(haproxy) - before)
        # The record may be printed a moment after the answer has gone out.
        deadline = time.monotonic() + DEADLINE_S
        while len(lines := output.read_text().splitlines()[1:]) < TIMES and time.monotonic() < deadline:
            time.sleep(0.05)
    assert statistics.mode(counts) == 1, counts
    assert len(lines) == TIMES, lines[-3:]
    for line in lines:
        if language == "java":
            assert re.match(LINE, line), line
        else:
            assert json.loads(line)["outcome"] == "ok"


@pytest.mark.nightly
@pytest.mark.parametrize("language", COMMANDS)
def test_the_service_answers_502_when_nothing_listens_upstream(language: str, tmp_path: Path) -> None:
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connecting is refused
        with service(language, taken.getsockname()[1], tmp_path) as (connection, output):
            connection.request("POST", "/orders", b"{}")
            answer = connection.getresponse()
            assert answer.status == 502
            assert b"error" in answer.read()
            deadline = time.monotonic() + DEADLINE_S
            while not (lines := output.read_text().splitlines()[1:]) and time.monotonic() < deadline:
                time.sleep(0.05)
    assert lines and "connect" in lines[0]
