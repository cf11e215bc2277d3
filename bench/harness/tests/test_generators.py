"""Constant rates: the built-in generator counts from the due time, wrk2 is found and read, no generator is swapped."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import bench
from onewrite_lab.servers.children import Children

from onewrite_bench.engines.generators import BuiltIn, Plan, Wrk2, choose
from onewrite_bench.engines.rates import differences, doubt
from onewrite_bench.failures import BenchError
from onewrite_bench.report import write as report
from onewrite_bench.report.table import of_rates
from onewrite_bench.topology.servers import Servers
from onewrite_bench.verdict.results import RateResult

TURN = {"requests": 650, "reached": 130.0, "p50_us": 43_000, "p90_us": 48_000, "p99_us": 49_000, "late_sends": 0}

WRK2 = """Running 40s test @ http://127.0.0.1:1/
  1 threads and 10 connections
  Thread calibration: mean lat.: 43.068ms, rate sampling interval: 10ms
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%  860.00us
 75.000%    1.00ms
 90.000%    1.88ms
 99.000%   43.10ms
 99.900%    3.20s
 99.990%    0.85m
 99.999%    0.85m
100.000%    0.85m
#[Max     =    51000.0, Total count    =         3900]
  5200 requests in 40.00s, 1.36KB read
"""


def row(generator: str = "built-in", **turn: object) -> RateResult:
    return RateResult("python", "control", 130, generator, turns=[{**TURN, **turn}])


def test_a_latency_counts_from_the_time_a_request_was_due(children: Children, tmp_path: Path) -> None:
    """40 requests a second, where one connection carries 20: from the time they were sent all would take 50 ms."""
    url = f"http://127.0.0.1:{Servers(children, {}, tmp_path).port('origin/plain')}/slow?ms=50"
    seen = BuiltIn().run(Plan(url, 40, connections=1, seconds=1, warmup=0))
    assert seen["requests"] < 40
    assert seen["p50_us"] > 200_000
    assert seen["p90_us"] > 350_000
    assert seen["reached"] < 30


def test_refused_connections_are_an_error() -> None:
    with pytest.raises(BenchError, match=r"20 requests failed \(\[Errno 111\] Connection refused\)"):
        BuiltIn().run(Plan("http://127.0.0.1:1/", 20, connections=2, seconds=1, warmup=0))


def test_doubtful_figures_are_void() -> None:
    assert doubt(row()) is None
    assert doubt(row(late_sends=33)) == "the generator itself sent 33 of 650 requests late"
    assert not row(reached=128.0).saturated
    assert row(reached=120.0).saturated


def test_what_wrk2_reports_is_read() -> None:
    """Of 5,200 requests the histogram has those after the calibration."""
    assert Wrk2.turn(WRK2, 30) == {
        "requests": 3900, "reached": 130.0, "p50_us": 860, "p90_us": 1880, "p99_us": 43_100, "p999_us": 3_200_000,
        "max_us": 51_000_000, "late_sends": None,
    }  # fmt: skip
    with pytest.raises(BenchError, match="wrk2: 50 requests failed"):
        Wrk2.turn(WRK2 + "  Non-2xx or 3xx responses: 50\n", 30)
    with pytest.raises(BenchError, match="wrk2: 122 requests failed"):
        Wrk2.turn(WRK2 + "  Socket errors: connect 0, read 0, write 0, timeout 122\n", 30)
    with pytest.raises(BenchError, match="wrk2 has no histogram"):
        Wrk2.turn("Transfer/sec: 0", 30)


def test_the_generators_are_compared_where_both_ran() -> None:
    assert differences([row()]) == differences([row("wrk2")]) == []
    assert differences([row("wrk2", p50_us=43_500), row()]) == []
    for apart in ({"p50_us": 50_000}, {"p99_us": 80_000}, {"reached": 100.0}):
        (found,) = differences([row("wrk2", **apart), row()])
        assert f"python, control at 130/s: {next(iter(apart)).removesuffix('_us')}" in found


def test_a_wrong_program_is_no_wrk2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(name: str, options: str) -> Path:
        made = tmp_path / name
        made.write_text(f"#!/bin/sh\necho '{options}'\n")
        made.chmod(0o755)
        return made

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WRK2", raising=False)
    for options in ("--script --pace", ""):
        monkeypatch.setenv("PATH", f"{program('wrk2', options).parent}:/bin:/usr/bin")
        assert [one.name for one in choose()] == ["built-in"]
    named = program("wrk", "--script --rate")  # as wrk2 calls itself
    assert [one.name for one in choose()] == ["wrk2", "built-in"]
    monkeypatch.setenv("WRK2", f"{named}-gone")
    with pytest.raises(BenchError, match=r"WRK2=.*-gone is no wrk2"):
        choose()


RATED = """
name: rated
title: A constant rate
story: For tests.
kind: rates
topology: {haproxy: true}
parameters:
  rates: {pool: 2, rates: [27, 60], turns: 2, warmup: 1, seconds: 1}
targets: [{name: buffered, at: haproxy/http-buffer-request, stalls: true}]
groups:
  - language: python
    clients: [{kind: control, role: control}, {kind: onewrite, role: adapter}]
"""


@pytest.mark.nightly
def test_each_client_is_loaded_through_haproxy_in_turns(tmp_path: Path) -> None:
    (tmp_path / "rated.yaml").write_text(RATED)
    arguments = ("run", str(tmp_path / "rated.yaml"), "--out", str(tmp_path))
    done = bench(*arguments, PATH="/usr/sbin:/usr/bin:/sbin:/bin", WRK2="")
    if "no python/driver" in done.stdout or "not run: driver" in done.stdout:
        pytest.skip("the Python driver is not set up")
    (run,) = report.collect(tmp_path)
    rows = {(row.client, row.rate): row for row in run.rates}
    assert set(rows) == {(name, rate) for name in ("control", "onewrite") for rate in (27, 60)}
    assert all(len(row.turns) == 2 for row in rows.values()), done.stdout
    assert min(turn["p50_us"] for turn in rows["control", 27].turns) > 35_000
    assert max(turn["reached"] for turn in rows["control", 60].turns) < 58
    assert all(turn["requests"] > 50 for turn in rows["onewrite", 60].turns)
    table = of_rates(run.rates)
    assert table.headings == ("language", "client", "27/s", "60/s")
    assert [line[1] for line in table.rows] == ["control", "onewrite"]
    assert table.rows[0][3].startswith("**")
    refused = bench(*arguments, WRK2="/no/such/program")
    assert refused.returncode == 3
    assert refused.stderr.startswith("onewrite bench: WRK2=/no/such/program is no wrk2")
