"""A driver that hangs, prints noise, exits or replies nonsense is reported as a fault of the driver, never of the library."""

from __future__ import annotations

import sys
import textwrap
import time
from pathlib import Path

import pytest
from onewrite_lab.tap.server import Tap

from conftest import JOINED
from onewrite_conformance.contract.cases import Case
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped, OpenRefused, misfit
from onewrite_conformance.run.adapters import Adapter
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.result import Status

PRELUDE = """
import json, os, sys, time
def read(): return json.loads(sys.stdin.readline())
def say(**m): print(json.dumps(m), flush=True)
def hello(m): say(seq=m["seq"], protocol=2, client=m["client"], adapter="toy", version="1", base={"name": "toy", "version": "1"},
                  runtime="toy", pid=os.getpid(), capabilities=["body:bytes"])
"""


def toy(tmp_path: Path, program: str) -> list[str]:
    file = tmp_path / "toy.py"
    file.write_text(PRELUDE + textwrap.dedent(program))
    return [sys.executable, str(file)]


@pytest.mark.parametrize(
    ("kind", "program"),
    [
        ("hung", "hello(read()); read(); time.sleep(60)"),
        ("noise", "hello(read()); read(); print('loading plugins...', flush=True); time.sleep(60)"),
        ("exited", "hello(read()); read(); sys.stderr.write('out of cheese'); sys.exit(3)"),
        ("exited", "hello(read()); read(); os.kill(os.getpid(), 9)"),
        ("bad_message", "hello(read()); m = read(); say(seq=m['seq'], client_id='one')"),
        ("bad_message", "hello(read()); m = read(); say(seq=m['seq'] + 1, client_id=1); time.sleep(60)"),
        ("crashed", "hello(read()); m = read(); say(seq=m['seq'], crashed='Traceback'); read()"),
    ],
)
def test_faults(tmp_path: Path, kind: str, program: str) -> None:
    with Driver(toy(tmp_path, program), "onewrite") as driver:
        if kind == "hung":
            driver.timeout_s = 1.0
        started = time.monotonic()
        with pytest.raises(DriverFault) as caught:
            driver.open()
        assert caught.value.kind == kind
        assert time.monotonic() - started < 30, "it was not waited for"
    if "cheese" in program:
        assert "out of cheese" in caught.value.log


def test_a_hello_that_never_comes(tmp_path: Path) -> None:
    with pytest.raises(DriverFault, match="hung"):
        Driver(toy(tmp_path, "time.sleep(60)"), "onewrite", timeout_s=0.5)
    with pytest.raises(DriverFault, match="not_started"):
        Driver([str(tmp_path / "no-such-file")], "onewrite")


def test_a_hello_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(DriverFault, match="bad_message"):
        Driver(toy(tmp_path, "m = read(); m['client'] = 'stock'; hello(m)"), "onewrite")


def test_skipped_and_refused(tmp_path: Path) -> None:
    program = """
        hello(read())
        m = read(); say(seq=m["seq"], skipped="not today")
        m = read(); say(seq=m["seq"], outcome="error", error={"kind": "other", "type": "ValueError"})
    """
    with Driver(toy(tmp_path, program), "onewrite") as driver:
        with pytest.raises(DriverSkipped, match="not today"):
            driver.open()
        with pytest.raises(OpenRefused) as refused:
            driver.open()
        assert refused.value.reply["error"]["kind"] == "other"


def test_the_users_own_switches_are_not_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEWRITE_DISABLED", "true")
    program = "m = read(); hello(m); m = read(); say(seq=m['seq'], skipped=str('ONEWRITE_DISABLED' in os.environ))"
    with Driver(toy(tmp_path, program), "onewrite") as driver, pytest.raises(DriverSkipped, match="False"):
        driver.open()


def test_a_hung_driver_fails_its_run_and_the_next_run_has_a_new_one(tmp_path: Path) -> None:
    program = """
        hello(read())
        while True:
            m = read()
            if m["cmd"] == "open": say(seq=m["seq"], client_id=1)
            elif m["cmd"] == "close": say(seq=m["seq"], ok=True)
            elif m["cmd"] == "bye": say(seq=m["seq"], ok=True); break
            elif "hang" in m["url"]: time.sleep(600)
            else: say(seq=m["seq"], outcome="error", error={"kind": "other"})
    """
    cases = [
        Case("TCP-1", "a-silent", "hangs", [{"request": {"path": "/hang"}}], schemes=["http"]),
        Case("TCP-1", "b-then", "goes on", [{"request": {"path": "/x"}}], schemes=["http"]),
    ]
    with Judge(Adapter("toy", toy(tmp_path, program)), cases, clients=["onewrite"]) as judge:
        judge.driver("onewrite", {}).timeout_s = 1.0  # not the next one's, which has to start
        first, second = judge.results()
    assert (first.status, second.status) == (Status.FAULT, Status.OK)
    assert first.failing
    assert "hung" in first.problems[0]


def test_what_a_driver_said_before_it_ended_is_read(tmp_path: Path) -> None:
    driver = Driver(toy(tmp_path, "hello(read()); print('Segmentation fault', flush=True)"), "onewrite")
    driver._process.wait(timeout=30)
    with pytest.raises(DriverFault, match="noise") as caught:
        driver.open()
    assert "Segmentation fault" in str(caught.value)


def test_replies_are_those_of_the_schema() -> None:
    """They pass the schema in full, not only by shape."""
    with Driver(JOINED, "onewrite") as driver, Tap() as tap:
        client = driver.open()
        reply = driver.request(client, "POST", f"{tap.base}/x", body={"kind": "bytes", "size": 10})
        assert misfit("request", reply) is None
        assert driver.hello["adapter"] == "http.client"
