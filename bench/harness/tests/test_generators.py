"""Constant rates: the built-in generator counts from the due time, wrk2 is driven and read, no generator is swapped."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from command import bench
from onewrite_lab.servers.children import Children

from onewrite_bench.engines.generators import BuiltIn, Plan, Wrk2, choose
from onewrite_bench.engines.rates import doubt
from onewrite_bench.failures import BenchError
from onewrite_bench.report import write as report
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict.results import RateResult

USAGE = "Usage: wrk <options> <url>\n  -s, --script <S>  Load Lua script file\n  -R, --rate   <T>  work rate\n"

# What wrk2 gives a script before it runs it, and the objects that it hands to done().
FRAME = """wrk = {{method = "GET", headers = {{}}}}
dofile(arg[1])
assert(wrk.method == "POST" and #wrk.body == 200 and wrk.headers["Content-Type"])
local latency = {{}}
function latency:percentile(level) return {percentile} end
local errors = {{connect = 0, read = 0, write = 0, timeout = {timeouts}, status = 0}}
done({{duration = 16000000, requests = 2128, bytes = 1, errors = errors}}, latency, latency)
"""


def wrk2(folder: Path, usage: str = USAGE, frame: str = "", then: str = "exit 1") -> Path:
    """A program that shows this usage, and else runs the script that it is given in a real Lua."""
    program, lua = folder / "wrk2", folder / "frame.lua"
    lua.write_text(frame)
    run = f'{shutil.which("luajit")} {lua} "${{10}}"' if frame else "true"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --help ] && {{ printf "{usage}"; exit 1; }}\necho "$@" > {folder}/log\n{run}\n{then}\n'
    )
    program.chmod(0o755)
    return program


def test_a_latency_counts_from_the_time_a_request_was_due(children: Children, tmp_path: Path) -> None:
    """40 requests a second, where one connection carries 20: from the time they were sent all would take 50 ms."""
    url = f"http://127.0.0.1:{Places(children, {}, tmp_path).port('origin/plain')}/slow?ms=50"
    row = RateResult("", "", 40)
    BuiltIn().run(Plan(url, 40, connections=1, seconds=1, warmup=0), row)
    assert row.requests == 40
    assert row.p50_us > 400_000
    assert row.p99_us > 900_000
    assert doubt(row, may_collapse=True) is None
    assert "of 40 requests per second were reached" in str(doubt(row, may_collapse=False))


def test_refused_connections_are_counted() -> None:
    row = RateResult("", "", 20)
    BuiltIn().run(Plan("http://127.0.0.1:1/", 20, connections=2, seconds=1, warmup=0), row)
    assert doubt(row, may_collapse=False) == "20 requests failed ([Errno 111] Connection refused)"


def test_doubtful_figures_are_void() -> None:
    row = RateResult("", "", 100, reached=98.1, requests=1, late_us=4999)
    assert doubt(row, may_collapse=False) is None
    assert doubt(replace(row, reached=97.9), may_collapse=False) == "97.9 of 100 requests per second were reached"
    assert "was 5.1 ms late at its 90th percentile" in str(doubt(replace(row, late_us=5100), may_collapse=True))


@pytest.mark.skipif(shutil.which("luajit") is None, reason="there is no LuaJIT")
def test_wrk2_gets_a_script_that_reports_to_us(tmp_path: Path) -> None:
    plan, row = Plan("http://127.0.0.1:1/", 133, connections=10, seconds=6, warmup=10), RateResult("", "", 133)
    Wrk2(str(wrk2(tmp_path, frame=FRAME.format(percentile="level * 1000 + 0.25", timeouts=0), then=""))).run(plan, row)
    assert (tmp_path / "log").read_text().startswith("-t 1 -c 10 -d 16s -R 133 -s ")
    assert (row.requests, row.reached, row.p50_us, row.p99_us) == (2128, 133, 50_000, 99_000)
    assert doubt(row, may_collapse=False) is None
    # With no answers wrk2 passes NaN, which JSON does not have.
    Wrk2(str(wrk2(tmp_path, frame=FRAME.format(percentile="0 / 0", timeouts=50), then=""))).run(plan, row)
    assert (row.requests, doubt(row, may_collapse=False)) == (0, "50 requests failed (timeout)")
    with pytest.raises(BenchError, match=r"wrk2 failed: exit status 1: -t 1 -c 10 "):
        Wrk2(str(wrk2(tmp_path))).run(plan, row)
    with pytest.raises(BenchError, match="wrk2 ended without its result"):
        Wrk2(str(wrk2(tmp_path, then="echo Transfer/sec: 0"))).run(plan, row)


def test_no_generator_takes_the_place_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WRK2", raising=False)
    for usage in (USAGE.replace("--rate", "--pace"), ""):
        monkeypatch.setenv("PATH", str(wrk2(tmp_path, usage).parent))
        assert choose(None).name == "built-in"
        with pytest.raises(BenchError, match="wrk2 is not on PATH; set WRK2="):
            choose("wrk2")
    program = wrk2(tmp_path).rename(tmp_path / "wrk")  # as it calls itself
    assert choose(None).name == choose("wrk2").name == "wrk2"
    assert choose("built-in").name == "built-in"
    monkeypatch.setenv("WRK2", f"{program}-gone")
    with pytest.raises(BenchError, match=r"WRK2=.*-gone is no wrk2"):
        choose(None)
    with pytest.raises(BenchError, match="there is no generator 'ab'"):
        choose("ab")


RATED = """
name: rated
title: A constant rate
story: For tests.
kind: post
topology: {haproxy: true}
parameters:
  rounds: 1
  requests: 4
  rates: {target: buffered, pool: 2, warmup: 1, seconds: 2, stall_ms: 45, of_capacity: [0.6, 2]}
targets: [{name: buffered, at: haproxy/http-buffer-request, stalls: true}]
groups:
  - language: python
    clients: [{kind: control, role: control}, {kind: onewrite, role: adapter}]
"""


def test_each_client_is_loaded_through_haproxy(tmp_path: Path) -> None:
    (tmp_path / "rated.yaml").write_text(RATED)
    arguments = ("run", str(tmp_path / "rated.yaml"), "--out", str(tmp_path))
    done = bench(*arguments, GENERATOR="built-in")
    if "no python/driver" in done.stdout or "not run: driver" in done.stdout:
        pytest.skip("the Python driver is not set up")
    rows = {(row.client, row.rate): row for row in report.collect(tmp_path)[0].rates}
    assert {row.generator for row in rows.values()} == {"built-in"}
    assert not any("failed" in (row.missing or "") for row in rows.values()), done.stdout
    assert rows["control", 27].p50_us > 35_000
    assert rows["control", 89].p50_us > 300_000  # the queue of two seconds
    assert rows["onewrite", 89].requests == 178
    assert "python  onewrite  89" in done.stdout
    refused = bench(*arguments, GENERATOR="wrk2", WRK2="/no/such/program")
    assert refused.returncode == 3
    assert refused.stderr.startswith("onewrite bench: WRK2=/no/such/program is no wrk2")
